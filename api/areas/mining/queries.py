"""Reads and plain writes of submissions, entries, facts and figures. Nothing here commits."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Final

from sqlalchemy import (
    Boolean,
    ColumnElement,
    Select,
    Text,
    and_,
    cast,
    delete,
    exists,
    func,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import InstrumentedAttribute, Session

from api.areas.mining.rules.registry import BLOCKCHAIN, CONTRACT_ADDRESS
from api.areas.mining.rules.review import EndReason, EntryStatus, ReviewVerdict
from api.areas.mining.tables import PENDING as WAITS
from api.areas.mining.tables import (
    WRONG,
    MiningEntry,
    MiningFact,
    MiningGold,
    MiningReview,
    MiningSubmission,
)
from core.db import locks
from core.db.bounded import count_up_to
from core.db.engine import WriteSession
from core.db.locks import LockClass

# the word of the partial indexes' predicate, no parameter: a prepared statement must not lose them
PENDING: Final[ColumnElement[str]] = literal_column("'pending'")


# Submissions


def lock_pool(session: WriteSession, pool: str) -> None:
    """Submissions that count for one pool come one after the other, until the transaction ends."""
    locks.named(LockClass.MINING, (pool,)).wait(session)


def submissions_of(
    session: Session,
    whose: InstrumentedAttribute[str],
    name: str,
    since: datetime,
    most: int,
) -> int:
    """How many of a person or pool from `since` on (inclusive); `most` is as far as it counts."""
    some = select(MiningSubmission.id).where(whose == name, MiningSubmission.submitted_at >= since)
    return count_up_to(session, some, most)


def entries_waiting_of(session: Session, keys: Collection[str], most: int) -> int:
    """Of those that share one of these keys; `most` is as far as it counts."""
    some = select(MiningEntry.id).where(WAITS, _of_groups(keys))
    return count_up_to(session, some, most)


def wrong_entries_of(
    session: Session, keys: Collection[str], since: datetime, most: int
) -> Sequence[datetime]:
    """When the newest of theirs were rejected as wrong, from `since` on (inclusive), at most `most`; gold
    was meant to be wrong.
    """
    query = select(MiningEntry.reviewed_at).where(
        WRONG,
        _of_groups(keys),
        MiningEntry.reviewed_at >= since,
        ~exists().where(MiningGold.entry_id == MiningEntry.id),
    )
    newest = query.order_by(MiningEntry.reviewed_at.desc()).limit(most)
    return [at for at in session.scalars(newest) if at is not None]


def _of_groups(keys: Collection[str]) -> ColumnElement[bool]:
    return MiningEntry.groups.op("&&", return_type=Boolean())(cast(list(keys), ARRAY(Text)))


def submissions_before(
    session: Session, agent_id: int, before: int | None, limit: int
) -> Sequence[MiningSubmission]:
    """Newest first, below the id `before`; None starts at the newest."""
    query = select(MiningSubmission).where(MiningSubmission.agent_id == agent_id)
    if before is not None:
        query = query.where(MiningSubmission.id < before)
    return session.scalars(query.order_by(MiningSubmission.id.desc()).limit(limit)).all()


# Entries


def lock_entry(session: WriteSession, entry_id: int) -> MiningEntry:
    """Errors: sqlalchemy.exc.NoResultFound."""
    return session.get_one(MiningEntry, entry_id, with_for_update=True, populate_existing=True)


def is_pending(
    session: Session, listing_id: int, field_name: str, value: str, chain: str | None
) -> bool:
    """Whether somebody's same value of that field waits for its review."""
    same = exists().where(
        *_pending(listing_id, field_name),
        MiningEntry.value == value,
        MiningEntry.chain.is_not_distinct_from(chain),
    )
    return bool(session.scalar(select(same)))


def pending_entries(
    session: Session, listing_id: int, field_name: str, limit: int, not_on: str | None = None
) -> Sequence[MiningEntry]:
    """Values of a field that wait for a review, the oldest first; `not_on`: of these the ones that
    were read on another chain.
    """
    query = select(MiningEntry).where(*_pending(listing_id, field_name))
    if not_on is not None:
        query = query.where(MiningEntry.chain != not_on)
    return session.scalars(query.order_by(MiningEntry.id).limit(limit)).all()


def _is_against(fact: type[MiningFact]) -> ColumnElement[bool]:
    """Whether a fact of the entry's listing conflicts with it: of its field, or its chain."""
    other_chain = (
        (fact.field_name == BLOCKCHAIN)
        & (MiningEntry.field_name == CONTRACT_ADDRESS)
        & (MiningEntry.chain != fact.value)
    )
    return (fact.field_name == MiningEntry.field_name) | other_chain


def _still_against(fact: type[MiningFact]) -> tuple[ColumnElement[bool], ...]:
    """Of entries: that they conflict with the fact, and wait."""
    return (
        MiningEntry.listing_id == fact.listing_id,
        _is_against(fact),
        MiningEntry.status == PENDING,
    )


def entries_to_supersede(session: Session, limit: int) -> Sequence[int]:
    """Pending ones that conflict with a fact which has some, the oldest first."""
    query = (
        select(MiningEntry.id)
        .join(MiningFact, and_(*_still_against(MiningFact)))
        .where(MiningFact.is_clearing)
        .order_by(MiningEntry.id)
        .limit(limit)
    )
    return session.scalars(query.distinct()).all()


def end_clearing(session: WriteSession) -> None:
    """Facts that nothing conflicts with any more are not looked at again: whoever submits is refused
    what conflicts.
    """
    done = MiningFact.is_clearing & ~exists().where(*_still_against(MiningFact))
    session.execute(update(MiningFact).where(done).values(is_clearing=False))


def approval_against(session: Session, entry: MiningEntry) -> MiningReview | None:
    """The approval of a value that conflicts with this one; None: there is none."""
    query = (
        select(MiningReview)
        .join(MiningFact, MiningFact.entry_id == MiningReview.entry_id)
        .join(MiningEntry, MiningEntry.listing_id == MiningFact.listing_id)
        .where(
            MiningEntry.id == entry.id,
            _is_against(MiningFact),
            MiningReview.verdict == ReviewVerdict.APPROVED.value,
        )
        .order_by(MiningReview.id)
        .limit(1)
    )
    return session.scalar(query)


def pending_fields(session: Session, listing_id: int) -> frozenset[str]:
    query = select(MiningEntry.field_name).where(
        MiningEntry.listing_id == listing_id, MiningEntry.status == PENDING
    )
    return frozenset(session.scalars(query.distinct()))


def _pending(listing_id: int, field_name: str) -> tuple[ColumnElement[bool], ...]:
    return (
        MiningEntry.listing_id == listing_id,
        MiningEntry.field_name == field_name,
        MiningEntry.status == PENDING,
    )


def set_status(
    entry: MiningEntry, status: EntryStatus, reason: EndReason | None, now: datetime
) -> None:
    entry.status, entry.reviewed_at = status.value, now
    entry.reason_code = None if reason is None else reason.value


def entries_of(session: Session, submission_ids: Sequence[int]) -> Mapping[int, list[MiningEntry]]:
    """By submission, in the order in which they were sent."""
    query = select(MiningEntry).where(MiningEntry.submission_id.in_(submission_ids))
    found: dict[int, list[MiningEntry]] = {id_: [] for id_ in submission_ids}
    for entry in session.scalars(query.order_by(MiningEntry.id)):
        found[entry.submission_id].append(entry)
    return found


def newest_reviews(session: Session, entry_ids: Sequence[int]) -> Mapping[int, MiningReview]:
    """The latest of each entry that has one."""
    newest = (
        select(func.max(MiningReview.id))
        .where(MiningReview.entry_id.in_(entry_ids))
        .group_by(MiningReview.entry_id)
    )
    found = session.scalars(select(MiningReview).where(MiningReview.id.in_(newest)))
    return {review.entry_id: review for review in found}


# Facts and figures


def facts_of(session: Session, listing_id: int) -> Mapping[str, str]:
    """What the listing's fields hold, by name."""
    query = select(MiningFact.field_name, MiningFact.value)
    return dict(session.execute(query.where(MiningFact.listing_id == listing_id)).all())


def add_fact(
    session: WriteSession, entry: MiningEntry, now: datetime, *, is_clearing: bool
) -> None:
    """The listing's row is held by the caller."""
    fact = MiningFact(
        listing_id=entry.listing_id,
        field_name=entry.field_name,
        entry_id=entry.id,
        value=entry.value,
        approved_at=now,
        is_clearing=is_clearing,
    )
    session.add(fact)
    session.flush()


def drop_fact(session: WriteSession, entry: MiningEntry) -> None:
    """The listing's row is held by the caller."""
    session.execute(delete(MiningFact).where(MiningFact.entry_id == entry.id))


def count_facts(session: Session, after: datetime) -> Mapping[str, tuple[int, int]]:
    """By field how many listings have a value of it, and how many of these values were approved later
    than that (exclusive).
    """
    new = func.count().filter(MiningFact.approved_at > after)
    query = select(MiningFact.field_name, func.count(), new).group_by(MiningFact.field_name)
    return {name: (n, n_new) for name, n, n_new in session.execute(query)}


def listings_with_facts() -> Select[tuple[int]]:
    return select(MiningFact.listing_id)


# Gold


def gold_of(session: Session, entry_id: int) -> MiningGold | None:
    return session.get(MiningGold, entry_id)


def pending_gold(session: Session, limit: int) -> list[MiningGold]:
    """Those that nobody decided, the oldest first."""
    query = select(MiningGold).where(MiningGold.is_open).order_by(MiningGold.entry_id).limit(limit)
    return list(session.scalars(query))


def close_gold(session: WriteSession, entry_id: int) -> None:
    """The review of the entry has ended; nothing to do where it is not gold."""
    session.execute(update(MiningGold).where(MiningGold.entry_id == entry_id).values(is_open=False))

"""Entries as others show them, and the figures of the whole."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    CompoundSelect,
    any_,
    bindparam,
    exists,
    func,
    literal_column,
    null,
    select,
    union_all,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from api.areas.earn.rules.payout import Source
from api.areas.earn.tables import EarnAward, EarnQueue
from api.areas.earn.views.unpaid import unpaid_count
from api.areas.mining import queries
from api.areas.mining.rules.landscape import GroupFigures, LandscapeFigures, by_group
from api.areas.mining.rules.registry import FieldGroup, slots_of
from api.areas.mining.rules.review import EntryStatus, ReviewMethod, ReviewVerdict
from api.areas.mining.tables import MiningEntry as MiningEntry
from api.areas.mining.tables import MiningFact, MiningGold, MiningReview
from api.areas.mining.writes.submissions import ENTRY_REF
from core.identity.tables import Account
from core.listings import queries as listings
from core.listings.tables import ExchangeListing

FACTS_WINDOW: Final = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class WaitingEntry:
    """An entry as its reviewers see it, and the name of who submitted it."""

    entry: MiningEntry
    listing: ExchangeListing
    submitter: str
    is_gold: bool


@dataclass(frozen=True, slots=True)
class MiningReward:
    """What an approved entry pays; `queued_credits` is what of it still waits."""

    submission_id: int
    entry_id: int
    token_id: str
    field_name: str
    tenths: int
    credits: int
    queued_credits: int
    approved_at: datetime


def entries_by_id(session: Session, entry_ids: Collection[int]) -> Mapping[int, MiningEntry]:
    """Whole; one that does not exist is left out."""
    if not entry_ids:
        return {}
    found = session.scalars(select(MiningEntry).where(MiningEntry.id.in_(entry_ids)))
    return {entry.id: entry for entry in found}


def waiting(session: Session, after_id: int, limit: int) -> list[WaitingEntry]:
    """Entries that wait for a review, oldest first, beyond that id."""
    query = (
        select(MiningEntry, ExchangeListing, Account.name, MiningGold.entry_id.is_not(None))
        .join(ExchangeListing, ExchangeListing.id == MiningEntry.listing_id)
        .join(Account, Account.id == MiningEntry.agent_id)
        .outerjoin(MiningGold, MiningGold.entry_id == MiningEntry.id)
        .where(MiningEntry.status == queries.PENDING, MiningEntry.id > after_id)
    )
    rows = session.execute(query.order_by(MiningEntry.id).limit(limit))
    return [WaitingEntry(*row) for row in rows]


def recent_rewards(session: Session, agent_id: int, limit: int) -> list[MiningReward]:
    """Of entries whose approval holds, newest first."""
    query = (
        select(
            MiningEntry.submission_id,
            MiningEntry.id,
            ExchangeListing.token_id,
            MiningEntry.field_name,
            EarnAward.tenths,
            EarnAward.credits,
            func.coalesce(EarnQueue.left_credits, 0),
            EarnAward.at,
        )
        .join(ExchangeListing, ExchangeListing.id == MiningEntry.listing_id)
        .join(EarnAward, EarnAward.ref == func.concat(ENTRY_REF, MiningEntry.id))
        .outerjoin(EarnQueue, EarnQueue.award_id == EarnAward.id)
        .where(MiningEntry.agent_id == agent_id, MiningEntry.status == EntryStatus.APPROVED.value)
        .order_by(MiningEntry.reviewed_at.desc(), MiningEntry.id.desc())
        .limit(limit)
    )
    return [MiningReward(*row) for row in session.execute(query)]


def stage_counts(session: Session, account_ids: Collection[int]) -> Mapping[str, int]:
    """How many entries of these accounts have come to each stage.

    submitted: wait for a review. reproduced, re_observed: approved, by what the record of the review
    says; no_record_on_file: approved without one. points_recorded: all that are approved; paid: of
    these those that are wholly paid. rejected.
    """
    rows = session.execute(_STAGES, {"account_ids": list(account_ids)}).all()
    counts: dict[tuple[str, str | None], int] = {(of, name): n for of, name, n in rows}

    def entries(status: EntryStatus) -> int:
        return counts.get(("entries", status), 0)

    def reviews(method: ReviewMethod) -> int:
        return counts.get(("reviews", method), 0)

    approved = entries(EntryStatus.APPROVED)
    return {
        "submitted": entries(EntryStatus.PENDING),
        "reproduced": reviews(ReviewMethod.REPRODUCED),
        "re_observed": reviews(ReviewMethod.RE_OBSERVED),
        "no_record_on_file": approved - sum(n for (of, _), n in counts.items() if of == "reviews"),
        "points_recorded": approved,
        "paid": approved - counts["unpaid", None],
        "rejected": entries(EntryStatus.REJECTED),
    }


_MINE: Final = MiningEntry.agent_id == any_(bindparam("account_ids", type_=ARRAY(BigInteger)))
_STAGES: Final[CompoundSelect[Any]] = union_all(
    select(literal_column("'entries'"), MiningEntry.status, func.count())
    .where(_MINE)
    .group_by(MiningEntry.status),
    select(literal_column("'reviews'"), MiningReview.method, func.count())
    .join(MiningEntry, MiningEntry.id == MiningReview.entry_id)
    .where(
        _MINE,
        MiningEntry.status == EntryStatus.APPROVED.value,
        MiningReview.verdict == ReviewVerdict.APPROVED.value,
    )
    .group_by(MiningReview.method),
    select(literal_column("'unpaid'"), null(), unpaid_count((Source.MINING,))),
)


def landscape(session: Session, now: datetime) -> LandscapeFigures:
    counts, facts = listings.counts(session), queries.count_facts(session, now - FACTS_WINDOW)
    filled = by_group({name: n for name, (n, _) in facts.items()})
    new = by_group({name: n for name, (_, n) in facts.items()})
    totals = listings.totals(session)
    return LandscapeFigures(
        groups=tuple(
            GroupFigures(group, slots_of(group, counts), filled[group], new[group])
            for group in FieldGroup
        ),
        listings=totals.listings,
        simulated_listings=totals.simulated,
        tokens=totals.tokens,
        tokens_zero_facts=totals.tokens
        - listings.tokens_of(session, queries.listings_with_facts()),
    )


def simulated_without(session: Session, field_name: str) -> int:
    """How many simulated listings have no value of this field. It counts them all."""
    known = exists().where(
        MiningFact.listing_id == ExchangeListing.id, MiningFact.field_name == field_name
    )
    query = select(func.count()).select_from(ExchangeListing)
    return session.scalar(query.where(ExchangeListing.is_simulated, ~known)) or 0

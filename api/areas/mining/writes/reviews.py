"""What operators decide of entries, and all that follows from it. Nothing here commits.

    approve   the fact, the pay, the end of the re-observation; conflicting values end as superseded,
              the first SUPERSEDED_AT_ONCE with it, the others one by one (`supersede`)
    reject    the end of the re-observation: a mismatch for value_wrong, which its submitter's group
              owes what the re-observers are paid for, else void
    reverse   of an approval: the fact goes, the pay is taken back, and so is what re-observers got

Laws
- The listing is held first, then the tasks of all entries that end, then the turn of payouts: no
  two reviews wait for each other.
- Of two decisions on one entry the second finds it decided.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from api.areas.earn.ledger import awards
from api.areas.earn.ledger.awards import Awarded, Source
from api.areas.earn.rules.payout import PayoutLimits
from api.areas.earn.views.people import own_among, payees_of
from api.areas.earn.writes import feed
from api.areas.earn.writes.feed import FeedKind, FeedRow
from api.areas.mining import queries
from api.areas.mining.rules.registry import BLOCKCHAIN, CONTRACT_ADDRESS, FIELDS
from api.areas.mining.rules.review import (
    WRONG_COUNTS_FOR,
    EndReason,
    EntryStatus,
    EntryStatusError,
    MiningReviewer,
    OwnObservationError,
    OwnSubmissionError,
    ReviewRecord,
    ReviewVerdict,
)
from api.areas.mining.tables import MiningEntry, MiningReview
from api.areas.mining.writes.submissions import ref_of
from api.areas.tasks.rules import PAID_RE_OBSERVERS, Truth
from api.areas.tasks.writes import market
from core.db.engine import WriteSession
from core.listings.queries import lock_listing
from core.redaction import evidence_host, redact_value

# More would keep all payouts waiting for one approval: whoever wants to can submit hundreds.
SUPERSEDED_AT_ONCE: Final = 20


@dataclass(frozen=True, slots=True)
class Approved:
    """`superseded`: ids of the entries that this approval rejected."""

    tenths: int
    awarded: Awarded
    superseded: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class TakenBack:
    """`withdrawn_credits` left the queue unpaid; `owed_credits`, what was paid, is a debt now."""

    withdrawn_credits: int
    owed_credits: int


@dataclass(frozen=True, slots=True)
class _Held:
    """An entry whose listing is held."""

    entry: MiningEntry
    token_id: str


def approve(
    session: WriteSession,
    entry_id: int,
    record: ReviewRecord,
    reviewer: MiningReviewer,
    limits: PayoutLimits,
    now: datetime,
) -> Approved:
    """Make the value a fact and pay for it. Errors: EntryStatusError, OwnWorkError."""
    held = _hold(session, entry_id, reviewer)
    entry = held.entry
    _require(entry, EntryStatus.PENDING, "only a pending one is approved")
    _require_approvable(session, entry)
    ended, has_more = _conflicting(session, entry)
    market.lock_reobservations(session, [entry.id, *(one.id for one in ended)])
    _require_disinterested(session, entry, reviewer)
    awards.take_turn(session)
    queries.set_status(entry, EntryStatus.APPROVED, None, now)
    _note_review(
        session,
        entry,
        reviewer,
        now,
        ReviewVerdict.APPROVED,
        method=record.method.value,
        source=record.source,
        observed_at=record.observed_at,
        observed_result=record.observed_result,
    )
    queries.add_fact(session, entry, now, is_clearing=has_more)
    tenths = FIELDS[entry.field_name].tenths
    awarded = awards.award(
        session, entry.agent_id, Source.MINING, ref_of(entry.id), tenths, limits, now
    )
    row = _row(held, FeedKind.MINE_APPROVED, now, tenths=tenths, its_credits=awarded.credits)
    feed.note(session, row)
    market.review_ended(session, entry.id, Truth.MATCH, limits, now)
    for one in ended:
        other = _Held(one, held.token_id)
        _end(session, other, _end_beside_a_fact(session, one), None, reviewer, limits, now)
    return Approved(tenths, awarded, tuple(one.id for one in ended))


def reject(
    session: WriteSession,
    entry_id: int,
    reason: EndReason,
    note: str | None,
    reviewer: MiningReviewer,
    limits: PayoutLimits,
    now: datetime,
) -> None:
    """Errors: EntryStatusError, OwnWorkError."""
    held = _hold(session, entry_id, reviewer)
    _require(held.entry, EntryStatus.PENDING, "only a pending one is rejected")
    market.lock_reobservations(session, [entry_id])
    _require_disinterested(session, held.entry, reviewer)
    _end_alone(session, held, reason, note, reviewer, limits, now)


def reject_gold(
    session: WriteSession,
    entry_id: int,
    reviewer: MiningReviewer,
    limits: PayoutLimits,
    now: datetime,
) -> bool:
    """Say of a value that was known to be wrong that it is, unless somebody did; whether this did.

    `reviewer`: who submitted it, and knows.
    """
    held = _hold(session, entry_id, None)
    if held.entry.status != EntryStatus.PENDING.value:
        return False
    _end_alone(session, held, EndReason.VALUE_WRONG, None, reviewer, limits, now)
    return True


def supersede(session: WriteSession, entry_id: int, limits: PayoutLimits, now: datetime) -> bool:
    """End an entry that an approved value conflicts with, in the name of who approved that; whether
    this did.
    """
    held = _hold(session, entry_id, None)
    if held.entry.status != EntryStatus.PENDING.value:
        return False
    by = queries.approval_against(session, held.entry)
    if by is None:
        return False
    reviewer = MiningReviewer(by.reviewer_id, by.operator)
    reason = _end_beside_a_fact(session, held.entry)
    _end_alone(session, held, reason, None, reviewer, limits, now)
    return True


def reverse(
    session: WriteSession, entry_id: int, note: str, reviewer: MiningReviewer, now: datetime
) -> TakenBack:
    """Take an approval back: its field is empty again. Errors: EntryStatusError, OwnWorkError."""
    held = _hold(session, entry_id, reviewer)
    entry = held.entry
    _require(entry, EntryStatus.APPROVED, "only an approved one is reversed")
    facts = queries.facts_of(session, entry.listing_id)
    if entry.field_name == BLOCKCHAIN and CONTRACT_ADDRESS in facts:
        rule = f"the listing's {CONTRACT_ADDRESS} was read on this chain, so reverse that one first"
        raise EntryStatusError(entry.id, entry.status, rule)
    market.lock_reobservations(session, [entry.id])
    _require_disinterested(session, entry, reviewer)
    awards.take_turn(session)
    queries.set_status(entry, EntryStatus.REJECTED, EndReason.REVERSED, now)
    end = EndReason.REVERSED.value
    _note_review(session, entry, reviewer, now, ReviewVerdict.REVERSED, reason_code=end, note=note)
    queries.drop_fact(session, entry)
    tenths = FIELDS[entry.field_name].tenths
    back = awards.reverse(session, ref_of(entry.id), note, now)
    assert back is not None, "an approved entry was paid for"
    taken = back.withdrawn_credits + back.owed_credits
    feed.note(session, _row(held, FeedKind.MINE_REVERSED, now, tenths=tenths, its_credits=taken))
    market.review_reversed(session, entry.id, now)
    return TakenBack(back.withdrawn_credits, back.owed_credits)


def _hold(session: WriteSession, entry_id: int, reviewer: MiningReviewer | None) -> _Held:
    """The entry's listing, then the entry, each held until the transaction ends.

    Errors: sqlalchemy.exc.NoResultFound; OwnSubmissionError.
    """
    listing_id = session.get_one(MiningEntry, entry_id).listing_id
    listing = lock_listing(session, listing_id)
    entry = queries.lock_entry(session, entry_id)
    if reviewer is not None and own_among(session, reviewer.account_id, [entry.agent_id]):
        raise OwnSubmissionError(entry.id, entry.agent_id)
    return _Held(entry, listing.token_id)


def _require(entry: MiningEntry, status: EntryStatus, rule: str) -> None:
    if entry.status != status.value:
        raise EntryStatusError(entry.id, entry.status, rule)


def _require_disinterested(
    session: WriteSession, entry: MiningEntry, reviewer: MiningReviewer
) -> None:
    """The entry's task is held, so that no proof of the reviewer's agents comes meanwhile."""
    if own_among(session, reviewer.account_id, market.re_observers(session, entry.id)):
        raise OwnObservationError(entry.id)


def _require_approvable(session: WriteSession, entry: MiningEntry) -> None:
    if queries.gold_of(session, entry.id) is not None:
        rule = "its value is known to be wrong, and it can only be rejected"
        raise EntryStatusError(entry.id, entry.status, rule)
    facts = queries.facts_of(session, entry.listing_id)
    if entry.field_name in facts:
        rule = "another value of its field is approved, so that it ends as superseded"
        raise EntryStatusError(entry.id, entry.status, rule)
    if entry.chain is None:
        return
    stated = facts.get(BLOCKCHAIN)
    if stated != entry.chain:
        rule = f"its address was read on {entry.chain}; approve a {BLOCKCHAIN} of the listing first"
        raise EntryStatusError(entry.id, entry.status, rule)


def _conflicting(session: WriteSession, entry: MiningEntry) -> tuple[list[MiningEntry], bool]:
    """Other values of the field, and addresses on chains that an approved chain rules out: the
    oldest, and whether there are more.
    """
    looked_at = SUPERSEDED_AT_ONCE + 1
    others = [
        one
        for one in queries.pending_entries(
            session, entry.listing_id, entry.field_name, looked_at + 1
        )
        if one.id != entry.id
    ]
    if entry.field_name == BLOCKCHAIN:
        others += queries.pending_entries(
            session, entry.listing_id, CONTRACT_ADDRESS, looked_at, not_on=entry.value
        )
    return others[:SUPERSEDED_AT_ONCE], len(others) > SUPERSEDED_AT_ONCE


def _end_beside_a_fact(session: WriteSession, entry: MiningEntry) -> EndReason:
    is_gold = queries.gold_of(session, entry.id) is not None
    return EndReason.VALUE_WRONG if is_gold else EndReason.SUPERSEDED


def _end_alone(
    session: WriteSession,
    held: _Held,
    reason: EndReason,
    note: str | None,
    reviewer: MiningReviewer,
    limits: PayoutLimits,
    now: datetime,
) -> None:
    market.lock_reobservations(session, [held.entry.id])
    awards.take_turn(session)
    _end(session, held, reason, note, reviewer, limits, now)


def _end(
    session: WriteSession,
    held: _Held,
    reason: EndReason,
    note: str | None,
    reviewer: MiningReviewer,
    limits: PayoutLimits,
    now: datetime,
) -> None:
    """Reject an entry, and end its re-observation."""
    entry = held.entry
    is_gold = queries.gold_of(session, entry.id) is not None
    is_a_lie = reason is EndReason.VALUE_WRONG and not is_gold
    places = 0 if is_a_lie and _lied_enough(session, entry, limits, now) else PAID_RE_OBSERVERS
    queries.set_status(entry, EntryStatus.REJECTED, reason, now)
    queries.close_gold(session, entry.id)
    verdict = ReviewVerdict.REJECTED
    _note_review(session, entry, reviewer, now, verdict, reason_code=reason.value, note=note)
    feed.note(session, _row(held, FeedKind.MINE_REJECTED, now))
    truth = Truth.MISMATCH if reason is EndReason.VALUE_WRONG else Truth.VOID
    granted = market.review_ended(session, entry.id, truth, limits, now, places)
    if granted and truth is Truth.MISMATCH:
        # gold, too: in the public ledger it is a wrong value as any other
        ref, source = ref_of(entry.id), Source.MINING
        awards.charge(session, entry.agent_id, source, ref, granted, now, is_of_group=not is_gold)


def _lied_enough(
    session: WriteSession, entry: MiningEntry, limits: PayoutLimits, now: datetime
) -> bool:
    """Whether as many values of its submitter's group were wrong as are paid for: whoever is let go
    with all that it owes brings its friends no more, however many values it had waiting.
    """
    own, most = payees_of(session, [entry.agent_id])[entry.agent_id], limits.wrong_entries
    since = now - WRONG_COUNTS_FOR
    return len(queries.wrong_entries_of(session, own.own_keys, since, most)) >= most


def _note_review(
    session: WriteSession,
    entry: MiningEntry,
    reviewer: MiningReviewer,
    now: datetime,
    verdict: ReviewVerdict,
    **says: str | datetime | None,
) -> None:
    review = MiningReview(
        entry_id=entry.id,
        verdict=verdict.value,
        reviewer_id=reviewer.account_id,
        operator=reviewer.operator,
        at=now,
        **says,
    )
    session.add(review)
    session.flush()


def _row(
    held: _Held,
    kind: FeedKind,
    now: datetime,
    tenths: int | None = None,
    its_credits: int | None = None,
) -> FeedRow:
    entry = held.entry
    return FeedRow(
        kind=kind,
        account_id=entry.agent_id,
        ref=ref_of(entry.id),
        at=now,
        token_id=held.token_id,
        field_name=entry.field_name,
        shown_value=redact_value(entry.value),
        evidence_host=evidence_host(entry.evidence_url),
        tenths=tenths,
        credits=its_credits,
        task_id=entry.task_id,
    )

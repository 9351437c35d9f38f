"""Awards, charges and their reversals, and the drain of the queue: the only writer of what they are
(docs/payouts.md).

    award      its debts repaid -> one look at the queue -> paid up to every cap -> the rest queued
    charge     a debt
    reverse    of an award: its rest leaves the queue, what was paid becomes a debt; of a charge: restored
    drain      items in the order of approvals, until the budget is used up

Laws
- Each of them takes its turn first (`take_turn`), then the heads of the credit ledger in the order
  of accounts. Whoever holds a head of its own beside them, as bonds and fees do, takes the turn
  before it does.
- A ref is awarded or charged once; the same again is the first answer.
- An award looks at the queue once, so that nobody waits for one longer than that. If more may be
  due behind that look, all of the award waits behind it.
- What moves credits notes it in the feed, in the same transaction. Nothing here commits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import insert

from core.credits.ledger import batch
from core.credits.ledger import writer as credit_ledger
from core.credits.ledger.batch import HeldHeads, NewPosting
from core.credits.rules.buckets import Credits, earn_deltas, owe_deltas
from core.db.engine import WriteSession
from core.earn import feed, queries, views
from core.earn.queries import DueItem, take_turn
from core.earn.rules import payout
from core.earn.rules.feed import FeedKind, FeedRow
from core.earn.rules.payout import (
    Item,
    Payee,
    PayoutLimits,
    PayoutPart,
    Source,
    budget_of,
    caps_of,
)
from core.earn.rules.points import credits_of
from core.earn.tables import EarnAward, EarnReversal

__all__ = [
    "Awarded",
    "Drained",
    "Reversed",
    "Source",
    "award",
    "charge",
    "drain",
    "reverse",
    "take_turn",
]

# Items that a drain looks at in one go: as many as the budget that is left may reach, since most pay
# ten credits or more.
LEAST_A_LOOK, MOST_A_LOOK, CREDITS_AN_ITEM = 500, 10_000, 10
AWARD, CHARGE = "award", "charge"


@dataclass(frozen=True, slots=True)
class Awarded:
    """What became of an award's credits when it was made; its parts sum to it."""

    award_id: int
    credits: int
    repaid_credits: int
    paid_credits: int
    queued_credits: int


@dataclass(frozen=True, slots=True)
class Reversed:
    """Of an award what left the queue and what became a debt; of a charge what came back."""

    award_id: int
    withdrawn_credits: int
    owed_credits: int
    restored_credits: int


@dataclass(frozen=True, slots=True)
class Drained:
    """`items`: that were paid in whole or in part. `is_done`: nothing more can be paid today."""

    paid_credits: int
    items: int
    is_done: bool


def award(
    session: WriteSession,
    account_id: int,
    source: Source,
    ref: str,
    tenths: int,
    limits: PayoutLimits,
    now: datetime,
) -> Awarded:
    """Pay for approved work, as far as debts, caps and those before it let it; the rest waits.

    `ref`: of what was approved, once. `tenths`: at least 1.
    """
    take_turn(session)
    found = queries.award_of(session, ref)
    if found is not None:
        return _awarded(found)
    is_next = drain(session, limits, now, looks=1).is_done
    heads = batch.hold(session, [account_id], now)
    item = Item(0, account_id, source is Source.ROOM, credits_of(tenths))
    today = _Today.of(session, heads, [item], limits, now)
    paid = (
        payout.pay(item, today.payees[account_id], today.used, today.owed, limits)
        if is_next
        else payout.repay(item, today.owed)
    )
    today.save(session)
    made = EarnAward(
        ref=ref,
        kind=AWARD,
        account_id=account_id,
        source=source,
        tenths=tenths,
        credits=item.left,
        repaid_credits=paid.repaid,
        paid_credits=paid.paid,
        queued_credits=paid.left,
        at=now,
    )
    session.add(made)
    session.flush()
    item = Item(made.id, account_id, item.is_room, item.left)
    part = PayoutPart(item, paid.repaid, paid.paid, paid.cap)
    _post(session, heads, [(part, ref)], now)
    if part.left:
        rest = Item(made.id, account_id, item.is_room, part.left)
        queries.enqueue(session, rest, queries.next_look(part, now.date()))
    return _awarded(made)


def charge(
    session: WriteSession, account_id: int, source: Source, ref: str, tenths: int, now: datetime
) -> None:
    """A debt of that many points, once a ref: later earnings repay it first."""
    take_turn(session)
    if queries.award_of(session, ref) is not None:
        return
    amount = credits_of(tenths)
    session.execute(
        insert(EarnAward).values(
            ref=ref,
            kind=CHARGE,
            account_id=account_id,
            source=source,
            tenths=tenths,
            credits=amount,
            repaid_credits=0,
            paid_credits=0,
            queued_credits=0,
            at=now,
        )
    )
    _owe(session, account_id, amount, f"charge:{ref}", ref, now)


def reverse(session: WriteSession, ref: str, reason: str, now: datetime) -> Reversed | None:
    """Take an award or a charge back, once; the same again is the first answer. None: there is no
    such ref.
    """
    take_turn(session)
    made = queries.award_of(session, ref)
    if made is None:
        return None
    before = queries.reversal_of(session, made.id)
    if before is None:
        before = _reverse(session, made, reason, now)
    return Reversed(made.id, before.withdrawn_credits, before.owed_credits, before.restored_credits)


def drain(
    session: WriteSession, limits: PayoutLimits, now: datetime, looks: int | None = None
) -> Drained:
    """Pay what waits, in the order of approvals, as far as today's caps let it.

    An item that a cap stops is not looked at again before tomorrow: a drain costs what it pays.
    `looks`: of some items each (`_items_a_look`); None: as many as it takes.
    """
    take_turn(session)
    today, paid_credits, items = now.date(), 0, 0
    looked = 0
    while looks is None or looked < looks:
        looked += 1
        budget = budget_of(limits)
        room = budget.room(queries.used_on(session, today, [budget.name]))
        most = _items_a_look(room)
        due = queries.due_items(session, today, most) if room else []
        if not due:
            return Drained(paid_credits, items, is_done=True)
        parts = _drain_some(session, due, limits, now)
        paid_credits += sum(part.paid for part in parts)
        items += sum(part.paid + part.repaid > 0 for part in parts)
        if len(due) < most:
            return Drained(paid_credits, items, is_done=True)
    return Drained(paid_credits, items, is_done=False)


def _items_a_look(room: int) -> int:
    return min(MOST_A_LOOK, max(LEAST_A_LOOK, room // CREDITS_AN_ITEM))


def _drain_some(
    session: WriteSession, due: Sequence[DueItem], limits: PayoutLimits, now: datetime
) -> Sequence[PayoutPart]:
    refs = {one.item.award_id: one.ref for one in due}
    heads = batch.hold(session, {one.item.account_id for one in due}, now)
    items = [one.item for one in due]
    today = _Today.of(session, heads, items, limits, now)
    parts = payout.drain(items, today.payees, today.used, today.owed, limits).parts
    today.save(session)
    _post(session, heads, [(part, refs[part.item.award_id]) for part in parts], now)
    queries.save_parts(session, parts, now.date())
    return parts


@dataclass(frozen=True, slots=True)
class _Today:
    """Who is paid, what was paid today under the caps that bear on it, and what is owed."""

    day: date
    payees: Mapping[int, Payee]
    used: dict[str, int]
    owed: dict[int, int]
    before: Mapping[str, int]

    @classmethod
    def of(
        cls,
        session: WriteSession,
        heads: HeldHeads,
        items: Sequence[Item],
        limits: PayoutLimits,
        now: datetime,
    ) -> "_Today":
        payees = views.payees_of(session, {item.account_id for item in items})
        caps = {
            cap.name
            for account_id, is_room in {(item.account_id, item.is_room) for item in items}
            for cap in caps_of(payees[account_id], is_room=is_room, limits=limits)
        }
        before = queries.used_on(session, now.date(), {budget_of(limits).name, *caps})
        owed = {account_id: held.owed for account_id, held in heads.balances.items()}
        return cls(now.date(), payees, dict(before), owed, before)

    def save(self, session: WriteSession) -> None:
        moved = {name: n for name, n in self.used.items() if n != self.before.get(name)}
        queries.save_used(session, self.day, moved)


def _post(
    session: WriteSession, heads: HeldHeads, parts: Sequence[tuple[PayoutPart, str]], now: datetime
) -> None:
    """Post what was repaid and paid, one posting an item, and note it in the feed."""
    moving = [(part, ref) for part, ref in parts if part.repaid + part.paid > 0]
    postings = [
        NewPosting(
            account_id=part.item.account_id,
            kind=credit_ledger.EARN,
            base_key=f"payout:{part.item.award_id}:{part.item.left}",
            deltas=Credits(earned=part.paid, owed=-part.repaid),
            counter=credit_ledger.ISSUANCE,
            payload={"award": part.item.award_id, "ref": ref},
        )
        for part, ref in moving
    ]
    batch.post_all(session, heads, postings, now)
    rows = [
        FeedRow(kind=kind, account_id=part.item.account_id, ref=ref, at=now, credits=amount)
        for part, ref in moving
        for kind, amount in ((FeedKind.REPAID, part.repaid), (FeedKind.PAID, part.paid))
        if amount
    ]
    feed.note_all(session, rows)


def _reverse(session: WriteSession, made: EarnAward, reason: str, now: datetime) -> EarnReversal:
    withdrawn = owed = restored = 0
    if made.kind == CHARGE:
        restored = made.credits
        _restore(session, made, now)
    else:
        withdrawn = queries.take_out(session, made.id)
        owed = made.credits - withdrawn
        if withdrawn:
            feed.note(session, _row(FeedKind.WITHDRAWN, made.account_id, made.ref, withdrawn, now))
        if owed:
            _owe(session, made.account_id, owed, f"reversal:{made.ref}", made.ref, now)
    reversal = EarnReversal(
        award_id=made.id,
        reason=reason,
        withdrawn_credits=withdrawn,
        owed_credits=owed,
        restored_credits=restored,
        at=now,
    )
    session.add(reversal)
    session.flush()
    return reversal


def _restore(session: WriteSession, made: EarnAward, now: datetime) -> None:
    """What a charge took comes back: what is still owed of it first, the rest as earned. Outside
    every cap and the budget.
    """
    heads = batch.hold(session, [made.account_id], now)
    _post_one(
        session,
        heads,
        made.account_id,
        credit_ledger.RESTORE,
        f"restore:{made.ref}",
        earn_deltas(heads.balances[made.account_id], made.credits),
        {"award": made.id, "ref": made.ref},
        now,
    )
    queries.add_restored(session, now.date(), made.credits)
    feed.note(session, _row(FeedKind.RESTORED, made.account_id, made.ref, made.credits, now))


def _owe(
    session: WriteSession, account_id: int, amount: int, key: str, ref: str, now: datetime
) -> None:
    heads = batch.hold(session, [account_id], now)
    deltas = owe_deltas(heads.balances[account_id], amount)
    _post_one(session, heads, account_id, credit_ledger.DEBT, key, deltas, {"ref": ref}, now)
    feed.note(session, _row(FeedKind.DEBT, account_id, ref, amount, now))


def _post_one(
    session: WriteSession,
    heads: HeldHeads,
    account_id: int,
    kind: str,
    key: str,
    deltas: Credits,
    payload: Mapping[str, Any],
    now: datetime,
) -> None:
    """A debt or its return: what is taken for a mistake, on the service's side of penalties."""
    posting = NewPosting(
        account_id=account_id,
        kind=kind,
        base_key=key,
        deltas=deltas,
        counter=credit_ledger.PENALTIES,
        payload=payload,
    )
    batch.post_all(session, heads, [posting], now)


def _row(kind: FeedKind, account_id: int, ref: str, amount: int, now: datetime) -> FeedRow:
    return FeedRow(kind=kind, account_id=account_id, ref=ref, at=now, credits=amount)


def _awarded(made: EarnAward) -> Awarded:
    return Awarded(
        made.id, made.credits, made.repaid_credits, made.paid_credits, made.queued_credits
    )

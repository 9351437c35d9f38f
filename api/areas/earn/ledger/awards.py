"""Awards, charges and their reversals, and the drain of the queue: the only writer of what they are
(docs/payouts.md).

    award      debts repaid -> one look at the queue -> paid up to every cap -> the rest queued
    charge     a debt, of the account alone or of its group
    reverse    of an award: its rest leaves the queue, what was paid becomes a debt; of a charge: restored
    drain      items in the order of approvals, until the budget is used up; who turned out to be one
               person with whom its award had to be independent of is cancelled

Laws
- Each of them takes its turn first (`take_turn`), then the heads of the credit ledger in the order
  of accounts. Whoever holds a head of its own beside them, as bonds and fees do, takes the turn
  before it does.
- A ref is awarded or charged once; the same again is the first answer.
- An award looks at the queue once, so that nobody waits for one longer than that. If more may be
  due behind that look, all of the award waits behind it.
- What moves credits notes it in the feed, in the same transaction. Nothing here commits.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from sqlalchemy import insert

from api.areas.earn import queries
from api.areas.earn.queries import DueItem, take_turn
from api.areas.earn.rules import payout
from api.areas.earn.rules.feed import FeedKind, FeedRow
from api.areas.earn.rules.payout import (
    Debts,
    Item,
    Payee,
    PayoutLimits,
    PayoutPart,
    Source,
    budget_of,
    caps_of,
)
from api.areas.earn.rules.points import credits_of
from api.areas.earn.tables import EarnAward, EarnReversal
from api.areas.earn.views import people
from api.areas.earn.writes import feed
from core.credits.ledger import batch
from core.credits.ledger import writer as credit_ledger
from core.credits.ledger.batch import HeldHeads, NewPosting
from core.credits.rules.buckets import Credits, earn_deltas, owe_deltas
from core.db.engine import WriteSession

__all__ = [
    "Awarded",
    "Charge",
    "Drained",
    "Reversed",
    "Source",
    "award",
    "charge",
    "charge_all",
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
    independent_of: Sequence[int] = (),
) -> Awarded:
    """Pay for approved work, as far as debts, caps and those before it let it; the rest waits.

    `ref`: of what was approved, once. `tenths`: at least 1. `independent_of`: the accounts that the
    approval rests on; the caller knows that none is the same person now.
    """
    take_turn(session)
    found = queries.award_of(session, ref)
    if found is not None:
        return _awarded(found)
    is_next = drain(session, limits, now, looks=1).is_done
    item = Item(0, account_id, source is Source.ROOM, credits_of(tenths))
    payees = people.payees_of(session, [account_id], limits.shared_funders)
    today = _Today.of(session, [item], payees, limits, now)
    paid = (
        payout.pay(item, payees[account_id], today.used, today.debts, limits)
        if is_next
        else payout.repay(item, payees[account_id], today.debts)
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
        independent_of=list(independent_of),
        at=now,
    )
    session.add(made)
    session.flush()
    item = Item(made.id, account_id, item.is_room, item.left)
    part = PayoutPart(item, paid.repayments, paid.paid, paid.cap)
    _post(session, today.heads, [(part, ref)], now)
    if part.left:
        rest = Item(made.id, account_id, item.is_room, part.left)
        queries.enqueue(session, rest, queries.next_look(part, now.date()))
    return _awarded(made)


@dataclass(frozen=True, slots=True)
class Charge:
    """A debt of `tenths` of a point, once a ref."""

    account_id: int
    ref: str
    tenths: int


def charge(
    session: WriteSession,
    account_id: int,
    source: Source,
    ref: str,
    tenths: int,
    now: datetime,
    *,
    is_of_group: bool = False,
) -> None:
    """A debt of that many points, once a ref: later earnings repay it first, those of the account, or
    `is_of_group` those of everybody who shares what it did itself (api/areas/earn/rules/groups.py).
    """
    made = charge_all(session, [Charge(account_id, ref, tenths)], source, now)
    if made and is_of_group:
        keys = people.payees_of(session, [account_id])[account_id].own_keys
        queries.add_group_debt(session, account_id, keys, credits_of(tenths))


def charge_all(
    session: WriteSession, charges: Sequence[Charge], source: Source, now: datetime
) -> Sequence[Charge]:
    """Debts of accounts alone, in as many statements however many there are. Those that are new."""
    take_turn(session)
    known = queries.refs_among(session, [one.ref for one in charges])
    new = [one for one in charges if one.ref not in known]
    if not new:
        return new
    session.execute(insert(EarnAward), [_charged(one, source, now) for one in new])
    _owe_all(
        session,
        [(one.account_id, credits_of(one.tenths), f"charge:{one.ref}", one.ref) for one in new],
        now,
    )
    return new


def _charged(one: Charge, source: Source, now: datetime) -> dict[str, Any]:
    return {
        "ref": one.ref,
        "kind": CHARGE,
        "account_id": one.account_id,
        "source": source,
        "tenths": one.tenths,
        "credits": credits_of(one.tenths),
        "repaid_credits": 0,
        "paid_credits": 0,
        "queued_credits": 0,
        "at": now,
    }


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
    concerned = {id_ for one in due for id_ in (one.item.account_id, *one.item.independent_of)}
    payees = people.payees_of(session, concerned, limits.shared_funders)
    own = [one for one in due if payout.is_of_its_own(one.item, payees)]
    if own:
        _cancel(session, own, now)
    cancelled = {one.item.award_id for one in own}
    items = [one.item for one in due if one.item.award_id not in cancelled]
    today = _Today.of(session, items, payees, limits, now)
    parts = payout.drain(items, payees, today.used, today.debts, limits).parts
    today.save(session)
    _post(session, today.heads, [(part, refs[part.item.award_id]) for part in parts], now)
    queries.save_parts(session, parts, now.date())
    return parts


def _cancel(session: WriteSession, due: Sequence[DueItem], now: datetime) -> None:
    queries.cancel(session, [one.item for one in due], now)
    rows = [
        _row(FeedKind.WITHDRAWN, one.item.account_id, one.ref, one.item.left, now) for one in due
    ]
    feed.note_all(session, rows)


@dataclass(frozen=True, slots=True)
class _Today:
    """What was paid today under the caps that bear on some items, and what is owed, by heads that
    are held.
    """

    day: date
    heads: HeldHeads
    used: dict[str, int]
    debts: Debts
    before: Mapping[str, int]
    of_groups: Mapping[int, int]

    @classmethod
    def of(
        cls,
        session: WriteSession,
        items: Sequence[Item],
        payees: Mapping[int, Payee],
        limits: PayoutLimits,
        now: datetime,
    ) -> "_Today":
        paid = {item.account_id: payees[item.account_id] for item in items}
        by_key = people.group_debts(
            session,
            {key for one in paid.values() for key in one.own_keys},
            sum(item.left for item in items),
        )
        of_groups = {debtor: left for some in by_key.values() for debtor, left in some.items()}
        heads = batch.hold(session, {*paid, *of_groups}, now)
        owed = {account_id: held.owed for account_id, held in heads.balances.items()}
        of_groups = {debtor: min(left, owed[debtor]) for debtor, left in of_groups.items()}
        caps = {
            cap.name
            for account_id, is_room in {(item.account_id, item.is_room) for item in items}
            for cap in caps_of(paid[account_id], is_room=is_room, limits=limits)
        }
        before = queries.used_on(session, now.date(), {budget_of(limits).name, *caps})
        debtors = {key: deque(some) for key, some in by_key.items()}
        debts = Debts(owed, dict(of_groups), debtors)
        return cls(now.date(), heads, dict(before), debts, before, of_groups)

    def save(self, session: WriteSession) -> None:
        moved = {name: n for name, n in self.used.items() if n != self.before.get(name)}
        queries.save_used(session, self.day, moved)
        left = self.debts.of_groups
        queries.save_group_debts(
            session,
            {debtor: left[debtor] for debtor, n in self.of_groups.items() if left[debtor] != n},
        )


def _post(
    session: WriteSession, heads: HeldHeads, parts: Sequence[tuple[PayoutPart, str]], now: datetime
) -> None:
    """Post what was repaid and paid, one posting an item and account, and note it in the feed."""
    moving = [(part, ref) for part, ref in parts if part.repaid + part.paid > 0]
    postings = [
        NewPosting(
            account_id=account_id,
            kind=credit_ledger.EARN,
            base_key=f"payout:{part.item.award_id}:{part.item.left}",
            deltas=deltas,
            counter=credit_ledger.ISSUANCE,
            payload={"award": part.item.award_id, "ref": ref},
        )
        for part, ref in moving
        for account_id, deltas in _moved(part)
    ]
    batch.post_all(session, heads, postings, now)
    rows = [
        FeedRow(kind=kind, account_id=account_id, ref=ref, at=now, credits=amount)
        for part, ref in moving
        for kind, account_id, amount in (
            *((FeedKind.REPAID, id_, repaid) for id_, repaid in part.repayments.items()),
            (FeedKind.PAID, part.item.account_id, part.paid),
        )
        if amount
    ]
    feed.note_all(session, rows)


def _moved(part: PayoutPart) -> list[tuple[int, Credits]]:
    """What the part moves, by account: the debts of others of its group, too."""
    own = part.item.account_id
    others = [(id_, Credits(owed=-repaid)) for id_, repaid in part.repayments.items() if id_ != own]
    deltas = Credits(earned=part.paid, owed=-part.repayments.get(own, 0))
    return others if deltas == Credits() else [(own, deltas), *others]


def _reverse(session: WriteSession, made: EarnAward, reason: str, now: datetime) -> EarnReversal:
    withdrawn = owed = restored = 0
    if made.kind == CHARGE:
        restored = made.credits
        _restore(session, made, now)
    else:
        withdrawn = queries.take_out(session, made.id)
        owed = made.credits - withdrawn - queries.cancelled_credits(session, made.id)
        if withdrawn:
            feed.note(session, _row(FeedKind.WITHDRAWN, made.account_id, made.ref, withdrawn, now))
        _owe_again(session, made, owed, now)
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


def _owe_again(session: WriteSession, made: EarnAward, owed: int, now: datetime) -> None:
    """What was paid of an award is a debt: of its account, and of others of its group what it repaid for
    them.
    """
    repaid = queries.repaid_for_others(session, made)
    debts = {made.account_id: owed - sum(repaid.values()), **repaid}
    key = f"reversal:{made.ref}"
    _owe_all(
        session, [(id_, amount, key, made.ref) for id_, amount in debts.items() if amount], now
    )
    payees = people.payees_of(session, repaid) if repaid else {}
    for debtor, amount in repaid.items():
        queries.add_group_debt(session, debtor, payees[debtor].own_keys, amount)


def _restore(session: WriteSession, made: EarnAward, now: datetime) -> None:
    """What a charge took comes back: what is still owed of it first, the rest as earned. Outside
    every cap and the budget.
    """
    heads = batch.hold(session, [made.account_id], now)
    posting = NewPosting(
        account_id=made.account_id,
        kind=credit_ledger.RESTORE,
        base_key=f"restore:{made.ref}",
        deltas=earn_deltas(heads.balances[made.account_id], made.credits),
        counter=credit_ledger.PENALTIES,
        payload={"award": made.id, "ref": made.ref},
    )
    batch.post_all(session, heads, [posting], now)
    queries.add_restored(session, now.date(), made.credits)
    feed.note(session, _row(FeedKind.RESTORED, made.account_id, made.ref, made.credits, now))


def _owe_all(
    session: WriteSession, debts: Sequence[tuple[int, int, str, str]], now: datetime
) -> None:
    """`debts`: account, credits, key of the posting, and ref."""
    if not debts:
        return
    heads = batch.hold(session, [account_id for account_id, *_ in debts], now)
    queries.trim_group_debts(
        session, {account_id: held.owed for account_id, held in heads.balances.items()}
    )
    postings = [
        NewPosting(
            account_id=account_id,
            kind=credit_ledger.DEBT,
            base_key=key,
            deltas=owe_deltas(heads.balances[account_id], amount),
            counter=credit_ledger.PENALTIES,
            payload={"ref": ref},
        )
        for account_id, amount, key, ref in debts
    ]
    batch.post_all(session, heads, postings, now)
    feed.note_all(
        session,
        [_row(FeedKind.DEBT, account_id, ref, amount, now) for account_id, amount, _, ref in debts],
    )


def _row(kind: FeedKind, account_id: int, ref: str, amount: int, now: datetime) -> FeedRow:
    return FeedRow(kind=kind, account_id=account_id, ref=ref, at=now, credits=amount)


def _awarded(made: EarnAward) -> Awarded:
    return Awarded(
        made.id, made.credits, made.repaid_credits, made.paid_credits, made.queued_credits
    )

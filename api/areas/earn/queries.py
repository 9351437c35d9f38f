"""All SQL of earnings but their rows' own inserts: the queue in its order, counts of a day, and
figures of accounts. Nothing here commits.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final

from sqlalchemy import (
    BigInteger,
    Date,
    Integer,
    Text,
    any_,
    bindparam,
    cast,
    delete,
    func,
    select,
    update,
)
from sqlalchemy import text as sql
from sqlalchemy.dialects.postgresql import ARRAY, insert
from sqlalchemy.orm import Session

from api.areas.earn.rules.feed import FeedKind
from api.areas.earn.rules.payout import CapKind, Item, PayoutPart
from api.areas.earn.tables import (
    EarnAward,
    EarnCancellation,
    EarnDay,
    EarnFeedRow,
    EarnGroupDebt,
    EarnQueue,
    EarnReversal,
    EarnTotal,
)
from core.db import locks
from core.db.arrays import table_of
from core.db.bounded import drop_days
from core.db.engine import WriteSession

LOCK: Final = "payouts"
RESTORED: Final = "restored"
QUEUED, QUEUED_CREDITS = "queued", "queued_credits"

# The items that nobody looked at today, in the order of approvals: of each day that some of them wait
# for the first ones alone, so that the statement reads what it answers, whatever waits behind.
_DUE = sql("""
with recursive days(day) as (
    (select min(not_before) from earn_queue where not_before <= :today)
    union all
    select (select min(q.not_before) from earn_queue q where q.not_before > days.day and q.not_before <= :today)
    from days where days.day is not null
)
select due.award_id, due.account_id, due.is_room, due.left_credits, award.ref, award.independent_of
from days cross join lateral (
    select * from earn_queue q where q.not_before = days.day order by q.award_id limit :most
) due join earn_award award on award.id = due.award_id
order by due.award_id limit :most
""").bindparams(bindparam("today", type_=Date), bindparam("most", type_=Integer))


def take_turn(session: WriteSession) -> None:
    """Wait until no other transaction awards, charges, reverses or drains; held until the end."""
    locks.own(LOCK).wait(session)


@dataclass(frozen=True, slots=True)
class DueItem:
    item: Item
    ref: str


def due_items(session: Session, today: date, most: int) -> list[DueItem]:
    """The first items that may be looked at today."""
    return [
        DueItem(
            Item(
                row.award_id,
                row.account_id,
                row.is_room,
                row.left_credits,
                tuple(row.independent_of),
            ),
            row.ref,
        )
        for row in session.execute(_DUE, {"today": today, "most": most})
    ]


def used_on(session: Session, day: date, names: Collection[str]) -> dict[str, int]:
    """What was paid that day under these names; one that is left out: nothing."""
    wanted = any_(cast(list(names), ARRAY(Text)))
    query = select(EarnDay.name, EarnDay.credits).where(EarnDay.day == day, EarnDay.name == wanted)
    return {row.name: row.credits for row in session.execute(query)}


def save_used(session: WriteSession, day: date, used: Mapping[str, int]) -> None:
    """Set what was paid that day under these names."""
    if not used:
        return
    rows = table_of(
        "paid", {"name": (Text(), list(used)), "credits": (BigInteger(), list(used.values()))}
    )
    values = select(cast(day, Date), rows.c.name, rows.c.credits).order_by(rows.c.name)
    statement = insert(EarnDay).from_select(["day", "name", "credits"], values)
    session.execute(
        statement.on_conflict_do_update(
            index_elements=["day", "name"], set_={"credits": statement.excluded.credits}
        )
    )


def add_restored(session: WriteSession, day: date, amount: int) -> None:
    restored = used_on(session, day, [RESTORED]).get(RESTORED, 0)
    save_used(session, day, {RESTORED: restored + amount})


def enqueue(session: WriteSession, item: Item, not_before: date) -> None:
    session.execute(
        insert(EarnQueue).values(
            award_id=item.award_id,
            account_id=item.account_id,
            is_room=item.is_room,
            left_credits=item.left,
            not_before=not_before,
        )
    )
    move_totals(session, 1, item.left)


def next_look(part: PayoutPart, today: date) -> date:
    """When a rest is looked at again: tomorrow if a cap stopped it. Where the budget did, the queue
    may go on today.
    """
    return today if part.cap in (None, CapKind.DAY_BUDGET) else today + timedelta(days=1)


def save_parts(session: WriteSession, parts: Iterable[PayoutPart], today: date) -> None:
    """What was paid leaves the queue; the rest stays at its place."""
    all_parts = list(parts)
    gone = [part.item.award_id for part in all_parts if part.left == 0]
    kept = [part for part in all_parts if part.left > 0]
    if gone:
        wanted = any_(cast(gone, ARRAY(BigInteger)))
        session.execute(delete(EarnQueue).where(EarnQueue.award_id == wanted))
    if kept:
        rests = table_of(
            "rests",
            {
                "award_id": (BigInteger(), [part.item.award_id for part in kept]),
                "left_credits": (BigInteger(), [part.left for part in kept]),
                "not_before": (Date(), [next_look(part, today) for part in kept]),
            },
        )
        session.execute(
            update(EarnQueue)
            .where(EarnQueue.award_id == rests.c.award_id)
            .values(left_credits=rests.c.left_credits, not_before=rests.c.not_before)
        )
    move_totals(session, -len(gone), -sum(part.repaid + part.paid for part in all_parts))


def take_out(session: WriteSession, award_id: int) -> int:
    """Take an award's rest out of the queue. How many credits it was; 0: nothing waited."""
    gone = delete(EarnQueue).where(EarnQueue.award_id == award_id)
    left = session.scalar(gone.returning(EarnQueue.left_credits)) or 0
    if left:
        move_totals(session, -1, -left)
    return left


def cancel(session: WriteSession, items: Sequence[Item], now: datetime) -> None:
    """Take these out of the queue for good, unpaid."""
    ids = any_(cast([item.award_id for item in items], ARRAY(BigInteger)))
    session.execute(delete(EarnQueue).where(EarnQueue.award_id == ids))
    rows = [
        {
            "award_id": item.award_id,
            "account_id": item.account_id,
            "credits": item.left,
            "at": now,
        }
        for item in items
    ]
    session.execute(insert(EarnCancellation), rows)
    move_totals(session, -len(items), -sum(item.left for item in items))


def cancelled_credits(session: Session, award_id: int) -> int:
    found = session.get(EarnCancellation, award_id)
    return 0 if found is None else found.credits


def repaid_for_others(session: Session, award: EarnAward) -> dict[int, int]:
    """By account what an award repaid of debts that were not its account's own."""
    row = EarnFeedRow
    its = (row.ref == award.ref, row.kind == FeedKind.REPAID, row.account_id != award.account_id)
    query = select(row.account_id, func.sum(row.credits)).where(*its).group_by(row.account_id)
    return {account_id: int(amount or 0) for account_id, amount in session.execute(query)}


def save_group_debts(session: WriteSession, left: Mapping[int, int]) -> None:
    """`left`: by account, of those that have one."""
    if not left:
        return
    rests = table_of(
        "rests",
        {
            "account_id": (BigInteger(), list(left)),
            "left_credits": (BigInteger(), list(left.values())),
        },
    )
    session.execute(
        update(EarnGroupDebt)
        .where(EarnGroupDebt.account_id == rests.c.account_id)
        .values(left_credits=rests.c.left_credits)
    )


def add_group_debt(
    session: WriteSession, account_id: int, keys: Collection[str], amount: int
) -> None:
    rows = [{"account_id": account_id, "key": key, "left_credits": amount} for key in sorted(keys)]
    row = insert(EarnGroupDebt).values(rows)
    session.execute(
        row.on_conflict_do_update(
            index_elements=["account_id", "key"],
            set_={"left_credits": EarnGroupDebt.left_credits + row.excluded.left_credits},
        )
    )


def trim_group_debts(session: WriteSession, owed: Mapping[int, int]) -> None:
    """Of what accounts owe now, `owed`, no more is their groups': they have repaid the rest themselves."""
    now = table_of(
        "now",
        {"account_id": (BigInteger(), list(owed)), "owed": (BigInteger(), list(owed.values()))},
    )
    session.execute(
        update(EarnGroupDebt)
        .where(
            EarnGroupDebt.account_id == now.c.account_id, EarnGroupDebt.left_credits > now.c.owed
        )
        .values(left_credits=now.c.owed)
    )


def look_again(session: WriteSession, account_ids: Collection[int], today: date) -> None:
    """A cap of these accounts is gone: what it stopped is looked at again today."""
    if account_ids:
        mine = EarnQueue.account_id == any_(cast(list(account_ids), ARRAY(BigInteger)))
        later = (mine, EarnQueue.not_before > today)
        session.execute(update(EarnQueue).where(*later).values(not_before=today))


def move_totals(session: WriteSession, items: int, amount: int) -> None:
    for name, by in ((QUEUED, items), (QUEUED_CREDITS, amount)):
        if by:
            moved = update(EarnTotal).where(EarnTotal.name == name).values(n=EarnTotal.n + by)
            session.execute(moved)


def totals(session: Session) -> tuple[int, int]:
    """Items that wait, and their credits."""
    found = {row.name: row.n for row in session.scalars(select(EarnTotal))}
    return found.get(QUEUED, 0), found.get(QUEUED_CREDITS, 0)


def award_of(session: Session, ref: str) -> EarnAward | None:
    return session.scalar(select(EarnAward).where(EarnAward.ref == ref))


def refs_among(session: Session, refs: Collection[str]) -> frozenset[str]:
    """Those that were awarded or charged."""
    wanted = any_(cast(list(refs), ARRAY(Text)))
    return frozenset(session.scalars(select(EarnAward.ref).where(EarnAward.ref == wanted)))


def reversal_of(session: Session, award_id: int) -> EarnReversal | None:
    return session.scalar(select(EarnReversal).where(EarnReversal.award_id == award_id))


def drop_paid_days(session: WriteSession, before: date, limit: int) -> int:
    """Drop at most `limit` counts of days before that one. How many went."""
    return drop_days(session, EarnDay, before, limit)

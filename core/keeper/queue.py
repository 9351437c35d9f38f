"""The requests of the outbox that nothing has ended: a row each, and counts of them that cost the
same however many there are.

    waiting (not taken) --take--> taken: an intent is live --put back--> waiting ... --end--> no row

Laws
- A request is in the queue from when it is asked until an intent of it ends for good
  (ENDS_OF_REQUEST), and is counted for as long: once in all, once for its payer (its account's
  owner, or the account).
- A count never passes its cap, however many ask at once: one guarded statement decides, under the
  row's own lock.
- What is kept of the day's gas for a request is in its row (core.keeper.gas), and goes back
  with it.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

from eth_utils.address import to_checksum_address
from sqlalchemy import Select, bindparam, case, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.keeper import gas
from core.keeper.gas import FILLER_GAS, SPONSORS, TOTAL, GasBudgets, SettledGas
from core.keeper.rules import ENDS_OF_REQUEST, TERMINAL, Purse, TxState
from core.keeper.tables import KeeperIntent, KeeperTx, Outbox, OutboxCount, OutboxQueue

FIRST_WAIT = timedelta(minutes=1)
MOST_DOUBLED = 5  # 1, 2, 4 ... 32 minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxRequest:
    """A row of the outbox, whose call data the keeper builds, by kind."""

    id: int
    chain_id: int
    kind: str
    to: str
    reason: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestPayer:
    """Whose request it is. `owner_id`: of the account when it asked; None: it has none."""

    account_id: int
    owner_id: int | None

    @property
    def scope(self) -> str:
        return (
            gas.account_scope(self.account_id)
            if self.owner_id is None
            else gas.owner_scope(self.owner_id)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePlace:
    """A request's place in the queue. `reserved_wei` is of `gas_day`."""

    outbox_id: int
    account_id: int | None
    owner_id: int | None
    tries: int
    refused_at: datetime | None
    gas_day: date | None
    reserved_wei: int
    purse: str = Purse.CUSTODY
    most_wei: int | None = None
    gas_scopes: tuple[str, ...] | None = None

    @property
    def scopes(self) -> tuple[str, ...]:
        """Everything that its gas counts in."""
        return self.gas_scopes or gas.scopes_of(self.account_id, self.owner_id)

    def within_most(self, wei: int) -> int:
        """So much, or the most that it may ever cost."""
        return wei if self.most_wei is None else min(wei, self.most_wei)

    @property
    def payer(self) -> RequestPayer | None:
        return (
            None
            if self.account_id is None or self.purse == Purse.SPONSOR
            else RequestPayer(account_id=self.account_id, owner_id=self.owner_id)
        )

    def kept_wei(self, day: date) -> int:
        """What is kept of that day's gas."""
        return self.reserved_wei if self.gas_day == day else 0

    @property
    def gas_rows(self) -> list[tuple[str, date]]:
        """(scope, day) of what is kept for it."""
        return [] if self.gas_day is None else [(scope, self.gas_day) for scope in self.scopes]

    def budgets(self, budgets: GasBudgets) -> dict[str, int]:
        if self.gas_scopes is not None:
            return budgets.of_sponsored(self.gas_scopes)
        return budgets.of(self.account_id, self.owner_id)


# What the API does


def add(
    session: WriteSession,
    outbox_id: int,
    chain_id: int,
    payer: RequestPayer | None,
    now: datetime,
    purse: str = Purse.CUSTODY,
    most_wei: int | None = None,
    gas_scopes: Sequence[str] | None = None,
) -> None:
    """Queue a request. The caller has counted it. `gas_scopes`: in what its gas counts, where nobody
    is its payer.
    """
    values = {
        "outbox_id": outbox_id,
        "chain_id": chain_id,
        "account_id": None if payer is None else payer.account_id,
        "owner_id": None if payer is None else payer.owner_id,
        "due_at": now,
        "tries": 0,
        "is_taken": False,
        "reserved_wei": 0,
        "purse": purse,
        "most_wei": most_wei,
        "gas_scopes": None if gas_scopes is None else list(gas_scopes),
    }
    session.execute(insert(OutboxQueue).values(**values))


def count_in(session: WriteSession, caps: Mapping[str, int]) -> str | None:
    """One more for each of these scopes; the one whose cap is reached, and then the caller rolls
    back what was counted.
    """
    return next(
        (scope for scope, cap in sorted(caps.items()) if not _counted(session, scope, cap)), None
    )


def _counted(session: WriteSession, scope: str, cap: int | None) -> bool:
    if cap is not None and cap < 1:
        return False
    statement = insert(OutboxCount).values(scope=scope, waiting=1)
    within = None if cap is None else OutboxCount.waiting < cap
    statement = statement.on_conflict_do_update(
        index_elements=[OutboxCount.scope], set_={"waiting": OutboxCount.waiting + 1}, where=within
    )
    return session.execute(statement.returning(OutboxCount.scope)).one_or_none() is not None


def count_in_uncapped(session: WriteSession, purse: str = Purse.CUSTODY) -> None:
    """A request of no account."""
    _counted(session, _total(purse), None)


def _total(purse: str) -> str:
    return SPONSORS if purse == Purse.SPONSOR else TOTAL


def waiting(session: Session, scope: str = TOTAL) -> int:
    """How many requests nothing has ended yet."""
    return session.scalar(select(OutboxCount.waiting).where(OutboxCount.scope == scope)) or 0


def keep_gas(session: WriteSession, outbox_id: int, day: date, wei: int) -> None:
    """Note what was reserved for it."""
    session.execute(
        update(OutboxQueue)
        .where(OutboxQueue.outbox_id == outbox_id)
        .values(gas_day=day, reserved_wei=wei)
    )


# What the keeper does


def due(
    session: Session, chain_id: int, now: datetime, limit: int, purse: str = Purse.CUSTODY
) -> list[tuple[OutboxRequest, QueuePlace]]:
    """The requests that wait and are due, oldest first."""
    found = session.execute(_due(chain_id, purse), {"now": now, "most": limit})
    return [(_request(request), _place(place)) for request, place in found]


@cache
def _due(chain_id: int, purse: str) -> Select[Outbox, OutboxQueue]:
    query = select(Outbox, OutboxQueue).join(OutboxQueue, OutboxQueue.outbox_id == Outbox.id)
    query = query.where(
        ~OutboxQueue.is_taken,
        OutboxQueue.due_at <= bindparam("now"),
        OutboxQueue.chain_id == chain_id,
        OutboxQueue.purse == purse,
    )
    return query.order_by(OutboxQueue.due_at, OutboxQueue.outbox_id).limit(bindparam("most"))


def taken(session: Session, chain_id: int, purse: str = Purse.CUSTODY) -> dict[int, QueuePlace]:
    """Those with an intent that was live when it was last looked, by outbox id."""
    return {row.outbox_id: _place(row) for row in session.scalars(_taken(chain_id, purse))}


@cache
def _taken(chain_id: int, purse: str) -> Select[OutboxQueue]:
    return select(OutboxQueue).where(
        OutboxQueue.is_taken, OutboxQueue.chain_id == chain_id, OutboxQueue.purse == purse
    )


def take(session: WriteSession, outbox_ids: Collection[int]) -> None:
    session.execute(
        update(OutboxQueue).where(OutboxQueue.outbox_id.in_(outbox_ids)).values(is_taken=True)
    )


def wait_until(session: WriteSession, outbox_ids: Collection[int], at: datetime) -> None:
    """Look at these again then, and not before.

    That is no try: an hour of refusals begins again.
    """
    afresh = {"due_at": at, "tries": 0, "refused_at": None}
    session.execute(
        update(OutboxQueue).where(OutboxQueue.outbox_id.in_(outbox_ids)).values(**afresh)
    )


def postpone(session: WriteSession, place: QueuePlace, now: datetime, refused_at: datetime) -> None:
    """It could not be sent since `refused_at`: look at it again after 1, 2, 4 ... 32 minutes."""
    wait = FIRST_WAIT * 2 ** min(place.tries, MOST_DOUBLED)
    row = update(OutboxQueue).where(OutboxQueue.outbox_id == place.outbox_id)
    session.execute(row.values(due_at=now + wait, tries=place.tries + 1, refused_at=refused_at))


def settle(session: WriteSession, chain_id: int, purse: str = Purse.CUSTODY) -> int:
    """Requests whose newest intent has ended: the gas that it cost is counted and the rest given
    back; one that ended for good leaves the queue, any other waits again. How many.
    """
    ended = session.execute(_ended(chain_id, purse)).all()
    if not ended:
        return 0
    places = [(_place(row), state, cost) for row, state, cost in ended]
    gone = [place for place, state, _ in places if state in ENDS_OF_REQUEST]
    back = [place.outbox_id for place, state, _ in places if state not in ENDS_OF_REQUEST]
    session.execute(
        delete(OutboxQueue).where(OutboxQueue.outbox_id.in_([place.outbox_id for place in gone]))
    )
    values = {"is_taken": False, "gas_day": None, "reserved_wei": 0}
    session.execute(update(OutboxQueue).where(OutboxQueue.outbox_id.in_(back)).values(**values))
    _count_out(session, gone)
    gas.settle(
        session,
        [one for place, _, cost in places if (one := _settled(place, int(cost))) is not None],
    )
    return len(places)


def _ended(chain_id: int, purse: str) -> Select[OutboxQueue, str, int]:
    """(row, the newest intent's state, what its transactions cost).

    One whose receipt names no price cost what was kept for it, and none cost more: what a node says
    is no more than what was signed. What filled a nonce was signed whatever is kept.
    """
    newest = (
        select(KeeperIntent.id, KeeperIntent.state)
        .where(KeeperIntent.outbox_id == OutboxQueue.outbox_id)
        .order_by(KeeperIntent.id.desc())
        .limit(1)
        .lateral("newest")
    )
    filled = func.greatest(OutboxQueue.reserved_wei, KeeperTx.max_fee_wei * FILLER_GAS)
    most = case((KeeperTx.is_filler, filled), else_=OutboxQueue.reserved_wei)
    cost = (
        select(func.coalesce(func.sum(func.least(func.coalesce(KeeperTx.cost_wei, most), most)), 0))
        .where(KeeperTx.intent_id == newest.c.id, KeeperTx.state == TxState.MINED)
        .correlate(OutboxQueue, newest)
        .scalar_subquery()
    )
    query = select(OutboxQueue, newest.c.state, cost).join(newest, newest.c.state.in_(TERMINAL))
    mine = (OutboxQueue.chain_id == chain_id, OutboxQueue.purse == purse)
    return query.where(OutboxQueue.is_taken, *mine).order_by(OutboxQueue.outbox_id)


def _count_out(session: WriteSession, places: Sequence[QueuePlace]) -> None:
    counts = Counter(_total(place.purse) for place in places)
    counts.update(place.payer.scope for place in places if place.payer is not None)
    for scope, count in sorted(counts.items()):
        session.execute(
            update(OutboxCount)
            .where(OutboxCount.scope == scope)
            .values(waiting=OutboxCount.waiting - count)
        )


def _settled(place: QueuePlace, cost_wei: int) -> SettledGas | None:
    if place.gas_day is None:
        return None
    return SettledGas(place.gas_day, place.scopes, place.reserved_wei, cost_wei)


def hold_gas(session: WriteSession, places: Sequence[QueuePlace], day: date) -> None:
    """Before `reserve` for several of them: it waits for calls that keep gas for one of their
    accounts, and holds up none meanwhile.
    """
    today = [(scope, day) for place in places for scope in place.scopes]
    gas.hold(session, [*today, *(row for place in places for row in place.gas_rows)])


def reserve(
    session: WriteSession, place: QueuePlace, budgets: GasBudgets, day: date, wei: int
) -> str | None:
    """Keep so much of that day's gas for a request, with what is kept for it already; the scope
    whose day is used up, and then nothing changes. On a new day what was kept on the old one is
    given back.
    """
    has = place.kept_wei(day)
    if has >= wei > 0:
        return None
    with session.begin_nested() as attempt:
        refused = gas.reserve(session, day, place.budgets(budgets), wei - has)
        if refused is not None:
            attempt.rollback()
            return refused.scope
        old = None if place.gas_day == day else _settled(place, 0)
        if old is not None:
            gas.settle(session, [old])
        keep_gas(session, place.outbox_id, day, wei)
    return None


def _request(row: Outbox) -> OutboxRequest:
    return OutboxRequest(
        id=row.id,
        chain_id=row.chain_id,
        kind=row.kind,
        to=to_checksum_address(row.to),
        reason=row.reason,
    )


def _place(row: OutboxQueue) -> QueuePlace:
    return QueuePlace(
        outbox_id=row.outbox_id,
        account_id=row.account_id,
        owner_id=row.owner_id,
        tries=row.tries,
        refused_at=row.refused_at,
        gas_day=row.gas_day,
        reserved_wei=row.reserved_wei,
        purse=row.purse,
        most_wei=row.most_wei,
        gas_scopes=None if row.gas_scopes is None else tuple(row.gas_scopes),
    )

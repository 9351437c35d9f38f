"""What requests cost the service in gas by UTC day, and what is kept for those that may still cost
something. All of it in wei.

    reserve (the most that it may cost) ... settle (what it did cost)

Laws
- A scope is an account, an owner, or everybody (TOTAL). What is spent and reserved of a day and
  scope never passes its budget, however many ask at once: one guarded statement decides, under the
  row's own lock.
- Rows are locked in the order of their scopes, TOTAL last, so that nobody waits for somebody who
  waits for them. A transaction that reserves for several requests holds all of their rows first.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.credits.rules.free_reads import UNKNOWN_ADDRESS
from core.db.bounded import drop_days
from core.db.engine import WriteSession
from core.keeper.tables import GasDay

FILLER_GAS = 21_000  # of a transfer of nothing, which takes a nonce
TOTAL = "total"  # sorts after `account:` and `owner:`
SPONSOR = "sponsor:"  # scopes of the sponsor's purse: what a sponsored buy counts in, and all
NEW_BUYERS = f"{SPONSOR}new"  # wallets that no sponsored buy paid for yet
SPONSORS = f"{SPONSOR}total"


@dataclass(frozen=True, slots=True, kw_only=True)
class GasBudgets:
    """The most that requests may cost in a UTC day, wei: of all, of an owner, of an account; of the
    sponsor's purse also of a network address, and of all new buyers.

    One without an owner is its own owner.
    """

    total_wei: int
    owner_wei: int
    account_wei: int
    address_wei: int = 0
    new_buyers_wei: int = 0

    def of_sponsored(self, scopes: Iterable[str]) -> dict[str, int]:
        """By scope, in their order."""
        by_kind = {
            "account": self.account_wei,
            "address": self.address_wei,
            "buyer": self.account_wei,
            "new": self.new_buyers_wei,
            "owner": self.owner_wei,
            "total": self.total_wei,
        }
        return {scope: by_kind[kind_of(scope)] for scope in scopes}

    def of(self, account_id: int | None, owner_id: int | None) -> dict[str, int]:
        """By scope, in the order in which rows are locked."""
        budgets = {TOTAL: self.total_wei}
        if account_id is not None:
            budgets[account_scope(account_id)] = (
                self.account_wei if owner_id is not None else min(self.account_wei, self.owner_wei)
            )
        if owner_id is not None:
            budgets[owner_scope(owner_id)] = self.owner_wei
        return dict(sorted(budgets.items()))


@dataclass(frozen=True, slots=True, kw_only=True)
class NoGas:
    """A scope without room for a request: of its day's budget what is spent, what is kept for
    requests under way, and what is needed.
    """

    scope: str
    budget_wei: int
    spent_wei: int
    reserved_wei: int
    needed_wei: int

    @property
    def is_above_budget(self) -> bool:
        """However little of the day is used."""
        return self.needed_wei > self.budget_wei

    @property
    def is_used_up(self) -> bool:
        """Until the day ends, for this request, even if nothing that is kept were spent."""
        return self.spent_wei + self.needed_wei > self.budget_wei


@dataclass(frozen=True, slots=True)
class SettledGas:
    """A request's reserve of a day, and what came of it."""

    day: date
    scopes: tuple[str, ...]
    reserved_wei: int
    cost_wei: int


def account_scope(account_id: int) -> str:
    return f"account:{account_id}"


def sponsored_scopes(
    *, account_id: int, owner_id: int | None, came_from: str | None, buyer: str, is_new: bool
) -> tuple[str, ...]:
    """In what a sponsored buy and its gas count, in the order in which rows are locked.

    `came_from`: as AgentCaller has it. `is_new`: no sponsored buy of the wallet was paid before.
    """
    scopes = [
        f"{SPONSOR}account:{account_id}",
        f"{SPONSOR}address:{came_from or UNKNOWN_ADDRESS}",
        f"{SPONSOR}buyer:{buyer.lower()}",
        *([NEW_BUYERS] if is_new else []),
        *([] if owner_id is None else [f"{SPONSOR}owner:{owner_id}"]),
    ]
    return (*scopes, SPONSORS)


def kind_of(scope: str) -> str:
    """Of a scope of the sponsor's purse: account, address, buyer, new, owner or total."""
    return scope.removeprefix(SPONSOR).split(":")[0]


def owner_scope(owner_id: int) -> str:
    return f"owner:{owner_id}"


def scopes_of(account_id: int | None, owner_id: int | None) -> tuple[str, ...]:
    """Everything that a request counts in, in the order in which rows are locked."""
    own = [] if account_id is None else [account_scope(account_id)]
    return (*own, *([] if owner_id is None else [owner_scope(owner_id)]), TOTAL)


def day_of(now: datetime) -> date:
    """The UTC day of an aware UTC time."""
    return now.date()


def hold(session: WriteSession, rows: Iterable[tuple[str, date]]) -> None:
    """Lock these (scope, day) in their order, opened where there is none yet, until the transaction
    ends.
    """
    values = [
        {"scope": scope, "day": day, "spent_wei": 0, "reserved_wei": 0}
        for scope, day in sorted(set(rows))
    ]
    if not values:
        return
    statement = insert(GasDay).values(values)
    unchanged = {"reserved_wei": GasDay.reserved_wei}
    session.execute(
        statement.on_conflict_do_update(index_elements=[GasDay.day, GasDay.scope], set_=unchanged)
    )


def reserve(session: WriteSession, day: date, budgets: Mapping[str, int], wei: int) -> NoGas | None:
    """Keep so much of each of these budgets; the first without room, and then nothing is kept (the
    caller rolls back what was).
    """
    for scope, budget_wei in budgets.items():
        if not _kept(session, day, scope, wei, budget_wei):
            spent_wei, reserved_wei = used_wei(session, day, scope)
            return NoGas(
                scope=scope,
                budget_wei=budget_wei,
                spent_wei=spent_wei,
                reserved_wei=reserved_wei,
                needed_wei=wei,
            )
    return None


def _kept(session: WriteSession, day: date, scope: str, wei: int, budget_wei: int) -> bool:
    if wei > budget_wei:
        return False
    statement = insert(GasDay).values(day=day, scope=scope, spent_wei=0, reserved_wei=wei)
    statement = statement.on_conflict_do_update(
        index_elements=[GasDay.day, GasDay.scope],
        set_={"reserved_wei": GasDay.reserved_wei + wei},
        where=GasDay.spent_wei + GasDay.reserved_wei + wei <= budget_wei,
    )
    return session.execute(statement.returning(GasDay.scope)).one_or_none() is not None


def settle(session: WriteSession, settled: Iterable[SettledGas]) -> None:
    """Give reserves back, and count what was spent."""
    changes: defaultdict[tuple[str, date], list[int]] = defaultdict(lambda: [0, 0])
    for one in settled:
        for scope in one.scopes:
            change = changes[scope, one.day]
            change[0] += one.reserved_wei
            change[1] += one.cost_wei
    for (scope, day), (reserved_wei, cost_wei) in sorted(changes.items()):
        row = update(GasDay).where(GasDay.day == day, GasDay.scope == scope)
        session.execute(
            row.values(
                reserved_wei=GasDay.reserved_wei - reserved_wei,
                spent_wei=GasDay.spent_wei + cost_wei,
            )
        )


def used_wei(session: Session, day: date, scope: str = TOTAL) -> tuple[int, int]:
    """(spent, reserved) of a day."""
    row = session.execute(
        select(GasDay.spent_wei, GasDay.reserved_wei).where(
            GasDay.day == day, GasDay.scope == scope
        )
    ).one_or_none()
    return (0, 0) if row is None else (row.spent_wei, row.reserved_wei)


def drop_gas_days(session: WriteSession, before: date, limit: int) -> int:
    """Drop at most `limit` figures of days before that one. How many went."""
    return drop_days(session, GasDay, before, limit)

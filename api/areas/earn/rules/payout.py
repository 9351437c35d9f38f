"""What of approved work is paid today, and what waits (docs/payouts.md).

    award -> repays debts, its own and its group's -> paid, up to every cap -> the rest queues at its place
          -> drained, in approval order, on a later look

Laws
- A cap is a count of credits paid in one UTC day; the day's budget is one of them. Repaying a debt
  counts in none.
- An item is split at every cap that binds, and its rest keeps its place: those behind it that no
  cap binds are paid. The budget stops the queue: nothing overtakes there.
- The parts of an award sum to it exactly. Nothing here is lost, and nothing is paid twice.
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from api.areas.earn.rules.groups import People, funding_keys, own_keys
from core.credits.rules.free_reads import UNKNOWN_ADDRESS


class Source(StrEnum):
    """What the work was on."""

    MINING = "mining"
    TASK = "task"
    REOBSERVE = "reobserve"
    ROOM = "room"


class CapKind(StrEnum):
    """Which cap limits the payout."""

    DAY_BUDGET = "day_budget"
    PERSON = "person"
    NETWORK_ADDRESS = "network_address"
    FUNDING_WALLET = "funding_wallet"
    OWNERS_ADDRESS = "owners_address"
    NEW_ACCOUNT = "new_account"
    ROOMS = "rooms"
    ROOMS_PERSON = "rooms_person"
    ROOMS_NETWORK_ADDRESS = "rooms_network_address"
    ROOMS_FUNDING_WALLET = "rooms_funding_wallet"
    ROOMS_OWNERS_ADDRESS = "rooms_owners_address"


@dataclass(frozen=True, slots=True, kw_only=True)
class PayoutLimits:
    """Credits that are paid in a UTC day at most: by all, and by who shares a cap.

    `wrong_entries`: so many values of a group are paid for in 7 days that were wrong. `shared_funders`:
    wallets, in lower case, that fund strangers.
    """

    day_budget: int = 10_000
    person: int = 2_000
    owners_address: int = 5_000
    new_account: int = 200
    rooms: int = 1_000
    rooms_person: int = 100
    rooms_owners_address: int = 250
    wrong_entries: int = 30
    shared_funders: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Cap:
    """`name`: of the count of one day, which all who share it are paid under."""

    kind: CapKind
    name: str
    limit: int

    def room(self, used: Mapping[str, int]) -> int:
        """What may still be paid under it. `used`: what was paid today, by name; left out: 0."""
        return max(0, self.limit - used.get(self.name, 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class Payee:
    """Who is paid.

    `address`: the network address that its owner signed up from, or, without an owner, that it
    registered from (IPv6 by /64). `funder`: the wallet that first sent at least 1 USDC to its linked
    wallet, in the transaction `funding_tx`. None: not known. `other_address`: an owned agent's, where it
    registered itself; `wallets`: its own and its owner's. All in lower case.
    """

    account_id: int
    owner_id: int | None = None
    address: str | None = None
    funder: str | None = None
    has_standing: bool = False
    other_address: str | None = None
    wallets: tuple[str | None, ...] = ()
    funding_tx: str | None = None

    @property
    def person(self) -> str:
        return person_of(self.account_id, self.owner_id)

    @property
    def own_keys(self) -> frozenset[str]:
        return own_keys(self.person, (self.address, self.other_address))

    @property
    def keys(self) -> frozenset[str]:
        """Whoever shares one is the same person, api/areas/earn/rules/groups.py."""
        return self.own_keys | funding_keys((*self.wallets, self.funder), self.funding_tx)


def person_of(account_id: int, owner_id: int | None) -> str:
    """The owner's person, or, without one, the agent's own."""
    return f"agent:{account_id}" if owner_id is None else f"owner:{owner_id}"


def budget_of(limits: PayoutLimits) -> Cap:
    return Cap(CapKind.DAY_BUDGET, "budget", limits.day_budget)


def caps_of(payee: Payee, *, is_room: bool, limits: PayoutLimits) -> tuple[Cap, ...]:
    """The caps of what is paid to it, but for the day's budget.

    An unowned agent is a person of its own, and shares the person cap with the unowned agents of
    its network address, and with those of its funding wallet: a person that registers many agents
    is paid as one.
    """
    caps = [Cap(CapKind.PERSON, payee.person, limits.person)]
    caps += [Cap(kind, name, most) for kind, _, name, most, _ in _groups(payee, limits)]
    if not payee.has_standing:
        caps.append(Cap(CapKind.NEW_ACCOUNT, f"account:{payee.account_id}", limits.new_account))
    if is_room:
        caps.append(Cap(CapKind.ROOMS, "rooms", limits.rooms))
        caps.append(Cap(CapKind.ROOMS_PERSON, f"rooms:{payee.person}", limits.rooms_person))
        caps += [
            Cap(kind, f"rooms:{name}", most) for _, kind, name, _, most in _groups(payee, limits)
        ]
    return tuple(caps)


def _groups(payee: Payee, limits: PayoutLimits) -> Iterable[tuple[CapKind, CapKind, str, int, int]]:
    """Kind, its kind in the Rooms, name, most and most in the Rooms of what it shares beside its
    person.
    """
    if payee.owner_id is not None:
        if payee.address is not None:
            name, most = f"owners:{payee.address}", limits.owners_address
            in_rooms = limits.rooms_owners_address
            yield CapKind.OWNERS_ADDRESS, CapKind.ROOMS_OWNERS_ADDRESS, name, most, in_rooms
        return
    shared = (limits.person, limits.rooms_person)
    yield CapKind.NETWORK_ADDRESS, CapKind.ROOMS_NETWORK_ADDRESS, _address_of(payee), *shared
    if payee.funder is not None:
        funder = _funder_of(payee.funder)
        yield CapKind.FUNDING_WALLET, CapKind.ROOMS_FUNDING_WALLET, funder, *shared


def _address_of(payee: Payee) -> str:
    return f"address:{payee.address or UNKNOWN_ADDRESS}"


def _funder_of(wallet: str) -> str:
    return f"funder:{wallet}"


@dataclass(frozen=True, slots=True)
class Item:
    """What of an award waits. Items stand in the order of their award ids, which is that of
    approvals.

    `independent_of`: accounts that must be other persons than its own for it to be paid.
    """

    award_id: int
    account_id: int
    is_room: bool
    left: int
    independent_of: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class PayoutPart:
    """What one look makes of an item.

    `repayments`: by account whose debt it is, in the order in which they are repaid. `cap`: what keeps
    its rest back today; None: there is no rest, or others stand before it.
    """

    item: Item
    repayments: Mapping[int, int]
    paid: int
    cap: CapKind | None

    @property
    def repaid(self) -> int:
        return sum(self.repayments.values())

    @property
    def left(self) -> int:
        return self.item.left - self.repaid - self.paid


_NOBODY: Final = deque[int]()


@dataclass(slots=True)
class Debts:
    """What accounts owe, noted as it is repaid.

    `owed`: by account. `of_groups`: the part of it that everybody of the account's group repays, by
    account; `debtors`: those accounts by key, in their order, who is done with left out.
    """

    owed: dict[int, int]
    of_groups: dict[int, int] = field(default_factory=dict)
    debtors: Mapping[str, deque[int]] = field(default_factory=dict)

    def repay(self, payee: Payee, due: int) -> dict[int, int]:
        """What is repaid of `due`, by debtor: the payee's own debts first."""
        own, repayments = payee.account_id, defaultdict[int, int](int)
        if repaid := min(due, self.owed.get(own, 0)):
            self.owed[own] -= repaid
            self.of_groups[own] = min(self.of_groups.get(own, 0), self.owed[own])
            repayments[own] = repaid
        for key in sorted(payee.own_keys):
            debtors = self.debtors.get(key, _NOBODY)
            while debtors and repaid < due:
                debtor = debtors[0]
                shared = min(due - repaid, self.of_groups[debtor])
                self.owed[debtor] -= shared
                self.of_groups[debtor] -= shared
                if shared:
                    repayments[debtor] += shared
                    repaid += shared
                if not self.of_groups[debtor]:
                    debtors.popleft()
        return dict(repayments)


@dataclass(frozen=True, slots=True)
class Look:
    """`parts`: of the items that were looked at; `is_stopped`: by the day's budget, so that those
    after the last one were not looked at.
    """

    parts: tuple[PayoutPart, ...]
    is_stopped: bool


def pay(
    item: Item,
    payee: Payee,
    used: MutableMapping[str, int],
    debts: Debts,
    limits: PayoutLimits,
) -> PayoutPart:
    """What is paid of an item now. It is noted in `used` (by the name of a cap) and `debts`.

    The cap that binds is the one with the least room, of equal ones the budget, since it stops all.
    """
    part = repay(item, payee, debts)
    repaid = part.repaid
    caps = (budget_of(limits), *caps_of(payee, is_room=item.is_room, limits=limits))
    binding = min(caps, key=lambda cap: cap.room(used))
    due = item.left - repaid
    paid = min(due, binding.room(used))
    if paid:
        for cap in caps:
            used[cap.name] = used.get(cap.name, 0) + paid
    return PayoutPart(item, part.repayments, paid, binding.kind if paid < due else None)


def repay(item: Item, payee: Payee, debts: Debts) -> PayoutPart:
    """What an item repays of debts while others stand before it, so that nothing of it is paid. It is
    noted in `debts`.
    """
    return PayoutPart(item, debts.repay(payee, item.left), 0, None)


def is_of_its_own(item: Item, payees: Mapping[int, Payee]) -> bool:
    """Whether somebody whom the item's account has to be independent of is the same person."""
    people = People()
    for account_id in item.independent_of:
        people.meet(payees[account_id].keys)
        people.mark("other")
    return "other" in people.meet(payees[item.account_id].keys)


def drain(
    items: Iterable[Item],
    payees: Mapping[int, Payee],
    used: MutableMapping[str, int],
    debts: Debts,
    limits: PayoutLimits,
) -> Look:
    """Look at items in their order, until the day's budget is used up.

    `used` and `debts` as `pay` takes them.
    """
    budget, parts = budget_of(limits), list[PayoutPart]()
    for item in items:
        if budget.room(used) == 0:
            return Look(tuple(parts), is_stopped=True)
        parts.append(pay(item, payees[item.account_id], used, debts, limits))
    is_stopped = bool(parts) and parts[-1].cap is CapKind.DAY_BUDGET
    return Look(tuple(parts), is_stopped)


@dataclass(frozen=True, slots=True)
class Wait:
    """`days`: from today, the earliest on which the first credit of an item can be paid; None: its
    cap is 0, so never as things are. `cap`: what it waits for; None: it is due today.
    """

    days: int | None
    cap: CapKind | None


NEVER: Final = None


def waits_of(
    items: Iterable[Item],
    payee: Payee,
    used: Mapping[str, int],
    ahead: Mapping[str, int],
    limits: PayoutLimits,
) -> list[Wait]:
    """How long each of an account's items waits at least.

    `items`: in their order; `ahead`: credits that stand before the first of them in the account's
    own part of the queue, by the name of a cap. A cap of c credits a day pays, from what it has
    left today on, each credit of the account after those before it. What others take of a shared
    cap, and of the budget, comes on top.
    """
    before, waits = dict(ahead), list[Wait]()
    for item in items:
        found = Wait(0, None)
        for cap in (budget_of(limits), *caps_of(payee, is_room=item.is_room, limits=limits)):
            is_budget = cap.kind is CapKind.DAY_BUDGET
            taken = used.get(cap.name, 0) + (0 if is_budget else before.get(cap.name, 0))
            if not is_budget:
                before[cap.name] = before.get(cap.name, 0) + item.left
            found = _longer(found, Wait(_days(taken, cap.limit), cap.kind))
        waits.append(found)
    return waits


def _days(taken: int, limit: int) -> int | None:
    return NEVER if limit == 0 else taken // limit


def _longer(one: Wait, other: Wait) -> Wait:
    if one.days is NEVER or other.days == 0:
        return one
    return other if other.days is NEVER or other.days > one.days else one

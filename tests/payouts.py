"""Payouts as a model of dictionaries over the pure rules: what the ledger in Postgres must equal, and
the laws that every history keeps.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from core.earn.rules import payout
from core.earn.rules.payout import CapKind, Item, Payee, PayoutLimits, budget_of, caps_of

TIGHT = PayoutLimits(
    day_budget=120,
    person=50,
    owners_address=70,
    new_account=30,
    rooms=40,
    rooms_person=20,
    rooms_owners_address=24,
)


@dataclass(frozen=True)
class Step:
    """`ref` repeats now and then, as a retried call's does; a reversal names one that was used."""

    kind: str  # award, room, charge, reverse, drain, midnight
    account: int
    tenths: int
    ref: int


STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(
            ("award", "award", "award", "room", "charge", "reverse", "drain", "midnight")
        ),
        st.integers(0, 5),
        st.integers(1, 30),
        st.integers(0, 20),
    ),
    max_size=40,
)


@dataclass
class Made:
    account: int
    credits: int
    is_charge: bool
    repaid: int = 0
    paid: int = 0
    withdrawn: int = 0
    is_reversed: bool = False


@dataclass
class World:
    """`payees` by account. `earned` and `owed` are what the credit ledger must say."""

    payees: Mapping[int, Payee]
    limits: PayoutLimits
    day: int = 0
    made: dict[str, Made] = field(default_factory=dict)
    refs: dict[int, str] = field(default_factory=dict)  # by award id
    queue: dict[int, tuple[Item, int]] = field(default_factory=dict)  # and the day of its next look
    used: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    earned: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    owed: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    restored: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def queued(self) -> int:
        return sum(item.left for item, _ in self.queue.values())

    def take(self, step: Step) -> None:
        account = sorted(self.payees)[step.account % len(self.payees)]
        match step.kind:
            case "award" | "room":
                self.award(f"award {step.ref}", account, step.tenths * 2, step.kind == "room")
            case "charge":
                self.charge(f"charge {step.ref}", account, step.tenths * 2)
            case "reverse":
                self.reverse(f"{('award', 'charge')[step.tenths % 2]} {step.ref}")
            case "drain":
                self.drain()
            case "midnight":
                self.day += 1

    def award(self, ref: str, account: int, amount: int, is_room: bool) -> None:
        if ref in self.made:
            return
        self.drain()
        award_id = len(self.made) + 1
        self.made[ref] = Made(account, amount, is_charge=False)
        self.refs[award_id] = ref
        self._note(
            payout.pay(
                Item(award_id, account, is_room, amount),
                self.payees[account],
                self.used[self.day],
                payout.Debts(self.owed),
                self.limits,
            )
        )

    def charge(self, ref: str, account: int, amount: int) -> None:
        if ref not in self.made:
            self.made[ref] = Made(account, amount, is_charge=True)
            self.owed[account] += amount

    def reverse(self, ref: str) -> None:
        made = self.made.get(ref)
        if made is None or made.is_reversed:
            return
        made.is_reversed = True
        if made.is_charge:
            back = min(self.owed[made.account], made.credits)
            self.owed[made.account] -= back
            self.earned[made.account] += made.credits - back
            self.restored[self.day] += made.credits
            return
        for award_id, (item, _) in list(self.queue.items()):
            if self.refs[award_id] == ref:
                made.withdrawn = item.left
                del self.queue[award_id]
        self.owed[made.account] += made.credits - made.withdrawn

    def drain(self) -> None:
        due = [item for item, day in self.queue.values() if day <= self.day]
        before = {item.award_id: item.left for item in due}
        debts = payout.Debts(self.owed)
        look = payout.drain(due, self.payees, self.used[self.day], debts, self.limits)
        for part in look.parts:
            self._note(part)
        self._hold_to_order(before)

    def _note(self, part: payout.PayoutPart) -> None:
        item = part.item
        made = self.made[self.refs[item.award_id]]
        made.repaid += part.repaid
        made.paid += part.paid
        self.earned[item.account_id] += part.paid
        self.queue.pop(item.award_id, None)
        if part.left:
            stopped = part.cap is not CapKind.DAY_BUDGET
            self.queue[item.award_id] = (replace(item, left=part.left), self.day + stopped)
            self.queue = dict(sorted(self.queue.items()))

    def _hold_to_order(self, before: Mapping[int, int]) -> None:
        """Whatever stands before an item that was paid was paid itself, or a cap stops it."""
        paid = [
            award_id
            for award_id, left in before.items()
            if award_id not in self.queue or self.queue[award_id][0].left < left
        ]
        for award_id, (item, _) in self.queue.items():
            if award_id < max(paid, default=0) and award_id in before:
                assert self.rooms(item), f"{award_id} was overtaken, and no cap stops it"

    def rooms(self, item: Item) -> list[CapKind]:
        """The caps of an item, the budget's aside, that have no room today."""
        caps = caps_of(self.payees[item.account_id], is_room=item.is_room, limits=self.limits)
        return [cap.kind for cap in caps if cap.room(self.used[self.day]) == 0]

    def faults(self) -> Iterator[str]:
        """What is wrong with it now; nothing, whatever came before."""
        for day, used in self.used.items():
            if used.get(budget_of(self.limits).name, 0) > self.limits.day_budget:
                yield f"day {day}: the budget is overspent"
            for payee in self.payees.values():
                for cap in caps_of(payee, is_room=True, limits=self.limits):
                    if used.get(cap.name, 0) > cap.limit:
                        yield f"day {day}: {cap.name} is above {cap.limit}"
        left: dict[str, int] = {self.refs[id_]: item.left for id_, (item, _) in self.queue.items()}
        for ref, made in self.made.items():
            parts = made.repaid + made.paid + made.withdrawn + left.get(ref, 0)
            if not made.is_charge and parts != made.credits:
                yield f"{ref}: its parts are {parts}, not {made.credits}"
        for account in self.payees:
            if self.earned[account] < 0 or self.owed[account] < 0:
                yield f"{account}: a bucket is below zero"

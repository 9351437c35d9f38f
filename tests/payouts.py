"""Payouts as a model of dictionaries over the pure rules: what the ledger in Postgres must equal, and
the laws that every history keeps.
"""

from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from hypothesis import strategies as st

from api.areas.earn.rules import payout
from api.areas.earn.rules.payout import CapKind, Item, Payee, PayoutLimits, budget_of, caps_of

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

    kind: str  # of KINDS
    account: int
    tenths: int
    ref: int


KINDS = (
    *("award", "room", "charge", "reverse", "reverse", "drain", "midnight", "midnight"),
    *("resting", "resting", "resting", "wrong", "wrong", "fund", "fund", "convert"),
)
FUNDERS = ("0x" + "ab" * 20, "0x" + "cd" * 20)
STEPS = st.lists(
    st.builds(
        Step,
        st.sampled_from(KINDS),
        st.sampled_from((0, 0, 0, 1, 1, 1, 2, 3, 4, 5)),  # the first two are of one address
        st.integers(1, 30),
        st.integers(0, 7),
    ),
    min_size=20,
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
    cancelled: int = 0
    for_others: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    is_reversed: bool = False


@dataclass
class World:
    """`payees` by account. `earned` and `owed` are what the credit ledger must say; `of_groups`: of what
    is owed the part that everybody of the account's group repays.
    """

    payees: dict[int, Payee]
    limits: PayoutLimits
    day: int = 0
    made: dict[str, Made] = field(default_factory=dict)
    refs: dict[int, str] = field(default_factory=dict)  # by award id
    queue: dict[int, tuple[Item, int]] = field(default_factory=dict)  # and the day of its next look
    used: dict[int, dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    earned: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    owed: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    of_groups: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    restored: dict[int, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def queued(self) -> int:
        return sum(item.left for item, _ in self.queue.values())

    def take(self, step: Step) -> None:
        account = self.account_of(step)
        match step.kind:
            case "award" | "room" | "resting":
                rests_on = self.rests_on(step) if step.kind == "resting" else ()
                is_room = step.kind == "room"
                self.award(f"award {step.ref}", account, step.tenths * 2, is_room, rests_on)
            case "charge" | "wrong":
                is_of_group = step.kind == "wrong"
                self.charge(f"{step.kind} {step.ref}", account, step.tenths * 2, is_of_group)
            case "fund":
                for one in self.to_fund(step):
                    funder, tx = FUNDERS[step.tenths % len(FUNDERS)], f"0x{one:064x}"
                    self.payees[one] = replace(self.payees[one], funder=funder, funding_tx=tx)
            case "convert":
                debtor = self.to_convert(step)
                self.owed[debtor] -= min(self.owed[debtor], step.tenths * 4)
            case "reverse":
                self.reverse(f"{('award', 'award', 'charge')[step.tenths % 3]} {step.ref}")
            case "drain":
                self.drain()
            case "midnight":
                self.day += 1

    def account_of(self, step: Step) -> int:
        return sorted(self.payees)[step.account % len(self.payees)]

    def rests_on(self, step: Step) -> tuple[int, ...] | None:
        """Whom an award rests on; None: one of them is the same person, so that nothing is awarded."""
        account, ids = self.account_of(step), sorted(self.payees)
        others = {ids[(step.account + 2 + n * step.ref) % len(ids)] for n in range(2)}
        item = Item(0, account, False, 1, tuple(sorted(others)))
        return None if payout.is_of_its_own(item, self.payees) else item.independent_of

    def to_convert(self, step: Step) -> int:
        """Who converts, which repays: the first that owes for its group, else the step's account."""
        debtors = (one for one, left in sorted(self.of_groups.items()) if min(left, self.owed[one]))
        return next(debtors, self.account_of(step))

    def to_fund(self, step: Step) -> list[int]:
        """Whose first deposit shows by whom they are funded: of the first that waits and rests on others,
        its account and one of them, late evidence; else the step's.
        """
        waits = (item for item, _ in self.queue.values() if item.independent_of)
        first = next(waits, Item(0, self.account_of(step), False, 1))
        some = (first.account_id, *first.independent_of[:1])
        return [one for one in some if self.payees[one].funder is None]

    def award(
        self, ref: str, account: int, amount: int, is_room: bool, rests_on: tuple[int, ...] | None
    ) -> None:
        if ref in self.made or rests_on is None:
            return
        self.drain()
        award_id = len(self.made) + 1
        self.made[ref] = Made(account, amount, is_charge=False)
        self.refs[award_id] = ref
        self._note(
            payout.pay(
                Item(award_id, account, is_room, amount, rests_on),
                self.payees[account],
                self.used[self.day],
                self._debts(),
                self.limits,
            )
        )

    def charge(self, ref: str, account: int, amount: int, is_of_group: bool) -> None:
        if ref not in self.made:
            self.made[ref] = Made(account, amount, is_charge=True)
            self._debts()
            self.owed[account] += amount
            self.of_groups[account] += amount if is_of_group else 0

    def _debts(self) -> payout.Debts:
        debtors = defaultdict[str, deque[int]](deque)
        for account, left in sorted(self.of_groups.items()):
            self.of_groups[account] = min(left, self.owed[account])
            for key in self.payees[account].own_keys if self.of_groups[account] else ():
                debtors[key].append(account)
        return payout.Debts(self.owed, self.of_groups, debtors)

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
        self._debts()
        owed = made.credits - made.withdrawn - made.cancelled - sum(made.for_others.values())
        self.owed[made.account] += owed
        for debtor, amount in made.for_others.items():
            self.owed[debtor] += amount
            self.of_groups[debtor] += amount

    def drain(self) -> None:
        if budget_of(self.limits).room(self.used[self.day]) == 0:
            return
        due = [item for item, day in self.queue.values() if day <= self.day]
        for item in due:
            if payout.is_of_its_own(item, self.payees):
                self.made[self.refs[item.award_id]].cancelled = item.left
                del self.queue[item.award_id]
        due = [item for item in due if item.award_id in self.queue]
        before = {item.award_id: item.left for item in due}
        look = payout.drain(due, self.payees, self.used[self.day], self._debts(), self.limits)
        for part in look.parts:
            self._note(part)
        self._hold_to_order(before)

    def _note(self, part: payout.PayoutPart) -> None:
        item = part.item
        made = self.made[self.refs[item.award_id]]
        made.repaid += part.repaid
        made.paid += part.paid
        for debtor, amount in part.repayments.items():
            made.for_others[debtor] += amount if debtor != item.account_id else 0
        self.earned[item.account_id] += part.paid
        if part.paid:
            keys = self.payees[item.account_id].own_keys
            for account, left in self.of_groups.items():
                owes = min(left, self.owed[account])
                assert not owes or keys.isdisjoint(self.payees[account].own_keys), "paid before"
            assert not self.owed[item.account_id], "paid before it repaid"
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

    def owed_by_groups(self) -> dict[int, int]:
        """By account what others of its group owe for it to repay."""
        keys = {account: payee.own_keys for account, payee in self.payees.items()}
        return {
            account: sum(
                min(left, self.owed[debtor])
                for debtor, left in self.of_groups.items()
                if debtor != account and keys[account] & keys[debtor]
            )
            for account in self.payees
        }

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
            parts = made.repaid + made.paid + made.withdrawn + made.cancelled + left.get(ref, 0)
            if not made.is_charge and parts != made.credits:
                yield f"{ref}: its parts are {parts}, not {made.credits}"
        for account in self.payees:
            if self.earned[account] < 0 or self.owed[account] < 0:
                yield f"{account}: a bucket is below zero"

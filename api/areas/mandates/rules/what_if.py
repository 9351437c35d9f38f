"""What these terms would have done to an agent's recorded actions.

Each recorded mandate is replayed on a vault of its own, under these terms, through the model that is
tested against the contract (limits.py): what it refuses did not happen.

    recorded call --> check_call(vault of these terms) --> it happened   or   refused: why

Laws
- Actions keep their size and time: nothing is scaled to another budget.
- Money comes back to a vault only from what it has out there: of what a target paid, the part that
  the vault's cost has in the recorded cost at that target, rounded down. A target at which the vault
  has spent nothing pays it nothing. What a refused exit would have brought stays out, at that worth.
- Worth is cash and positions, as in worth.py: the vault's last mark, at cost since; of the positions,
  those that adapters value and the others apart, the vault has the part that its cost has in the
  recorded cost, rounded down. At or below the floor the vault stops, in that second.
- The record keeps no call data and no maxSpend: what was taken counts as what was asked, and pins
  of the recipient count as kept.
- The first action begins the period.
- Within what a smallest cap is made of nothing is refused, and every target is allowed.

Worked numbers: docs/what-if.md.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

from core.mandate.rules.lifecycle import VaultStatus
from core.mandate.rules.limits import (
    LimitRefusal,
    ProposedCall,
    RunningDay,
    VaultModel,
    check_call,
    rule_of,
)
from core.mandate.rules.terms import MAX_HORIZON_DAYS, UNPINNED, MandateTerms, Rule
from core.money import BPS_ONE
from core.times import DAY_S

TARGETS_SHOWN: Final = 32
VAULT: Final = "0x000000000000000000000000000000000000dEaD"  # of the replay; nobody's
AGENT: Final = "0x00000000000000000000000000000000000A9E47"
_PINNED_WORD: Final = bytes.fromhex(VAULT[2:]).rjust(32, b"\0")


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """One Executed. Calls of one (tx_hash, nonce) are a batch. Amounts in USDC base units.

    `cost_usdc_e6`: what of `spent_usdc_e6` bought a service (x402), which is no position.
    """

    at: int
    tx_hash: str
    nonce: int
    target: str
    selector: str
    spent_usdc_e6: int
    received_usdc_e6: int
    cost_usdc_e6: int = 0


@dataclass(frozen=True, slots=True)
class RecordedReturn:
    """What an unwind or proceeds brought back from a target, without the agent."""

    at: int
    target: str
    received_usdc_e6: int


@dataclass(frozen=True, slots=True)
class RecordedMark:
    """The vault's own measure, own cash included, its part at cost, and the own cash beside it."""

    at: int
    worth_usdc_e6: int
    unvalued_out_usdc_e6: int
    cash_usdc_e6: int


RecordedFact = RecordedCall | RecordedReturn | RecordedMark


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRun:
    """What the record says of one mandate, oldest first.

    `out_before`: by target, what was out there at cost before the first fact, of older actions that
    are left out. `valued`: the targets whose positions an adapter values.
    """

    facts: Sequence[RecordedFact]
    out_before: Mapping[str, int] = field(default_factory=dict)
    valued: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallestTerms:
    """Caps that would have refused nothing, each the smallest; None: there is none, or it is not
    known.
    """

    per_tx_cap_usdc_e6: int | None
    daily_cap_usdc_e6: int | None
    budget_usdc_e6: int | None
    stop_floor_bps: int | None
    horizon_days: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """`worst_drawdown_usdc_e6`: the most by which a vault's worth was below the budget; None: the
    record has no mark of a mandate that had money out.

    `targets_not_allowed`: (target, selector) and how many actions it refused, the most first.
    """

    actions: int
    allowed: int
    refused: Mapping[str, int]
    stopped: int
    worst_drawdown_usdc_e6: int | None
    smallest: SmallestTerms
    targets_not_allowed: tuple[tuple[str, str, int], ...]


def what_if(runs: Iterable[RecordedRun], terms: MandateTerms, rules: Sequence[Rule]) -> WhatIf:
    """Replay every run under `terms` and `rules`, and once more under none."""
    listed = [run for run in runs if any(isinstance(fact, RecordedCall) for fact in run.facts)]
    under = [
        _ReplayedRun(run, terms.stop_floor, _vault(run, terms, rules)).done() for run in listed
    ]
    free = [_ReplayedRun(run, None, None).done() for run in listed]
    refused = sum((replay.refused for replay in under), Counter[str]())
    targets = sum((replay.not_allowed for replay in under), Counter[tuple[str, str]]())
    return WhatIf(
        actions=sum(replay.actions for replay in under),
        allowed=sum(replay.allowed for replay in under),
        refused=dict(refused.most_common()),
        stopped=sum(replay.stopped_at is not None for replay in under),
        worst_drawdown_usdc_e6=_worst_drawdown(under),
        smallest=_smallest(free),
        targets_not_allowed=tuple(
            (target, selector, count)
            for (target, selector), count in targets.most_common(TARGETS_SHOWN)
        ),
    )


def replayed_worth_usdc_e6(run: RecordedRun, budget_usdc_e6: int) -> int:
    """What a vault with this budget is worth after the run, if nothing is refused."""
    return budget_usdc_e6 + _ReplayedRun(run, None, None).done().gain_usdc_e6


def _vault(run: RecordedRun, terms: MandateTerms, rules: Sequence[Rule]) -> VaultModel:
    starts_at = next(fact.at for fact in run.facts if isinstance(fact, RecordedCall))
    return VaultModel(
        address=VAULT,
        status=VaultStatus.WORKING,
        agent=AGENT,
        budget=terms.budget_usdc,
        deposited=terms.budget_usdc,
        per_tx_cap=terms.per_tx_cap,
        daily_cap=terms.daily_cap,
        ends_at=starts_at + terms.horizon_days * DAY_S,
        rules=tuple(rules),
    )


def _worst_drawdown(replays: Sequence["_ReplayedRun"]) -> int | None:
    if not replays or any(replay.is_unmarked for replay in replays):
        return None
    return max(replay.drawdown_usdc_e6 for replay in replays)


def _smallest(free: Sequence["_ReplayedRun"]) -> SmallestTerms:
    """A budget is never below its caps, which terms demand."""
    per_action, day = _most(free, "largest_usdc_e6"), _most(free, "busiest_day_usdc_e6")
    budget = max(_most(free, "needed_usdc_e6"), per_action, day)
    days = _most(free, "days")
    drawdown = _worst_drawdown(free)
    return SmallestTerms(
        per_tx_cap_usdc_e6=per_action or None,
        daily_cap_usdc_e6=day or None,
        budget_usdc_e6=budget or None,
        stop_floor_bps=None if drawdown is None else _bps_above(drawdown, budget),
        horizon_days=days if 1 <= days <= MAX_HORIZON_DAYS else None,
    )


def _most(replays: Sequence["_ReplayedRun"], figure: str) -> int:
    return max((getattr(replay, figure) for replay in replays), default=0)


def _bps_above(drawdown_usdc_e6: int, budget_usdc_e6: int) -> int | None:
    """The smallest stop_floor_bps whose accepted loss is above the drawdown: at the floor a vault
    stops. None: not even the whole budget's is.
    """
    if not budget_usdc_e6:
        return None
    bps = -(-(drawdown_usdc_e6 + 1) * BPS_ONE // budget_usdc_e6)
    return bps if bps <= BPS_ONE else None


# One mandate


@dataclass(slots=True)
class _Out:
    """What is out at cost: as recorded, and of the replay. `share` is of the two while anything was
    last out.
    """

    recorded_usdc_e6: int = 0
    ours_usdc_e6: int = 0
    share: tuple[int, int] = (0, 1)

    def put(self, recorded: int, ours: int) -> None:
        self.recorded_usdc_e6 += recorded
        self.ours_usdc_e6 += ours
        if recorded:
            self.share = (self.ours_usdc_e6, self.recorded_usdc_e6)

    def take(self, recorded: int, ours: int) -> None:
        self.recorded_usdc_e6 = max(0, self.recorded_usdc_e6 - recorded)
        self.ours_usdc_e6 = min(self.recorded_usdc_e6, max(0, self.ours_usdc_e6 - ours))
        if self.recorded_usdc_e6:
            self.share = (self.ours_usdc_e6, self.recorded_usdc_e6)

    def part(self, amount_usdc_e6: int) -> int:
        ours, recorded = self.share
        return amount_usdc_e6 * ours // recorded


@dataclass(slots=True)
class _Kind:
    """The positions that adapters value, or those that none does. `worth`: as recorded; `all`: what is
    out, by target and together.
    """

    worth_usdc_e6: int
    of: dict[str, _Out]
    all: _Out

    def put(self, target: str, recorded: int, ours: int) -> None:
        for out in (self.of.setdefault(target, _Out()), self.all):
            out.put(recorded, ours)
        self.worth_usdc_e6 += recorded

    def take_back(self, target: str, recorded: int) -> int:
        """What of it the replay has a right to."""
        of_target = self.of.setdefault(target, _Out())
        ours = of_target.part(recorded)
        for out in (of_target, self.all):
            out.take(recorded, ours)
        self.stand_at(self.worth_usdc_e6 - recorded)
        return ours

    def stand_at(self, worth: int) -> None:
        """At 0 nothing is out any more, whatever it had cost."""
        self.worth_usdc_e6 = max(0, worth)
        if worth <= 0:
            for out in (*self.of.values(), self.all):
                out.recorded_usdc_e6 = out.ours_usdc_e6 = 0

    @property
    def ours_usdc_e6(self) -> int:
        return self.all.part(self.worth_usdc_e6)


def _kind(out_before: Mapping[str, int]) -> _Kind:
    out = sum(out_before.values())
    return _Kind(out, {target: _Out(one) for target, one in out_before.items()}, _Out(out))


class _ReplayedRun:
    """`floor_usdc_e6` and `vault` None: nothing is refused, and nothing stops."""

    def __init__(
        self, run: RecordedRun, floor_usdc_e6: int | None, vault: VaultModel | None
    ) -> None:
        self.actions = self.allowed = 0
        self.refused: Counter[str] = Counter()
        self.not_allowed: Counter[tuple[str, str]] = Counter()
        self.stopped_at: int | None = None
        self.drawdown_usdc_e6 = 0
        self.largest_usdc_e6 = self.busiest_day_usdc_e6 = self.needed_usdc_e6 = self.days = 0
        self._facts, self._floor, self._vault = run.facts, floor_usdc_e6, vault
        self._valued = run.valued
        self._kinds = {
            is_valued: _kind(
                {t: o for t, o in run.out_before.items() if (t in run.valued) == is_valued}
            )
            for is_valued in (True, False)
        }
        self._gain = 0  # cash above the budget; below 0: less
        self._stuck = 0  # what refused exits left out, at what they brought
        self._day = RunningDay()
        self._starts_at: int | None = None
        self._has_marks = self._had_out = False

    @property
    def is_unmarked(self) -> bool:
        return self._had_out and not self._has_marks

    def done(self) -> "_ReplayedRun":
        for _, facts in groupby(self._facts, key=_batch):
            self._take(list(facts))
        return self

    def _take(self, facts: Sequence[RecordedFact]) -> None:
        match facts[0]:
            case RecordedCall():
                self._act([fact for fact in facts if isinstance(fact, RecordedCall)])
            case RecordedReturn() as back:
                self._gain += self._at(back.target).take_back(back.target, back.received_usdc_e6)
            case RecordedMark() as mark:
                self._has_marks = True
                out = mark.unvalued_out_usdc_e6
                self._kinds[True].stand_at(mark.worth_usdc_e6 - max(0, mark.cash_usdc_e6) - out)
                self._kinds[False].stand_at(out)
        self._judge(facts[0].at)

    def _act(self, calls: Sequence[RecordedCall]) -> None:
        now = calls[0].at
        self._starts_at = now if self._starts_at is None else self._starts_at
        self.actions += 1
        refused = self._refused(calls, now)
        if refused is None:
            self.allowed += 1
            self._note_need(sum(call.spent_usdc_e6 for call in calls), now, self._starts_at)
        else:
            self.refused[refused.reason] += 1
            if refused.reason == "TargetNotAllowed":
                self.not_allowed[str(refused.args[0]), str(refused.args[1])] += 1
        for call in calls:
            self._move(call, is_ours=refused is None)

    def _refused(self, calls: Sequence[RecordedCall], now: int) -> LimitRefusal | None:
        """What the model says of the calls, to the vault as it is by then."""
        if self._vault is None:
            return None
        vault = replace(
            self._vault,
            received=max(0, self._gain),
            spent=max(0, -self._gain),
            stopped_at=self.stopped_at or 0,
            window=self._day.in_day(now),
        )
        return check_call(vault, AGENT, [_proposed(call, vault.rules) for call in calls], now)

    def _note_need(self, spent: int, now: int, starts_at: int) -> None:
        self._day.add(now, spent)
        self.largest_usdc_e6 = max(self.largest_usdc_e6, spent)
        day = self._day.in_day(now).spent_usdc_e6(now)
        self.busiest_day_usdc_e6 = max(self.busiest_day_usdc_e6, day)
        self.needed_usdc_e6 = max(self.needed_usdc_e6, spent - self._gain)
        self.days = (now - starts_at) // DAY_S + 1

    def _move(self, call: RecordedCall, *, is_ours: bool) -> None:
        """Change that a call returns is its own; what it brings beyond that comes from what is
        out.
        """
        outlay = call.spent_usdc_e6 - call.cost_usdc_e6
        change = min(call.received_usdc_e6, outlay)
        if outlay > change:
            put = outlay - change
            self._at(call.target).put(call.target, put, put if is_ours else 0)
        if is_ours:
            self._gain -= call.spent_usdc_e6 - change
        if call.received_usdc_e6 > change:
            beyond = call.received_usdc_e6 - change
            ours = self._at(call.target).take_back(call.target, beyond)
            if is_ours:
                self._gain += ours
            else:
                self._stuck += ours

    def _at(self, target: str) -> _Kind:
        return self._kinds[target in self._valued]

    @property
    def gain_usdc_e6(self) -> int:
        """Of worth, beside the budget; may be negative."""
        return self._gain + self._stuck + sum(kind.ours_usdc_e6 for kind in self._kinds.values())

    def _judge(self, at: int) -> None:
        if self.stopped_at is not None:
            return
        is_out = any(kind.all.ours_usdc_e6 > 0 for kind in self._kinds.values())
        self._had_out = self._had_out or is_out
        loss = -self.gain_usdc_e6
        self.drawdown_usdc_e6 = max(self.drawdown_usdc_e6, loss)
        if self._vault is not None and self._floor is not None:
            is_at_floor = self._vault.budget - loss <= self._floor
            self.stopped_at = at if is_at_floor else None


def _batch(fact: RecordedFact) -> tuple[str, int]:
    """The calls of a batch stand together; every other fact is alone."""
    return (fact.tx_hash, fact.nonce) if isinstance(fact, RecordedCall) else ("", id(fact))


def _proposed(call: RecordedCall, rules: Sequence[Rule]) -> ProposedCall:
    """The call with arguments whose pinned word is the vault."""
    rule = rule_of(rules, call.target, call.selector)
    words = 0 if rule is None or rule.recipient_word == UNPINNED else rule.recipient_word + 1
    data = bytes.fromhex(call.selector[2:]) + _PINNED_WORD * words
    return ProposedCall(call.target, call.spent_usdc_e6, data)

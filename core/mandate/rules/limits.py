"""The vault's limits as an executable specification, and the block of limits that a mandate read
carries.

Laws
- The day is the 24 hours that end now, to the second, gross: what comes back never gives the day
  back.

    now - 86400                                   now
         (------------- counted ------------------]
    an entry here is free      one second later: counted

- A cap binds the sum of maxSpend before the calls; the day counts what the targets took of it,
  gross: change that a target returns, and income during the call, give nothing back. All bounds are
  inclusive.
- An exit spends nothing: its maxSpend is 0.
- What binds the total is the mandate's own cash: budget + received - spent. Donated USDC is not the
  agent's.
- Refusals come in one order: status, end, pause, agent, caller, rules, caps; so after a stop
  everyone gets MandateStopped. The rules are looked at call by call: the rule of the first call,
  its maxSpend if it is an exit, then the second call.
- A limit of a mandate that does not work is null, never a number somebody could act on.

The same sequences run through the contract and through this model must agree. Worked numbers:
docs/limits.md.
Source: MandateVault._requireExecutable, SpendWindowLib, docs/rules.md#limits-in-a-read,
docs/rules.md#after-a-stop.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from core.mandate.rules.lifecycle import MarketMode, Status, VaultStatus
from core.mandate.rules.rows import NOT_SEEN
from core.mandate.rules.state import position_rules, unvalued_out_after
from core.mandate.rules.terms import UNPINNED, ZERO_ADDRESS, MandateTerms, Rule, RuleKind
from core.money import UsdcE6, usdc_text, usdc_text_or_none
from core.times import DAY_S, utc_text, utc_text_or_none

WINDOW_S: Final = DAY_S  # ConstantsLib.DAY_WINDOW
DATA_ISSUE: Final = "data_issue"
UINT256_MAX: Final = 2**256 - 1  # where the contract's sum of maxSpend stops growing

# The rolling day


@dataclass(frozen=True, slots=True)
class Spend:
    """What one call or batch took out.

    `at`: its block's time in unix seconds; amount in USDC base units, above 0.
    """

    at: int
    amount_usdc_e6: int


@dataclass(frozen=True, slots=True)
class SpendWindow:
    """Spends in the order of time. Entries that left the day may stay; they count for nothing."""

    entries: tuple[Spend, ...] = ()

    @staticmethod
    def of(spends: Iterable[tuple[int, int]]) -> "SpendWindow":
        """From (at, amount) in any order; zero amounts are left out, as the contract records
        none.
        """
        return SpendWindow(tuple(Spend(at, amount) for at, amount in sorted(spends) if amount))

    def counted(self, now: int) -> tuple[Spend, ...]:
        """The entries in (now - 86400, now]."""
        start = bisect_right(self.entries, now - WINDOW_S, key=_at)
        return self.entries[start : bisect_right(self.entries, now, key=_at)]

    def spent_usdc_e6(self, now: int) -> UsdcE6:
        """What left in the 24 hours that end now."""
        return UsdcE6(sum(spend.amount_usdc_e6 for spend in self.counted(now)))

    def with_spend(self, at: int, amount_usdc_e6: int) -> "SpendWindow":
        """The window after a spend at `at`, which is not before the last one.

        Drops what is free by then.
        """
        return SpendWindow.of(
            [(spend.at, spend.amount_usdc_e6) for spend in self.counted(at)]
            + [(at, amount_usdc_e6)]
        )


class RunningDay:
    """The day of a sequence of spends whose times only rise: what a window of all of them would
    say, without keeping the past. `in_day(now)` is a window for that `now` alone.
    """

    __slots__ = ("_entries", "_sum_usdc_e6")

    def __init__(self) -> None:
        self._entries: deque[Spend] = deque()
        self._sum_usdc_e6 = 0

    def add(self, at: int, amount_usdc_e6: int) -> None:
        """A spend at `at`, not before the last one."""
        if amount_usdc_e6:
            self._entries.append(Spend(at, amount_usdc_e6))
            self._sum_usdc_e6 += amount_usdc_e6

    def in_day(self, now: int) -> SpendWindow:
        """What left in (now - 86400, now] as one entry; `now` never falls from call to call."""
        while self._entries and self._entries[0].at <= now - WINDOW_S:
            self._sum_usdc_e6 -= self._entries.popleft().amount_usdc_e6
        return SpendWindow((Spend(now, self._sum_usdc_e6),) if self._sum_usdc_e6 else ())


def left_today_usdc_e6(window: SpendWindow, cap_usdc_e6: int, now: int) -> UsdcE6:
    """What may still leave the vault in the 24 hours that end now.

    Units: USDC base units. Window (now - 86400, now]: start exclusive, end inclusive.
    Errors: none; an exhausted cap is 0. Source: MandateVault.remaining;
    docs/limits.md#the-rolling-day.
    """
    return UsdcE6(max(0, cap_usdc_e6 - window.spent_usdc_e6(now)))


def window_frees_at(window: SpendWindow, now: int) -> int | None:
    """The first second at which the oldest counted entry is free again: its time + 86400.

    None when none is counted.
    """
    counted = window.counted(now)
    return counted[0].at + WINDOW_S if counted else None


def _at(spend: Spend) -> int:
    return spend.at


# The vault


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """One call of the agent.

    `max_spend_usdc_e6`: what the target may pull, inclusive. `data`: selector and arguments.
    """

    target: str
    max_spend_usdc_e6: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Effect:
    """What one call did.

    `taken_usdc_e6`: what its target took of the allowance, at most maxSpend; `change_usdc_e6`: by
    how much the vault's USDC moved from before the call to after it, below 0 for a fall.
    """

    taken_usdc_e6: int
    change_usdc_e6: int

    @property
    def received_usdc_e6(self) -> int:
        """What came in during the call.

        Below 0: more left than was taken of the allowance, which the vault does not know as
        spending.
        """
        return self.change_usdc_e6 + self.taken_usdc_e6


@dataclass(frozen=True, slots=True)
class LimitRefusal:
    """The error that the vault would revert with: its Solidity name and arguments in their
    order.
    """

    reason: str
    args: tuple[int | str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultModel:
    """What the vault's limits look at.

    Amounts are USDC base units, times unix seconds, addresses checksum strings.

    `agent`: ZERO_ADDRESS while removed. `stopped_at`: 0 when there was no stop.
    """

    address: str
    status: VaultStatus
    agent: str
    budget: int
    per_tx_cap: int
    daily_cap: int
    ends_at: int
    rules: tuple[Rule, ...]
    deposited: int = 0
    spent: int = 0
    received: int = 0
    unvalued_out: int = 0
    stopped_at: int = 0
    is_factory_paused: bool = False
    window: SpendWindow = field(default_factory=SpendWindow)

    @property
    def cash(self) -> int:
        """The mandate's own cash while it works: nothing can be withdrawn or paid out then."""
        return self.budget + self.received - self.spent


def check_call(
    vault: VaultModel, caller: str, calls: Sequence[ProposedCall], now: int
) -> LimitRefusal | None:
    """The first limit that `calls` by `caller` break at block time `now`, or None.

    One call is `execute`, several are `executeBatch`, and caps bind their sum. Source:
    MandateVault._requireExecutable.
    """
    return (
        _refused_by_life(vault, now)
        or _refused_by_caller(vault, caller)
        or _refused_by_rules(vault, calls)
        or _refused_by_caps(vault, calls, now)
    )


def after_call(
    vault: VaultModel,
    caller: str,
    calls: Sequence[ProposedCall],
    effects: Sequence[Effect],
    now: int,
) -> VaultModel | LimitRefusal:
    """The vault after `calls`, each of which did what its effect says, or why nothing happened.

    Source: MandateVault._execute, _callApproved.
    """
    refused = check_call(vault, caller, calls, now)
    if refused:
        return refused
    rules, unvalued_out = position_rules(vault.rules), vault.unvalued_out
    for call, effect in zip(calls, effects, strict=True):
        if effect.received_usdc_e6 < 0:
            return LimitRefusal("OverMaxSpend", (-effect.change_usdc_e6, effect.taken_usdc_e6))
        unvalued_out = unvalued_out_after(
            unvalued_out,
            rules,
            call.target,
            _selector_of(call),
            spent_usdc_e6=effect.taken_usdc_e6,
            received_usdc_e6=effect.received_usdc_e6,
        )
    taken = sum(effect.taken_usdc_e6 for effect in effects)
    return replace(
        vault,
        spent=vault.spent + taken,
        received=vault.received + sum(effect.received_usdc_e6 for effect in effects),
        unvalued_out=unvalued_out,
        window=vault.window.with_spend(now, taken),
    )


def _refused_by_life(vault: VaultModel, now: int) -> LimitRefusal | None:
    if vault.stopped_at:
        return LimitRefusal("MandateStopped", (vault.stopped_at,))
    if vault.status is VaultStatus.SETTLED:
        return LimitRefusal("MandateEnded", (vault.ends_at,))
    if vault.status is not VaultStatus.WORKING:
        return LimitRefusal("MandateNotFunded", (vault.deposited, vault.budget))
    if now >= vault.ends_at:
        return LimitRefusal("MandateEnded", (vault.ends_at,))
    return LimitRefusal("MandatePaused") if vault.is_factory_paused else None


def _refused_by_caller(vault: VaultModel, caller: str) -> LimitRefusal | None:
    if vault.agent == ZERO_ADDRESS:
        return LimitRefusal("NoAgent")
    return None if caller == vault.agent else LimitRefusal("NotAgent", (caller,))


def _refused_by_rules(vault: VaultModel, calls: Sequence[ProposedCall]) -> LimitRefusal | None:
    if not calls:
        return LimitRefusal("EmptyBatch")
    return next((refused for call in calls if (refused := _refused_by_rule(vault, call))), None)


def _refused_by_rule(vault: VaultModel, call: ProposedCall) -> LimitRefusal | None:
    if len(call.data) < 4:
        return LimitRefusal("TargetNotAllowed", (call.target, "0x00000000"))
    rule = rule_of(vault.rules, call.target, _selector_of(call))
    if rule is None:
        return LimitRefusal("TargetNotAllowed", (call.target, _selector_of(call)))
    return _refused_by_pin(vault, call, rule) or _refused_as_exit(call, rule)


def rule_of(rules: Iterable[Rule], target: str, selector: str) -> Rule | None:
    """The rule for a function of a target.

    `target` is a checksum address, `selector` in lower case.
    """
    return next(
        (rule for rule in rules if (rule.target, rule.selector) == (target, selector)), None
    )


def _selector_of(call: ProposedCall) -> str:
    return "0x" + call.data[:4].hex()


def _refused_as_exit(call: ProposedCall, rule: Rule) -> LimitRefusal | None:
    """Source: MandateVault._requireFree."""
    is_free = rule.kind is not RuleKind.EXIT or call.max_spend_usdc_e6 == 0
    return None if is_free else LimitRefusal("ExitNotFree", (call.max_spend_usdc_e6,))


def _refused_by_pin(vault: VaultModel, call: ProposedCall, rule: Rule) -> LimitRefusal | None:
    """Source: RuleLib.requireAllowed. Words are counted after the selector, 32 bytes each."""
    if rule.recipient_word == UNPINNED:
        return None
    selector = rule.selector
    start = 4 + rule.recipient_word * 32
    if len(call.data) < start + 32:
        return LimitRefusal("CalldataTooShort", (call.target, selector, len(call.data), start + 32))
    word = call.data[start : start + 32]
    if word != bytes.fromhex(vault.address[2:]).rjust(32, b"\0"):
        return LimitRefusal(
            "RecipientNotVault", (call.target, selector, rule.recipient_word, "0x" + word.hex())
        )
    return None


def _refused_by_caps(
    vault: VaultModel, calls: Sequence[ProposedCall], now: int
) -> LimitRefusal | None:
    requested = min(sum(call.max_spend_usdc_e6 for call in calls), UINT256_MAX)
    if requested > vault.per_tx_cap:
        return LimitRefusal("OverPerTxCap", (requested, vault.per_tx_cap))
    left_today = left_today_usdc_e6(vault.window, vault.daily_cap, now)
    if requested > left_today:
        return LimitRefusal("OverDailyCap", (requested, left_today))
    if requested > vault.cash:
        return LimitRefusal("OverBudget", (requested, vault.cash))
    return None


# The block of limits in a read


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsFacts:
    """What the limits block is made of, all as of one block (paper: as of the clock).

    `reverts_count`: attempts since the revert scan began; None when none runs (paper).
    `violations_count`: flagged reports;
    `violation_codes`: what they broke, sorted, each once.
    """

    status: Status
    market_mode: MarketMode
    terms: MandateTerms
    cash_usdc_e6: int
    window: SpendWindow
    reverts_count: int | None
    refusals_count: int
    violations_count: int
    violation_codes: tuple[str, ...]
    is_short: bool = False  # the ledger lacks facts of the chain: what is left is not known


def limits_block(facts: LimitsFacts, now: int, block_number: int | None) -> dict[str, Any]:
    """{as_of, allowed, used, breaches}; each number in used is {value, source, basis}.

    `now`, `block_number`: unix seconds and height of the block that the facts are of; paper has no
    block.

    While the ledger is short, nobody knows how many calls reverted or were refused: those counts
    are null. Flagged reports are the record's own.

    `allowed` is what was signed, empty caps as the budget. `used` is null with a basis while the
    agent could not act: mandate_not_working unless the status is working, mandate_ended from
    ends_at on; and with data_issue while the ledger is short.
    Source: docs/rules.md#limits-in-a-read.
    """
    return {
        "as_of": as_of_block(now, block_number),
        "allowed": _allowed(facts.terms),
        "used": _used(facts, now),
        "breaches": _breaches(facts),
    }


def as_of_block(now: int, block_number: int | None) -> dict[str, Any]:
    """{block_number, at}: what a read of limits is true of."""
    return {"block_number": block_number, "at": utc_text(now)}


def _allowed(terms: MandateTerms) -> dict[str, Any]:
    return {
        "budget_usdc": usdc_text(terms.budget_usdc),
        "per_tx_cap_usdc": usdc_text(terms.per_tx_cap),
        "daily_cap_usdc": usdc_text(terms.daily_cap),
        "stop_floor_usdc": usdc_text(terms.stop_floor),
        "approval_above_usdc": usdc_text_or_none(terms.approval_above or None),
        "ends_at": utc_text(terms.ends_at),
    }


def _used(facts: LimitsFacts, now: int) -> dict[str, Any]:
    if facts.is_short:
        return _no_limits(DATA_ISSUE)
    left = LimitsLeft(
        per_action_usdc_e6=facts.terms.per_tx_cap,
        today_usdc_e6=left_today_usdc_e6(facts.window, facts.terms.daily_cap, now),
        total_usdc_e6=max(0, facts.cash_usdc_e6),
        window_frees_at=window_frees_at(facts.window, now),
    )
    source = "ledger" if facts.market_mode is MarketMode.PAPER else "chain"
    return used_limits(facts.terms, left, now, source, is_working=facts.status is Status.WORKING)


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitsLeft:
    """What the limits leave at one moment, whoever was asked: the record's model or the vault."""

    per_action_usdc_e6: int
    today_usdc_e6: int
    total_usdc_e6: int
    window_frees_at: int | None


def used_limits(
    terms: MandateTerms, left: LimitsLeft, now: int, source: str, *, is_working: bool
) -> dict[str, Any]:
    """The block `used`: null with a basis while the agent could not act."""
    if not is_working:
        return _no_limits("mandate_not_working")
    if now >= terms.ends_at:
        return _no_limits("mandate_ended")
    frees_at = left.window_frees_at
    return {
        "left_today": _number(usdc_text(left.today_usdc_e6), source, "daily_cap_rolling_24h"),
        "left_total": _number(usdc_text(left.total_usdc_e6), source, "own_cash"),
        "per_action_max": _number(usdc_text(left.per_action_usdc_e6), "terms", _cap_basis(terms)),
        "window_frees_at": _number(
            utc_text_or_none(frees_at), source, "rolling_24h" if frees_at else "window_empty"
        ),
    }


def _no_limits(basis: str) -> dict[str, Any]:
    return {
        key: _number(None, "none", basis)
        for key in ("left_today", "left_total", "per_action_max", "window_frees_at")
    }


def _number(value: str | None, source: str, basis: str) -> Mapping[str, str | None]:
    return {"value": value, "source": source, "basis": basis}


def _cap_basis(terms: MandateTerms) -> str:
    return "budget" if terms.per_tx_cap == terms.budget_usdc else "per_tx_cap"


def _breaches(facts: LimitsFacts) -> dict[str, Any]:
    reverts, refusals = (
        (None, None) if facts.is_short else (facts.reverts_count, facts.refusals_count)
    )
    return {
        "reverts": {
            "count": reverts,
            "not_seen": None if facts.reverts_count is None else NOT_SEEN,
        },
        "refusals": {"count": refusals},
        "violations": {"count": facts.violations_count, "codes": list(facts.violation_codes)},
    }

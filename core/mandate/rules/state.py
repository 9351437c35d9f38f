"""The state of a mandate: what the fold of its ledger says, and its JSON for the head row.

Amounts are USDC base units, times aware UTC. `None` is unknown, never zero.

Identity of cash, at every row (held by a property test):

    cash = deposited + received - spent - withdrawn - paid_out

Money out where no adapter values it, which counts at cost in the vault's worth.

Laws
- What is out counts at cost: what was spent there less what came back from there, never below 0.
  All such targets share one counter, as in the vault: what one brings back beyond its cost lowers
  what is out at another.
- A target that has a rule of kind VALUED is valued by its adapter, whatever its other rules. A cost
  (x402) is no position.
- Proceeds that an adapter brings by `receiveProceeds` lower the counter, unless a rule of kind
  VALUED names that adapter: what the relay closes was out where nobody values it.

Source: MandateVault._countUnvalued and receiveProceeds, RuleLib.isPositionKind and isValued.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

import msgspec

from core.mandate.rules.lifecycle import ENDED, MarketMode, Status
from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.terms import ZERO_ADDRESS, Rule, RuleKind
from core.money import UsdcE6


@dataclass(frozen=True, slots=True)
class PositionRules:
    """What of a mandate's rules moves the counter. Addresses and selectors in lower case.

    `unvalued`: the (target, selector) whose spending and receiving does. `valued`: the adapters
    whose proceeds do not.
    """

    unvalued: frozenset[tuple[str, str]] = frozenset()
    valued: frozenset[str] = frozenset()

    def values(self, target: str) -> bool:
        """An adapter values what is at this target."""
        return target.lower() in self.valued


@dataclass(frozen=True, slots=True)
class WentOut:
    """The row by which money went out unvalued when none was out before, and what is out after it,
    at cost.
    """

    row: LedgerRow
    out_usdc_e6: UsdcE6


def position_rules(rules: Iterable[Rule]) -> PositionRules:
    """What of these rules moves the counter."""
    listed = tuple(rules)
    valued = frozenset(rule.target.lower() for rule in listed if rule.kind is RuleKind.VALUED)
    unvalued = (
        _key(rule.target, rule.selector)
        for rule in listed
        if rule.kind in (RuleKind.SPEND, RuleKind.EXIT) and rule.target.lower() not in valued
    )
    return PositionRules(frozenset(unvalued), valued)


def unvalued_out_after(
    out_usdc_e6: int,
    rules: PositionRules,
    target: str,
    selector: str,
    *,
    spent_usdc_e6: int,
    received_usdc_e6: int,
) -> UsdcE6:
    """The counter after one call of `target`, which took and brought so much."""
    if _key(target, selector) not in rules.unvalued:
        return UsdcE6(out_usdc_e6)
    return UsdcE6(max(0, out_usdc_e6 + spent_usdc_e6 - received_usdc_e6))


def unvalued_out_after_proceeds(
    out_usdc_e6: int, rules: PositionRules, adapter: str, received_usdc_e6: int
) -> UsdcE6:
    """The counter after proceeds that `adapter` brought by itself."""
    return UsdcE6(
        out_usdc_e6 if adapter.lower() in rules.valued else max(0, out_usdc_e6 - received_usdc_e6)
    )


def went_out_after(
    went: tuple[WentOut, ...], row: LedgerRow, *, before_usdc_e6: int, out_usdc_e6: int
) -> tuple[WentOut, ...]:
    """The fold of a mandate's rows, oldest first: each time that money went out and was not all
    back within the same block.

    `before_usdc_e6` and `out_usdc_e6`: the counter before and after the row.
    """
    if before_usdc_e6 == 0 and out_usdc_e6 > 0:
        return (*went, WentOut(row, UsdcE6(out_usdc_e6)))
    is_back_within_block = (
        out_usdc_e6 == 0 and bool(went) and went[-1].row.block_hash == row.block_hash
    )
    return went[:-1] if is_back_within_block else went


def _key(target: str, selector: str) -> tuple[str, str]:
    return target.lower(), selector.lower()


STATE_VERSION = 9
UNSEEN = "unseen"


class StateVersionError(ValueError):
    """A head row was written by another version of the fold: fold the ledger again."""

    def __init__(self, got: Any) -> None:
        super().__init__(
            f"state version {got!r}, this fold writes {STATE_VERSION}; fold the ledger again"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MandateFacts:
    """The little of the mandate's own row that the fold needs.

    `positions`: what of its rules moves the counter of unvalued money.
    """

    market_mode: MarketMode
    budget_usdc_e6: int
    positions: PositionRules


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A position that the agent reported and no resolve has closed.

    Everything in it is the agent's word.

    `mark_usdc_e6` starts as what the position cost and falls by what sells bring; the agent's marks
    replace it.
    """

    id: str
    name: str | None
    qty: str | None
    cost_usdc_e6: int
    proceeds_usdc_e6: int
    target: Mapping[str, Any] | None  # {kind, chain_id, address}; chain_id None: not said
    opened_at: datetime
    mark_usdc_e6: int
    # cost, agent_mark, unseen (the chain bears out no report of it: it has no mark)
    mark_source: str
    mark_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainMark:
    """What the vault measured last, own cash included, a part of it at cost: at the keeper's mark or at
    the stop line, whoever enforced it.
    """

    worth_usdc_e6: int
    unvalued_out_usdc_e6: int
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetFlow:
    """What went to one target of the vault and what came back from it, from chain rows alone.

    `cost_usdc_e6` is the part of `spent_usdc_e6` that bought a service (x402): it is no position.
    `out_usdc_e6` is what is still out there at cost (`out_after`); 0 since an adapter's positions were
    found to be worth nothing. `is_valued`: an adapter values what is there.
    """

    target: str  # checksum address
    spent_usdc_e6: int = 0
    received_usdc_e6: int = 0
    cost_usdc_e6: int = 0
    out_usdc_e6: int = 0
    is_valued: bool = False


def out_after(out: int, *, spent: int = 0, received: int = 0, cost: int = 0) -> int:
    """What is out after a movement. What comes back beyond it is a gain, and lowers nothing that goes
    out later; the log of a payment (`cost`) comes before that of its call, and may lower it below 0.
    """
    went = out + spent - cost
    return max(0, went - received) if received else went


def valued_cost_usdc_e6(flows: Iterable[TargetFlow]) -> int:
    """What is out at adapters, at cost."""
    return sum(flow.out_usdc_e6 for flow in flows if flow.is_valued)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastBatch:
    """The calls of one `executeBatch` share a transaction and a nonce; caps look at the sum of
    their `spent`.
    """

    tx_hash: str
    nonce: int
    spent_usdc_e6: int


@dataclass(frozen=True, kw_only=True)
class MandateState:
    """What the ledger says.

    `changed` gives the next one; no slots, so that it can copy fifty fields at once.
    """

    status: Status = Status.DRAFT
    # cash
    cash_usdc_e6: int = 0
    deposited_usdc_e6: int = 0
    spent_usdc_e6: int = 0
    received_usdc_e6: int = 0
    withdrawn_usdc_e6: int = 0  # of the mandate's own cash
    paid_out_usdc_e6: int = 0
    # withdrawn beyond own cash: came from outside the mandate (docs/rules.md#progress)
    donated_usdc_e6: int = 0
    # result
    resolved_usdc_e6: int = 0
    fees_tools_usdc_e6: int = 0
    fees_venue_usdc_e6: int = 0
    fees_network_usdc_e6: int = 0
    fees_unclassified_usdc_e6: int = 0
    fees_unclassified_count: int = 0
    # life
    signed_at: datetime | None = None
    vault_address: str | None = None
    vault_created_at: datetime | None = None
    stopped_at: datetime | None = None
    stopped_by: str | None = None  # owner, agent, keeper, chain (anyone by the stop line)
    stop_reason: str | None = None
    stop_worth_usdc_e6: int | None = None
    stop_requested_at: datetime | None = None
    settled_at: datetime | None = None
    ended_at: datetime | None = None  # when it first became stopped, settled or cancelled
    # the block that ended terms which no vault held the budget of: said once it is safe
    unfunded_end_block: int | None = None
    # agent
    agent_on_chain: str | None = None
    agent_known: bool = False  # a chain row has said who the agent is (or that there is none)
    last_agent_set: str | None = None
    payee_named: str | None = None  # the vault named it, beside the agent of the terms
    paused: bool = False
    paused_at: datetime | None = None
    last_paused_at: datetime | None = None
    last_resumed_at: datetime | None = None
    # worth
    mark: ChainMark | None = None
    # what adapters value, by the last mark and moved at cost since; at cost before the first one
    valued_out_usdc_e6: int = 0
    last_return_at: datetime | None = None  # of an unwind or proceeds
    positions: tuple[Position, ...] = ()
    targets: tuple[TargetFlow, ...] = ()
    # at cost, the vault's own counter
    unvalued_out_usdc_e6: int = 0
    next_at: str | None = None  # what the agent announced last
    data_issue: bool = False  # a reported number could not be read and counts as 0
    # conduct
    reverts_count: int = 0  # from rows that a chain, owner or keeper wrote
    refusals_count: int = 0  # a report and its proof count once
    refusals_confirmed_count: int = 0  # server_check confirmed or proven by the chain
    # of flags that count (reports.py): (code, reports that have it), by code
    violation_counts: tuple[tuple[str, int], ...] = ()
    violations_count: int = 0  # reports with a flag that counts
    # with a transaction: a later row of it may contradict them, so that they are looked up
    flagged_trades_count: int = 0
    moves_count: int = 0
    largest_move_usdc_e6: int = 0
    last_batch: LastBatch | None = None
    last_move_at: datetime | None = None
    last_row_at: datetime | None = None

    @property
    def fees_usdc_e6(self) -> int:
        """All fees but the agent's own: unclassified ones included."""
        return (
            self.fees_tools_usdc_e6
            + self.fees_venue_usdc_e6
            + self.fees_network_usdc_e6
            + self.fees_unclassified_usdc_e6
        )

    @property
    def violation_codes(self) -> tuple[str, ...]:
        """Sorted, each once."""
        return tuple(code for code, _ in self.violation_counts)

    @property
    def realized_usdc_e6(self) -> int:
        """Of a vault: what came back minus what went, without what is still out at cost, minus
        payouts. On paper: sum of resolve minus sum of fee minus sum of payout. Without a vault and any
        money: 0, whatever is reported. Source: docs/rules.md#progress.
        """
        if self.vault_address is None:
            realized = self.resolved_usdc_e6 - self.fees_usdc_e6 - self.paid_out_usdc_e6
            return realized if self.deposited_usdc_e6 else 0
        came_back = self.received_usdc_e6 + self.out_cost_usdc_e6
        return came_back - self.spent_usdc_e6 - self.paid_out_usdc_e6

    @property
    def out_cost_usdc_e6(self) -> int:
        """What is out of the vault, at cost: what the costs of its open positions add up to."""
        return valued_cost_usdc_e6(self.targets) + self.at_cost_usdc_e6

    @property
    def at_cost_usdc_e6(self) -> int:
        """The part of the worth that no adapter values. 0 once all is home."""
        return 0 if self.is_emptied else self.unvalued_out_usdc_e6

    @property
    def not_returned_usdc_e6(self) -> int:
        """What the vault's counter of unvalued money still has once all is home."""
        return self.unvalued_out_usdc_e6 if self.is_emptied else 0

    @property
    def is_emptied(self) -> bool:
        """The mandate ended, its owner has taken the cash out, and no adapter values anything."""
        is_empty = self.cash_usdc_e6 <= 0 and self.valued_out_usdc_e6 == 0
        return self.is_ended and is_empty and self.withdrawn_usdc_e6 > 0

    @property
    def is_ended(self) -> bool:
        return self.status in ENDED

    @property
    def obeys_nobody(self) -> bool:
        """There is a vault, and it is known to have no agent: removed, revoked by its end, or never
        set.
        """
        return (
            self.vault_address is not None
            and self.agent_known
            and self.agent_on_chain in (None, ZERO_ADDRESS)
        )

    @property
    def is_paused(self) -> bool:
        """Nobody can act until the owner sets an agent: one was removed, or the vault was made
        without any.
        """
        return self.paused or (self.obeys_nobody and not self.is_ended)

    @property
    def paused_since(self) -> datetime | None:
        return self.paused_at or (self.vault_created_at if self.is_paused else None)


EMPTY_STATE = MandateState()


def changed(state: MandateState, **changes: Any) -> MandateState:
    """The state with these fields set again.

    As dataclasses.replace, twenty times faster: a fold does little else.

    Errors: TypeError for a field that there is not.
    """
    after = object.__new__(MandateState)
    after.__dict__.update(state.__dict__, **changes)
    if len(after.__dict__) != _FIELDS:
        raise TypeError(
            f"no such field of the state: {sorted(changes.keys() - state.__dict__.keys())}"
        )
    return after


_NAMES = frozenset(field.name for field in fields(MandateState))
_FIELDS = len(_NAMES)


def state_to_json(state: MandateState) -> dict[str, Any]:
    """The state as a JSON object: amounts as ints, times as ISO text; `state_from_json` gives the
    same state back.
    """
    written: dict[str, Any] = msgspec.to_builtins(state)
    return {"version": STATE_VERSION, **written}


def changes_to_json(before: MandateState, after: MandateState) -> dict[str, Any]:
    """What is to be set in the JSON of `before` so that it is that of `after`: for most rows, few
    of fifty fields.
    """
    known = before.__dict__
    changes = {name: value for name, value in after.__dict__.items() if value is not known[name]}
    written: dict[str, Any] = msgspec.to_builtins(changes)
    return written


def state_from_json(raw: Mapping[str, Any]) -> MandateState:
    """The state as it was.

    Errors: StateVersionError when another version of the fold wrote it; ValueError, KeyError when
    none did.
    """
    if raw.get("version") != STATE_VERSION:
        raise StateVersionError(raw.get("version"))
    if raw.keys() - {"version"} != _NAMES:
        odd = sorted((raw.keys() - {"version"}) ^ _NAMES)
        raise KeyError(f"not the fields of version {STATE_VERSION}: {odd}")
    try:
        return msgspec.convert(raw, MandateState)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error

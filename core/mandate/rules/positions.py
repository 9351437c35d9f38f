"""Positions: as the agent writes them, as it reports them, and as the chain bears them out.

What an agent wrote into a payload, read with care: nothing it may contain breaks the fold.

A target (docs/rules.md#report-payloads) is {kind contract, chain_id, address}, {address}, or a bare
address; it is in payload.target, or in payload.detail.target (the tool form). Anything else is
a TargetFault.

Shapes: position = {id, name, qty, cost_usdc, target}; mark = {position_id, worth_usdc, at}; marks =
a list of those; next_at = text. A number that cannot be read counts as 0, and the reader is
notified (data_issue).

Positions as the agent reports them: opened by a buy or move, marked, sold from, closed by a
resolve.

Laws
- A position opens with its first buy or move; another one with the same id adds to its cost.
- On paper it costs no more than what left the cash for it: what was never paid can not come back
  (cash.py).
- Its first mark is what it cost. A sell that names it lowers the mark by what it brought, never
  below 0.
- It is at its own target. Of a vault, whose calls the chain knows, at the report's: its own only
  where the report names none, or the vault.
- Only a resolve closes it. Marks of positions that are not open count for nothing.
- On testnet a report whose transaction the chain did not have (payload `unseen`) moves no worth: a
  position that it opens has no mark and has cost nothing, and no word of the agent gives it a mark
  before a report that the chain bears out, which may be the same one again; a sell or resolve of
  that kind changes nothing.

The open positions of a mandate with a vault: what is out by the chain, which reports name and explain.

Laws
- Costs add up to what is out (MandateState.out_cost_usdc_e6), worths to the positions' part of the
  worth: no report adds or takes a base unit.
- A report that the chain bears out names money at its target, at most as much as it says that it cost;
  what came back has closed the oldest. What no report names is a position of its own, with the target
  as its id.
- Targets without an adapter share one counter of the vault, which their costs are scaled to.
- What adapters value though nothing went to any (somebody else's gift) is a position without a target.
- A report that the chain does not bear out is listed as a claim: without cost, its worth unknown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from core.hexes import read_account
from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.rows import LedgerRow, RowKind
from core.mandate.rules.state import (
    UNSEEN,
    MandateFacts,
    MandateState,
    Position,
    TargetFlow,
    changed,
)
from core.mandate.rules.terms import address_from_text
from core.money import usdc_e6_or_none

# more are kept in the ledger and not tracked: one agent cannot make every read slow
MAX_OPEN_POSITIONS = 200
MAX_WORD = 200  # characters of a name, an id or a quantity that the state keeps


@dataclass(frozen=True, slots=True)
class ReportedMark:
    """`worth_usdc_e6` None: the number could not be read.

    `at` is never later than the row that brought it.
    """

    position_id: str
    worth_usdc_e6: int | None
    at: datetime


@dataclass(frozen=True, slots=True)
class ReportedTarget:
    """`chain_id` None: the report did not say; the mandate's own is meant."""

    chain_id: int | None
    address: str  # checksum

    def as_json(self, chain_id: int | None = None) -> dict[str, Any]:
        """The canonical form; `chain_id` is used when the report has none."""
        return {
            "kind": "contract",
            "chain_id": self.chain_id if self.chain_id is not None else chain_id,
            "address": self.address,
        }


class TargetFault(StrEnum):
    """Why a target could not be read: the value of detail.target_detail."""

    ABSENT = "absent"
    WRONG_SHAPE = "not_an_address_or_object"
    UNKNOWN_KIND = "unknown_kind"
    BAD_ADDRESS = "bad_address"
    BAD_CHAIN_ID = "bad_chain_id"


def target_of(payload: Mapping[str, Any]) -> ReportedTarget | TargetFault:
    """The target of a report, or why there is none that can be read."""
    target, detail = payload.get("target"), payload.get("detail")
    if target is None and isinstance(detail, Mapping):
        target = detail.get("target")
    return target_from(target)


def target_from(target: Any) -> ReportedTarget | TargetFault:
    """Read one target in any accepted shape.

    Keys beside kind, chain_id and address are left alone, and so is the case of the letters: a row
    that was stored keeps its meaning (`require_checksums` is the door's).
    """
    if target is None:
        return TargetFault.ABSENT
    if isinstance(target, str):
        target = {"address": target}
    if not isinstance(target, Mapping):
        return TargetFault.WRONG_SHAPE
    chain_id = target.get("chain_id")
    if target.get("kind", "contract") != "contract":
        return TargetFault.UNKNOWN_KIND
    if chain_id is not None and (isinstance(chain_id, bool) or not isinstance(chain_id, int)):
        return TargetFault.BAD_CHAIN_ID
    address = _account_or_none(target.get("address"))
    return TargetFault.BAD_ADDRESS if address is None else ReportedTarget(chain_id, address)


def require_checksums(payload: Mapping[str, Any]) -> None:
    """Of a new report: what would be read as another account than its author wrote is not stored.

    Errors: InvalidParameterError.
    """
    for part in ("", "detail", "position"):
        holder = payload.get(part) if part else payload
        target = holder.get("target") if isinstance(holder, Mapping) else None
        address = target.get("address") if isinstance(target, Mapping) else target
        if _account_or_none(address) is not None:
            address_from_text(address, ".".join(filter(None, ("payload", part, "target"))))


def _account_or_none(address: Any) -> str | None:
    """In whatever case its letters are."""
    try:
        return read_account(address.lower() if isinstance(address, str) else address)
    except ValueError:
        return None


def position_of(payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """payload.position when it is an object with an id, else None."""
    position = payload.get("position")
    return position if isinstance(position, Mapping) and word(position.get("id")) else None


def position_id(payload: Mapping[str, Any]) -> str | None:
    position = position_of(payload)
    return None if position is None else word(position["id"])


def marks_of(payload: Mapping[str, Any], row_at: datetime) -> list[ReportedMark]:
    """payload.mark and payload.marks, in their order; entries without a position are left out."""
    listed = payload.get("marks")
    entries = [payload.get("mark"), *(listed if isinstance(listed, list | tuple) else ())]
    return [mark for entry in entries if (mark := _mark(entry, row_at)) is not None]


def usable_usdc_e6(value: Any) -> int | None:
    """An amount as text or a whole number of USDC; None when it cannot be read."""
    if type(value) is str:
        return usdc_e6_or_none(value)
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return usdc_e6_or_none(str(value))


def word(value: Any) -> str | None:
    """Short text, or a whole number as text; None for anything else or for nothing."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        return None
    return str(value)[:MAX_WORD] or None


def _mark(entry: Any, row_at: datetime) -> ReportedMark | None:
    if not isinstance(entry, Mapping):
        return None
    named = word(entry.get("position_id"))
    return (
        None
        if named is None
        else ReportedMark(
            named, usable_usdc_e6(entry.get("worth_usdc")), _at(entry.get("at"), row_at)
        )
    )


def _at(value: Any, row_at: datetime) -> datetime:
    """The agent's time, if it can be read and is not in the row's future; a mark from the future
    would never be replaced.
    """
    if not isinstance(value, str):
        return row_at
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return row_at
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(at, row_at)


def with_reported(state: MandateState, row: LedgerRow, facts: MandateFacts) -> MandateState:
    """The state with the positions and marks of one report of the agent."""
    if row.kind in (RowKind.BUY, RowKind.MOVE):
        state = _bought(state, row, facts)
    elif _is_unseen(row):
        return state
    elif row.kind is RowKind.SELL:
        state = _sold(state, row)
    elif row.kind is RowKind.RESOLVE:
        state = _resolved(state, row)
    return _marked(state, row)


def _is_unseen(row: LedgerRow) -> bool:
    return row.payload.get("unseen") is True


def _bought(state: MandateState, row: LedgerRow, facts: MandateFacts) -> MandateState:
    reported = position_of(row.payload)
    if reported is None:
        return state
    stated = reported.get("cost_usdc")
    cost = (row.amount_usdc_e6 or 0) if stated is None else usable_usdc_e6(stated)
    if cost is None or cost < 0:
        return _bought_for(changed(state, data_issue=True), row, 0)
    is_paper = facts.market_mode is MarketMode.PAPER
    return _bought_for(state, row, min(cost, -row.cash_delta_usdc_e6) if is_paper else cost)


def _bought_for(state: MandateState, row: LedgerRow, cost: int) -> MandateState:
    reported = row.payload["position"]
    named = word(reported["id"]) or ""
    open_ = next((one for one in state.positions if one.id == named), None)
    if open_ is None and len(state.positions) >= MAX_OPEN_POSITIONS:
        return changed(state, data_issue=True)
    before = open_ or Position(
        id=named,
        name=None,
        qty=None,
        cost_usdc_e6=0,
        proceeds_usdc_e6=0,
        target=None,
        opened_at=row.occurred_at,
        mark_usdc_e6=0,
        mark_source=UNSEEN,
        mark_at=row.occurred_at,
    )
    if not _is_unseen(row):
        source = "cost" if before.mark_source == UNSEEN else before.mark_source
        spent, mark = before.cost_usdc_e6 + cost, before.mark_usdc_e6 + cost
        before = replace(before, cost_usdc_e6=spent, mark_usdc_e6=mark, mark_source=source)
    after = replace(
        before,
        name=word(reported.get("name")) or before.name,
        qty=word(reported.get("qty")) or before.qty,
        target=_target(row, state.vault_address) or before.target,
    )
    return _with(state, after)


def _target(row: LedgerRow, vault: str | None) -> dict[str, Any] | None:
    own, reported = target_from(row.payload["position"].get("target")), target_of(row.payload)
    for target in (own, reported) if vault is None else (reported, own):
        if isinstance(target, ReportedTarget) and target.address.lower() != (vault or "").lower():
            return target.as_json(row.chain_id)
    return None


def _sold(state: MandateState, row: LedgerRow) -> MandateState:
    open_ = _open(state, row)
    if open_ is None:
        return state
    brought = row.amount_usdc_e6 or 0
    mark = max(0, open_.mark_usdc_e6 - brought)
    return _with(
        state, replace(open_, proceeds_usdc_e6=open_.proceeds_usdc_e6 + brought, mark_usdc_e6=mark)
    )


def _resolved(state: MandateState, row: LedgerRow) -> MandateState:
    open_ = _open(state, row)
    return (
        state
        if open_ is None
        else changed(state, positions=tuple(one for one in state.positions if one.id != open_.id))
    )


def _marked(state: MandateState, row: LedgerRow) -> MandateState:
    for mark in marks_of(row.payload, row.occurred_at):
        open_ = next((one for one in state.positions if one.id == mark.position_id), None)
        if mark.worth_usdc_e6 is None or mark.worth_usdc_e6 < 0:
            state = changed(state, data_issue=True)
        if (
            open_ is None
            or open_.mark_source == UNSEEN
            or (open_.mark_source == "agent_mark" and mark.at < open_.mark_at)
        ):
            continue
        worth = max(0, mark.worth_usdc_e6 or 0)
        state = _with(
            state, replace(open_, mark_usdc_e6=worth, mark_source="agent_mark", mark_at=mark.at)
        )
    return state


def _open(state: MandateState, row: LedgerRow) -> Position | None:
    reported = position_of(row.payload)
    named = None if reported is None else word(reported["id"])
    return next((one for one in state.positions if one.id == named), None)


def _with(state: MandateState, position: Position) -> MandateState:
    """Replace in place, or add at the end: positions stand in the order in which they were
    opened.
    """
    if any(one.id == position.id for one in state.positions):
        return changed(
            state,
            positions=tuple(position if one.id == position.id else one for one in state.positions),
        )
    return changed(state, positions=(*state.positions, position))


@dataclass(frozen=True, slots=True)
class ChainPosition:
    """USDC base units. `target` None: a claim, or it is not known which adapter; `reported` None: no
    report names it; `worth_usdc_e6` None: a claim alone.
    """

    target: str | None
    cost_usdc_e6: int
    worth_usdc_e6: int | None
    is_valued: bool
    reported: Position | None


def open_positions(state: MandateState) -> list[ChainPosition]:
    """By target in the order in which money first went there, then claims."""
    borne_out = [one for one in state.positions if one.mark_source != UNSEEN]
    nowhere = [one for one in borne_out if one.target is None]
    found = list[ChainPosition]()
    for flow, cost, worth in _out(state):
        here = [one for one in borne_out if _address(one) == flow.target.lower()]
        found += _named(flow, cost, worth, here, nowhere)
    if state.valued_out_usdc_e6 and not any(flow.is_valued for flow in state.targets):
        found.append(ChainPosition(None, 0, state.valued_out_usdc_e6, True, None))
    claims = [one for one in state.positions if one.mark_source == UNSEEN]
    return [*found, *(ChainPosition(None, 0, None, False, one) for one in claims)]


def shared(total: int, weights: Sequence[int]) -> list[int]:
    """`total` in parts as the weights are; the first of equal ones get what is left over. All of it
    goes to the last where every weight is 0.
    """
    whole = sum(weights)
    if not weights or whole == 0:
        return [0] * (len(weights) - 1) + [total] * bool(weights)
    parts = [total * weight // whole for weight in weights]
    order = sorted(range(len(weights)), key=lambda n: (-(total * weights[n] % whole), n))
    for place in order[: total - sum(parts)]:
        parts[place] += 1
    return parts


def _out(state: MandateState) -> Iterable[tuple[TargetFlow, int, int]]:
    """Each target where something is out, at cost and as it is worth."""
    valued = [flow for flow in state.targets if flow.is_valued]
    others = [
        flow
        for flow in state.targets
        if not flow.is_valued and flow.spent_usdc_e6 > flow.cost_usdc_e6
    ]
    worths = shared(state.valued_out_usdc_e6, [flow.out_usdc_e6 for flow in valued])
    costs = shared(state.at_cost_usdc_e6, [flow.out_usdc_e6 for flow in others])
    by_flow = {
        **{f.target: (f.out_usdc_e6, worth) for f, worth in zip(valued, worths, strict=True)},
        **{f.target: (cost, cost) for f, cost in zip(others, costs, strict=True)},
    }
    for flow in state.targets:
        cost, worth = by_flow.get(flow.target, (0, 0))
        if cost or worth:
            yield flow, cost, worth


def _named(
    flow: TargetFlow, cost: int, worth: int, here: Sequence[Position], nowhere: list[Position]
) -> list[ChainPosition]:
    """The reports at a target, then those that name no target, then what is left. The newest of them
    name it first.
    """
    named, left = list[tuple[Position | None, int]](), cost
    for position in [*reversed(here), *reversed(nowhere)]:
        part = min(left, max(0, position.cost_usdc_e6 - position.proceeds_usdc_e6))
        if part:
            named.append((position, part))
            left -= part
            if position in nowhere:
                nowhere.remove(position)
    named.reverse()
    if left or not named:
        named.append((here[-1] if here and not named else None, left))
    worths = shared(worth, [part for _, part in named])
    return [
        ChainPosition(flow.target, part, worth_of_it, flow.is_valued, position)
        for (position, part), worth_of_it in zip(named, worths, strict=True)
    ]


def _address(position: Position) -> str | None:
    return None if position.target is None else str(position.target["address"]).lower()

"""Positions as the agent reports them: opened by a buy or move, marked, sold from, closed by a
resolve.

Laws
- A position opens with its first buy or move; another one with the same id adds to its cost.
- On paper it costs no more than what left the cash for it: what was never paid can not come back
  (paper.py).
- Its first mark is what it cost. A sell that names it lowers the mark by what it brought, never
  below 0.
- It is at its own target. Of a vault, whose calls the chain knows, at the report's: its own only
  where the report names none, or the vault.
- Only a resolve closes it. Marks of positions that are not open count for nothing.
- On testnet a report whose transaction the chain did not have (payload `unseen`) moves no worth: a
  position that it opens has no mark and has cost nothing, and no word of the agent gives it a mark
  before a report that the chain bears out, which may be the same one again; a sell or resolve of
  that kind changes nothing.
"""

from dataclasses import replace
from typing import Any

from core.mandate.rules.lifecycle import MarketMode
from core.mandate.rules.reported import (
    MAX_OPEN_POSITIONS,
    ReportedTarget,
    marks_of,
    position_of,
    target_from,
    target_of,
    usable_usdc_e6,
    word,
)
from core.mandate.rules.rows import LedgerRow, RowKind
from core.mandate.rules.state import UNSEEN, MandateFacts, MandateState, Position, changed


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

"""What went to a mandate's targets and what came back, row by row from the chain's rows alone, and what
adapters value of it.

Laws
- Before the first mark what adapters value is what is out at them at cost, adapter by adapter.
- A mark is the vault's own measure, and so is a stop at the line: the worth less own cash and less the
  part at cost is what adapters value. What moves after it moves that at cost, until the next mark.
- Where nothing is left of that, the positions at adapters are closed: what had not come back is lost.
  What came back beyond its cost is gained, and is no part of what a later purchase costs.
- Money at targets without an adapter has a counter of its own (unvalued.py). A cost (x402) is no
  position, and what the relay's adapter brings home was out where no adapter values it.

Source: MandateVault._measure.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core.mandate.rules.reported import usable_usdc_e6
from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.state import (
    ChainMark,
    MandateFacts,
    MandateState,
    TargetFlow,
    changed,
    out_after,
    valued_cost_usdc_e6,
)

Flows = tuple[TargetFlow, ...]


def moved_at(
    state: MandateState,
    facts: MandateFacts,
    target: str,
    *,
    spent: int = 0,
    received: int = 0,
    cost: int = 0,
) -> dict[str, Any]:
    """The fields that a movement at a target sets. Amounts are USDC base units."""
    flows = {flow.target: flow for flow in state.targets}
    flow = flows.get(target) or TargetFlow(target=target, is_valued=facts.positions.values(target))
    flows[target] = replace(
        flow,
        spent_usdc_e6=flow.spent_usdc_e6 + spent,
        received_usdc_e6=flow.received_usdc_e6 + received,
        cost_usdc_e6=flow.cost_usdc_e6 + cost,
        out_usdc_e6=out_after(flow.out_usdc_e6, spent=spent, received=received, cost=cost),
    )
    after = tuple(flows.values())
    if state.mark is None:
        return {"targets": after, "valued_out_usdc_e6": valued_cost_usdc_e6(after)}
    if not flow.is_valued:
        return {"targets": after}
    out = out_after(state.valued_out_usdc_e6, spent=spent, received=received, cost=cost)
    return {"targets": after if out else _written_off(after), "valued_out_usdc_e6": out}


def returned(state: MandateState, row: LedgerRow, facts: MandateFacts, target: str) -> MandateState:
    """After an unwind at a target, or proceeds that an adapter brought home."""
    fields = moved_at(state, facts, target, received=row.amount_usdc_e6 or 0)
    return changed(state, last_return_at=row.occurred_at, **fields)


def with_mark(state: MandateState, row: LedgerRow, fact: Mapping[str, Any]) -> MandateState:
    """After a measure of the vault: a `Marked` log, or a `Stopped` one that knows the worth."""
    worth, out = (usable_usdc_e6(fact.get(key)) for key in ("worth_usdc", "unvalued_out_usdc"))
    if worth is None or out is None:
        return changed(state, data_issue=True)
    mark = ChainMark(worth_usdc_e6=worth, unvalued_out_usdc_e6=out, at=row.occurred_at)
    valued = max(0, worth - out - max(0, state.cash_usdc_e6))
    flows = state.targets if valued else _written_off(state.targets)
    return changed(state, mark=mark, valued_out_usdc_e6=valued, targets=flows)


def _written_off(flows: Flows) -> Flows:
    return tuple(
        replace(flow, out_usdc_e6=0) if flow.is_valued and flow.out_usdc_e6 else flow
        for flow in flows
    )

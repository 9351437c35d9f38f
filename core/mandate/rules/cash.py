"""What rows move: cash, what went to targets and came back, and what that is worth on paper.

What one row says of cash: what it took out, what it brought in, and which of its facts the agent
did not write.

What went to a mandate's targets and what came back, row by row from the chain's rows alone, and what
adapters value of it.

Laws
- Before the first mark what adapters value is what is out at them at cost, adapter by adapter.
- A mark is the vault's own measure, and so is a stop at the line: the worth less own cash and less the
  part at cost is what adapters value. What moves after it moves that at cost, until the next mark.
- Where nothing is left of that, the positions at adapters are closed: what had not come back is lost.
  What came back beyond its cost is gained, and is no part of what a later purchase costs.
- Money at targets without an adapter has a counter of its own (state.py). A cost (x402) is no
  position, and what the relay's adapter brings home was out where no adapter values it.

Source: MandateVault._measure.

What a row does to cash where the log alone does not say it: paper reports, and withdrawals
beyond the own cash.

Laws
- `priced` runs in the ledger, under the head's lock, before the row is hashed: the state it sees is
  the one it changes.
- A paper mandate's cash starts as its budget and never falls below 0; what it cannot pay moves no
  cash (the report stays, and is flagged).
- A resolve gives a paper position's cost and result back, less what its sells brought already.
  Together they bring exactly cost + result, never less than 0. A position costs no more than what
  was paid for it.
- A paper stop voids what is open: each position's unreturned cost comes back
  (docs/rules.md#after-a-stop).
- On testnet a row without a block moves no cash. A withdrawal takes own cash first; what goes
  beyond it was donated. Before the mandate works what was donated leaves first, and then deposits.

| paper row | cash |
|---|---|
| deposit | + amount |
| buy, move, fee | - amount, at most the cash |
| sell | + amount |
| resolve | + max(0, cost + amount - proceeds of its position); 0 when it names none |
| stop | + cost not yet returned of every open position |
| payout, withdraw | - amount, at most the cash |
| any report of the agent after the end of the mandate | 0 |
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from core.mandate.rules.lifecycle import MarketMode, Status
from core.mandate.rules.positions import position_id, usable_usdc_e6
from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy, RowKind
from core.mandate.rules.state import (
    ChainMark,
    MandateFacts,
    MandateState,
    Position,
    TargetFlow,
    changed,
    out_after,
    valued_cost_usdc_e6,
)
from core.money import UsdcE6, usdc_text

Moved = tuple[int, int]  # what a row took out of cash, what it brought in


def spent_and_received(row: NewRow) -> Moved:
    """What a row took out of cash and what it brought in: an Executed says both, any other row by
    its delta's sign.
    """
    delta = row.cash_delta_usdc_e6
    executed = chain_fact(row, "executed")
    if executed is not None:
        spent, received = (
            usable_usdc_e6(executed.get("spent")),
            usable_usdc_e6(executed.get("received")),
        )
        if spent is not None and received is not None and received - spent == delta:
            return spent, received
    return max(0, -delta), max(0, delta)


def chain_fact(row: NewRow, key: str) -> Mapping[str, Any] | None:
    """payload[key] when it is an object and the agent did not write the row."""
    fact = row.payload.get(key)
    return (
        fact
        if fact is not None
        and isinstance(fact, Mapping)
        and row.reported_by is not ReportedBy.AGENT
        else None
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


def priced(row: NewRow, state: MandateState, facts: MandateFacts) -> NewRow:
    """The row with the cash delta that it has now. `state` is the fold of every row before it.

    Applying it twice changes nothing.
    """
    if facts.market_mode is MarketMode.PAPER:
        return _paper(row, state)
    if row.block_hash is None:
        return replace(row, cash_delta_usdc_e6=0)
    if row.kind is RowKind.WITHDRAW and row.amount_usdc_e6 is not None:
        return replace(row, cash_delta_usdc_e6=-_own_part(row, row.amount_usdc_e6, state))
    return row


def _own_part(row: NewRow, amount_usdc_e6: int, state: MandateState) -> int:
    """What of a withdrawal is the mandate's own; the rest was given. Before the mandate works what
    was given leaves first. Source: MandateVault._bookWithdrawal, _ownCash.
    """
    own = min(amount_usdc_e6, max(0, state.cash_usdc_e6))
    withdrawn = row.payload.get("withdrawn")
    balance = usable_usdc_e6(withdrawn.get("balance")) if isinstance(withdrawn, Mapping) else None
    if state.status is Status.SIGNED and balance is not None:
        return min(own, max(0, state.cash_usdc_e6 - balance))
    return own


def signed_rows(
    facts: MandateFacts, *, terms_digest: str, version: int, now: datetime
) -> tuple[NewRow, ...]:
    """The rows of a signature: `signed`, and on paper the deposit of the whole budget."""
    signed = NewRow(
        kind=RowKind.SIGNED,
        reported_by=ReportedBy.OWNER,
        occurred_at=now,
        base_key="signed",
        payload={"terms_digest": terms_digest, "version": version},
    )
    if facts.market_mode is MarketMode.TESTNET:
        return (signed,)
    budget = UsdcE6(facts.budget_usdc_e6)
    deposit = NewRow(
        kind=RowKind.DEPOSIT,
        reported_by=ReportedBy.OWNER,
        occurred_at=now,
        base_key="paper_deposit",
        amount_usdc_e6=budget,
        cash_delta_usdc_e6=budget,
        payload={"paper": True},
    )
    return signed, deposit


def cancelled_note(now: datetime) -> NewRow:
    """The owner drops a draft. Of signed terms it ends nothing."""
    return NewRow(
        kind=RowKind.NOTE,
        reported_by=ReportedBy.OWNER,
        occurred_at=now,
        base_key="cancelled",
        payload={"cancelled": True},
    )


def stop_row(*, by: ReportedBy, reason: str, now: datetime) -> NewRow:
    """The stop of a paper mandate, which needs no chain. Of any other it ends nothing."""
    stopped = {"by": by.value, "reason": reason, "worth_usdc": None}
    return NewRow(
        kind=RowKind.STOP,
        reported_by=by,
        occurred_at=now,
        base_key="stop",
        payload={"stopped": stopped},
    )


def unreturned_cost_usdc_e6(position: Position) -> UsdcE6:
    """What a position cost less what its sells brought, never below 0."""
    return UsdcE6(max(0, position.cost_usdc_e6 - position.proceeds_usdc_e6))


def _paper(row: NewRow, state: MandateState) -> NewRow:
    amount, cash = row.amount_usdc_e6 or 0, max(0, state.cash_usdc_e6)
    match row.kind:
        case RowKind.DEPOSIT:
            return replace(row, cash_delta_usdc_e6=amount)
        case RowKind.WITHDRAW | RowKind.PAYOUT:
            return replace(row, cash_delta_usdc_e6=-min(amount, cash))
        case RowKind.STOP:
            return _paper_stop(row, state)
        case _ if state.is_ended:
            return replace(row, cash_delta_usdc_e6=0)
        case RowKind.BUY | RowKind.MOVE | RowKind.FEE:
            return replace(row, cash_delta_usdc_e6=-min(amount, cash))
        case RowKind.SELL:
            return replace(row, cash_delta_usdc_e6=amount)
        case RowKind.RESOLVE:
            return replace(row, cash_delta_usdc_e6=_resolved(row, state))
        case _:
            return replace(row, cash_delta_usdc_e6=0)


def _paper_stop(row: NewRow, state: MandateState) -> NewRow:
    if state.is_ended:
        return replace(row, cash_delta_usdc_e6=0)
    costs = [(position, unreturned_cost_usdc_e6(position)) for position in state.positions]
    void = [
        {"id": position.id, "name": position.name, "cost_returned": usdc_text(cost)}
        for position, cost in costs
    ]
    payload = {**row.payload, "positions_void": void} if void else dict(row.payload)
    return replace(row, cash_delta_usdc_e6=sum(cost for _, cost in costs), payload=payload)


def _resolved(row: NewRow, state: MandateState) -> int:
    named = position_id(row.payload)
    position = next((one for one in state.positions if one.id == named), None)
    if position is None:
        return 0
    return max(0, position.cost_usdc_e6 + (row.amount_usdc_e6 or 0) - position.proceeds_usdc_e6)

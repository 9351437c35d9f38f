"""What a row does to cash where the log alone does not say it: paper reports, and withdrawals
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

from core.mandate.rules.lifecycle import MarketMode, Status
from core.mandate.rules.reported import position_id, usable_usdc_e6
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.rules.state import MandateFacts, MandateState, Position
from core.money import UsdcE6, usdc_text


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

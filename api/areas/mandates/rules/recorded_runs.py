"""What the rows of a mandate's ledger say for a replay (what_if.py): calls, returns and marks, with
the own cash beside each mark.

Laws
- Only rows of the chain and the keeper are read: what an agent reports is no action that a vault let
  pass.
- Cash is known at the last row, and counted back from there: the rows may be the newest ones alone.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from api.areas.mandates.rules.what_if import (
    RecordedCall,
    RecordedFact,
    RecordedMark,
    RecordedReturn,
    RecordedRun,
)
from core.mandate.rules.cash import chain_fact, spent_and_received
from core.mandate.rules.positions import usable_usdc_e6
from core.mandate.rules.rows import NewRow, ReportedBy, RowKind
from core.mandate.rules.state import MandateState


def run_of(
    rows: Sequence[NewRow], cash_usdc_e6: int, state: MandateState, since: datetime | None
) -> RecordedRun:
    """The run of the rows from `since` on (inclusive); None: of all.

    `rows`: those that count and move cash or report a cost or a mark, oldest first, up to the last
    one, after which there is this cash. `state`: the fold of the whole ledger.
    """
    cash = cash_usdc_e6 - sum(row.cash_delta_usdc_e6 for row in rows)
    costs = _costs(rows)
    facts: list[RecordedFact] = []
    for row in rows:
        cash += row.cash_delta_usdc_e6
        if since is not None and row.occurred_at < since:
            continue
        fact = _fact(row, cash, costs)
        if fact is not None:
            facts.append(fact)
    valued = frozenset(flow.target for flow in state.targets if flow.is_valued)
    return RecordedRun(facts=facts, out_before=_out_before(state, facts), valued=valued)


def nth_newest_call_at(runs: Iterable[Sequence[NewRow]], most: int) -> datetime | None:
    """When the oldest of the newest `most` calls was; None: there are no more than that."""
    times = sorted((row.occurred_at for rows in runs for row in rows if is_call(row)), reverse=True)
    return times[most - 1] if len(times) > most else None


def is_call(row: NewRow) -> bool:
    return row.kind is RowKind.MOVE and chain_fact(row, "executed") is not None


_Costs = dict[tuple[str | None, str], deque[int]]


def _costs(rows: Iterable[NewRow]) -> _Costs:
    """Payments for services by transaction and adapter, in their order."""
    found: _Costs = defaultdict(deque)
    for row in rows:
        if row.kind is RowKind.FEE and _is_payment(row):
            found[row.tx_hash, str(row.payload["adapter"])].append(row.amount_usdc_e6 or 0)
    return found


def _is_payment(row: NewRow) -> bool:
    """Whether the chain reports it: an agent's report may hold any key."""
    return row.reported_by is not ReportedBy.AGENT and "adapter" in row.payload


def _fact(row: NewRow, cash: int, costs: _Costs) -> RecordedFact | None:
    at = int(row.occurred_at.timestamp())
    if executed := chain_fact(row, "executed"):
        return _call(row, executed, at, costs)
    if unwound := chain_fact(row, "unwound"):
        return RecordedReturn(at, str(unwound.get("target")), row.cash_delta_usdc_e6)
    if proceeds := chain_fact(row, "proceeds"):
        return RecordedReturn(at, str(proceeds.get("adapter")), row.cash_delta_usdc_e6)
    mark = chain_fact(row, "mark")
    if mark is None:
        return None
    worth, out = (usable_usdc_e6(mark.get(key)) for key in ("worth_usdc", "unvalued_out_usdc"))
    return None if worth is None or out is None else RecordedMark(at, worth, out, cash)


def _call(row: NewRow, executed: Any, at: int, costs: _Costs) -> RecordedCall:
    spent, received = spent_and_received(row)
    target = str(executed.get("target"))
    paid = costs.get((row.tx_hash, target)) if costs else None
    nonce = executed.get("nonce")
    return RecordedCall(
        at=at,
        tx_hash=row.tx_hash or "",
        nonce=nonce if isinstance(nonce, int) else -1,
        target=target,
        selector=str(executed.get("selector")),
        spent_usdc_e6=spent,
        received_usdc_e6=received,
        cost_usdc_e6=min(spent, paid.popleft()) if paid else 0,
    )


def _out_before(state: MandateState, facts: Iterable[RecordedFact]) -> dict[str, int]:
    """By target what was out at cost before the facts: all that went and came, less theirs."""
    out = Counter(
        {
            flow.target: flow.spent_usdc_e6 - flow.cost_usdc_e6 - flow.received_usdc_e6
            for flow in state.targets
        }
    )
    for fact in facts:
        if isinstance(fact, RecordedCall):
            out[fact.target] -= fact.spent_usdc_e6 - fact.cost_usdc_e6 - fact.received_usdc_e6
        elif isinstance(fact, RecordedReturn):
            out[fact.target] += fact.received_usdc_e6
    return {target: amount for target, amount in out.items() if amount > 0}

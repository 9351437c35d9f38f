"""What one row says of cash: what it took out, what it brought in, and which of its facts the agent
did not write.
"""

from collections.abc import Mapping
from typing import Any

from core.mandate.rules.reported import usable_usdc_e6
from core.mandate.rules.rows import NewRow, ReportedBy

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

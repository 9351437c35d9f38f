"""Notes of a mandate's leg at the perpetuals venue (docs/perpetuals.md#notes).

| key | by |
|---|---|
| hl_leg_bound:{leg}, hl_leg_unbound:{leg} | owner |
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from core.mandate.rules.rows import NewRow, ReportedBy, RowKind

BOUND = "hl_leg_bound"
UNBOUND = "hl_leg_unbound"


def leg_note(word: str, leg_id: int, parties: Mapping[str, str], now: datetime) -> NewRow:
    """The owner bound or unbound (`word`) a leg. `parties`: owner_address, agent_address, dex."""
    payload: dict[str, Any] = {
        name: parties[name] for name in ("owner_address", "agent_address", "dex")
    }
    return NewRow(
        kind=RowKind.NOTE,
        reported_by=ReportedBy.OWNER,
        occurred_at=now,
        base_key=f"{word}:{leg_id}",
        payload={word: payload},
    )

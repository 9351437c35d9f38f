"""Notes of a mandate's leg at the perpetuals venue (docs/perpetuals.md#notes).

| key | by |
|---|---|
| hl_leg_bound:{leg}, hl_leg_unbound:{leg} | owner |
| hl_order:{seq}, hl_order_result:{seq}:{status} | keeper |
| hl_stop_line:{leg}:{number} | keeper |

`seq` counts the mandate's orders, `number` a leg's stop-line rows, both from 1.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from core.mandate.rules.rows import NewRow, ReportedBy, RowKind

BOUND = "hl_leg_bound"
UNBOUND = "hl_leg_unbound"
ORDER = "hl_order"
RESULT = "hl_order_result"
STOP_LINE = "hl_stop_line"
ORDER_WORDS = ("status", "cloid", "coin", "side", "size", "notional_usd", "by")


def leg_note(word: str, leg_id: int, parties: Mapping[str, str], now: datetime) -> NewRow:
    """The owner bound or unbound (`word`) a leg. `parties`: owner_address, agent_address, dex."""
    payload: dict[str, Any] = {
        name: parties[name] for name in ("owner_address", "agent_address", "dex")
    }
    return _note(word, f"{leg_id}", payload, ReportedBy.OWNER, now)


def order_note(
    seq: int, words: Mapping[str, str], *, reduce_only: bool, why: str | None, now: datetime
) -> NewRow:
    """An order is about to be sent. `words`: ORDER_WORDS, as the venue writes size."""
    payload: dict[str, Any] = {"seq": seq, **{name: words[name] for name in ORDER_WORDS}}
    payload |= {"reduce_only": reduce_only} | ({} if why is None else {"why": why})
    return _note(ORDER, f"{seq}", payload, ReportedBy.KEEPER, now)


def result_note(
    seq: int,
    *,
    status: str,
    cloid: str,
    avg_px: str | None,
    total_sz: str | None,
    oid: int | None,
    venue_words: str | None,
    now: datetime,
) -> NewRow:
    """What became of an order; what is not known is absent."""
    known = {"avg_px": avg_px, "total_sz": total_sz, "oid": oid, "venue_words": venue_words}
    payload: dict[str, Any] = {"seq": seq, "status": status, "cloid": cloid}
    payload |= {name: value for name, value in known.items() if value is not None}
    return _note(RESULT, f"{seq}:{status}", payload, ReportedBy.KEEPER, now)


def stop_line_note(
    leg_id: int,
    number: int,
    *,
    status: str,
    transient: bool,
    key_lost: bool,
    why: str | None,
    now: datetime,
) -> NewRow:
    """How far the closing of a leg is. `transient`, `key_lost` are written where they are true."""
    payload: dict[str, Any] = {"status": status}
    payload |= {"transient": True} if transient else {}
    payload |= {"key_lost": True} if key_lost else {}
    payload |= {} if why is None else {"why": why}
    return _note(STOP_LINE, f"{leg_id}:{number}", payload, ReportedBy.KEEPER, now)


def _note(
    word: str, fact: str, payload: Mapping[str, Any], by: ReportedBy, now: datetime
) -> NewRow:
    return NewRow(
        kind=RowKind.NOTE,
        reported_by=by,
        occurred_at=now,
        base_key=f"{word}:{fact}",
        payload={word: dict(payload)},
    )

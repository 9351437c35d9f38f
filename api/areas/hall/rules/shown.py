"""An agent's record as it is kept and shown: amounts as text of six decimals."""

from typing import Any, Final

from api.areas.hall.rules.standing import AgentRecord, Window
from api.areas.hall.rules.sums import WINDOWS
from core.money import usdc_text

FIGURES: Final = ("net_usdc", "twr_bps", "max_drawdown_bps", "trades")
# What lists may run by: each figure of each window, in this order (docs/hall.md).
SORTS: Final = tuple(f"{figure}.{window}" for window in WINDOWS for figure in FIGURES)


def record_to_json(record: AgentRecord) -> dict[str, Any]:
    """The part of a Hall row that comes from ledgers. While facts are held back the windows and what
    delegators made are null.
    """
    known, made, reported = record.is_readable, record.delegators, record.self_reported
    return {
        "windows": {
            name: _window(window) if known else None for name, window in record.windows.items()
        },
        "delegators": {
            "total": made.total,
            "working": made.working,
            "net_7d_usdc": usdc_text(made.net_7d_usdc_e6) if known else None,
            "net_30d_usdc": usdc_text(made.net_30d_usdc_e6) if known else None,
        },
        "mandates_total": record.mandates_total,
        "floor_stops": record.floor_stops,
        "self_stops": record.self_stops,
        "violations": record.violations,
        "unranked_reason": record.unranked_reason,
        "self_reported": {
            "trades_total": reported.trades_total,
            "net_30d_usdc": usdc_text(reported.net_30d_usdc_e6),
            "net_since_usdc": usdc_text(reported.net_since_usdc_e6),
            "fees_usdc": usdc_text(reported.fees_usdc_e6),
        },
    }


def sorts_of(record: AgentRecord) -> list[int | None]:
    """The figures of SORTS; the highest comes first, so that a fall counts below nothing."""
    if not record.is_readable:
        return [None] * len(SORTS)
    return [figure for name in WINDOWS for figure in _figures(record.windows[name])]


def _figures(window: Window) -> list[int | None]:
    fall = window.max_drawdown_bps
    return [window.net_usdc_e6, window.twr_bps, None if fall is None else -fall, window.trades]


def _window(window: Window) -> dict[str, Any]:
    return {
        "net_usdc": usdc_text(window.net_usdc_e6),
        "twr_bps": window.twr_bps,
        "max_drawdown_bps": window.max_drawdown_bps,
        "trades": window.trades,
    }

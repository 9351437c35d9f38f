"""The warning statistics as a day's row keeps them, and as answers show them.

{"headline": {days, units, hits, ..., "by_kind": [{kind, units, hits}]}, "second": {...}}
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from core.market.rules.notices import OutcomeKind
from core.market.rules.wci import KindFigure, WciFigure, WciReading


def to_json(reading: WciReading) -> dict[str, Any]:
    return {"headline": asdict(reading.headline), "second": asdict(reading.second)}


def window_of(figures: Mapping[str, Any], name: str) -> WciFigure:
    """`name`: headline or second. Errors: KeyError, TypeError for what `to_json` did not write."""
    written = dict(figures[name])
    kinds = tuple(
        KindFigure(OutcomeKind(one["kind"]), one["units"], one["hits"])
        for one in written.pop("by_kind")
    )
    return WciFigure(by_kind=kinds, **written)

"""The warning statistics as a day's versions keep them, and as answers show them.

{"B3.1": {"definition": "...", "headline": {days, units, hits, ..., "by_kind": [{kind, units, hits}]}, "second": {...}}}
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from core.market.rules.notices import OutcomeKind
from core.market.rules.wci import VERSION, KindFigure, WciFigure, WciReading

SUBJECT: Final = "warning_statistics"  # of published days


def to_json(readings: Sequence[WciReading]) -> dict[str, Any]:
    """By definition."""
    return {
        one.version: {
            "definition": one.text,
            "headline": asdict(one.headline),
            "second": asdict(one.second),
        }
        for one in readings
    }


def has_rate(figures: Mapping[str, Any]) -> bool:
    """Whether the headline is known: that of the definition that is in force."""
    return VERSION in figures and figures[VERSION]["headline"]["units"] > 0


def window_of(reading: Mapping[str, Any], name: str) -> WciFigure:
    """Of one definition; `name`: headline or second. Errors: KeyError, TypeError for what `to_json`
    did not write.
    """
    written = dict(reading[name])
    kinds = tuple(
        KindFigure(OutcomeKind(one["kind"]), one["units"], one["hits"])
        for one in written.pop("by_kind")
    )
    return WciFigure(by_kind=kinds, **written)

"""The warning statistics B3 and B3.1 (docs/warning-statistics.md).

    call                       the pair's first tag or caution       outcome
     |------ at least 24 h -----------------------------------------------|
     issued_at <= at - 24 h          issued_at < cutoff (B3.1)

Laws
- The unit is (exchange, asset): however many rows speak of it, it counts once.
- Of outcomes of one kind of a unit the earliest is meant, and it alone.
- A window is [now - days, now), where now is the moment as of which a day is published.
- Recall is shown beside the precision of the same days, and beside how many warnings were issued.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from core.market.rules.notices import OutcomeKind

SUBJECT: Final = "warning_statistics"  # of published days
VERSION: Final = "B3.1"
RULES: Final = "wci_v1"  # of how the definitions are computed: another one corrects a published day
DEFINITION_SINCE: Final = date(2026, 11, 26)
B3_TEXT: Final = (
    "B3. Unit: a spot token at one exchange. Outcome: the exchange declares a special-treatment tag, "
    "a delisting notice or a suspension notice of it within the window; of several of one kind the "
    "earliest counts. Not counted: routine wallet or network maintenance, margin, futures and loan "
    "delistings, removals of a quote pair whose base still trades, tokenised equities, stablecoins, "
    "duplicate rows. Hit: a warning of a predictive type, other than cross_exchange_flag, was issued "
    "for the same token at the same exchange at least 24 hours before the outcome. Rate: hits over "
    "units."
)
B31_TEXT: Final = (
    "B3.1. As B3, and: a special-treatment tag counts only when genuinely new (seen absent within 24 "
    "hours before, not seen within 30 days before, not in the first scan of the exchange); a warning "
    "issued at or after the token's first special-treatment tag or caution designation at the same "
    "exchange never counts; a cross_exchange_flag counts as a warning. xflag_credit: units that it "
    "alone predicted."
)
DAY_US: Final = 86_400_000_000
LEAD_US: Final = DAY_US
HEADLINE_DAYS: Final = 90
SECOND_DAYS: Final = 60
NEVER_US: Final = np.iinfo(np.int64).max

KINDS: Final = tuple(OutcomeKind)
"""Outcome columns hold places in it."""
_HEADLINE: Final = tuple(
    KINDS.index(kind) for kind in (OutcomeKind.ST_TAG, OutcomeKind.DELIST, OutcomeKind.SUSPEND)
)
_ST_TAG, _CAUTION = KINDS.index(OutcomeKind.ST_TAG), KINDS.index(OutcomeKind.CAUTION)


@dataclass(frozen=True, slots=True)
class CallColumns:
    """Warnings of predictive types, in any order. unit: any number that identifies one (exchange,
    asset). issued_us: microseconds since 1970, UTC. is_xflag: cross_exchange_flag.
    """

    unit: npt.NDArray[np.int64]
    issued_us: npt.NDArray[np.int64]
    is_xflag: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class OutcomeColumns:
    """What notices.read found, in any order, with its duplicates. kind: a place in KINDS.
    is_genuine: of a tag, whether it was new; of other kinds true.
    """

    unit: npt.NDArray[np.int64]
    kind: npt.NDArray[np.int8]
    at_us: npt.NDArray[np.int64]
    is_genuine: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class KindFigure:
    kind: OutcomeKind
    units: int
    hits: int


@dataclass(frozen=True, slots=True)
class WciFigure:
    """One window. rate, precision: None without units, which is not 0.

    warnings_issued: rows in the window. warned_units: with a call in the window that could count, at
    least 24 hours old and before the unit's last outcome; warned_hits: those of them with an outcome
    24 hours after it or later.
    xflag_credit: units that cross_exchange_flag alone predicted; xflag_any: that it predicted too.
    """

    days: int
    units: int
    hits: int
    rate: float | None
    by_kind: tuple[KindFigure, ...]
    warnings_issued: int
    warned_units: int
    warned_hits: int
    precision: float | None
    xflag_credit: int
    xflag_any: int


@dataclass(frozen=True, slots=True)
class WciReading:
    version: str
    text: str
    headline: WciFigure
    second: WciFigure


def b3(calls: CallColumns, outcomes: OutcomeColumns, now_us: int) -> WciReading:
    counted = ~calls.is_xflag
    kept = CallColumns(calls.unit[counted], calls.issued_us[counted], calls.is_xflag[counted])
    is_any = np.ones(len(outcomes.unit), dtype=np.bool_)
    loose = OutcomeColumns(outcomes.unit, outcomes.kind, outcomes.at_us, is_any)
    return _reading("B3", B3_TEXT, kept, loose, now_us, has_cutoff=False)


def b31(calls: CallColumns, outcomes: OutcomeColumns, now_us: int) -> WciReading:
    return _reading(VERSION, B31_TEXT, calls, outcomes, now_us, has_cutoff=True)


def _reading(
    version: str,
    text: str,
    calls: CallColumns,
    outcomes: OutcomeColumns,
    now_us: int,
    *,
    has_cutoff: bool,
) -> WciReading:
    table = _table(calls, outcomes, now_us, has_cutoff=has_cutoff)
    return WciReading(
        version, text, _figure(table, HEADLINE_DAYS, now_us), _figure(table, SECOND_DAYS, now_us)
    )


@dataclass(frozen=True, slots=True)
class _Table:
    """Units are numbered 0 to `units` - 1. Outcomes: the earliest per unit and kind."""

    units: int
    call_unit: npt.NDArray[np.int64]
    call_us: npt.NDArray[np.int64]
    call_counts: npt.NDArray[np.bool_]
    unit: npt.NDArray[np.int64]
    kind: npt.NDArray[np.int64]
    at_us: npt.NDArray[np.int64]
    by_other: npt.NDArray[np.bool_]
    by_xflag: npt.NDArray[np.bool_]


def _table(
    calls: CallColumns, outcomes: OutcomeColumns, now_us: int, *, has_cutoff: bool
) -> _Table:
    is_past, is_known = calls.issued_us < now_us, outcomes.at_us < now_us
    names, number = np.unique(
        np.concatenate((calls.unit[is_past], outcomes.unit[is_known])), return_inverse=True
    )
    count = int(is_past.sum())
    call_unit, outcome_unit = number[:count].astype(np.int64), number[count:].astype(np.int64)
    issued, is_xflag = calls.issued_us[is_past], calls.is_xflag[is_past]
    kind, at = outcomes.kind[is_known].astype(np.int64), outcomes.at_us[is_known]
    cutoff = np.full(len(names), NEVER_US)
    if has_cutoff:
        ends = (kind == _ST_TAG) | (kind == _CAUTION)
        np.minimum.at(cutoff, outcome_unit[ends], at[ends])
    first_other = np.full(len(names), NEVER_US)
    first_xflag = np.full(len(names), NEVER_US)
    counts = issued < cutoff[call_unit]
    for first, of_kind in ((first_other, ~is_xflag), (first_xflag, is_xflag)):
        chosen = counts & of_kind
        np.minimum.at(first, call_unit[chosen], issued[chosen])
    kept = outcomes.is_genuine[is_known] & (kind != _CAUTION)
    unit, kind, at = _earliest(outcome_unit[kept], kind[kept], at[kept])
    return _Table(
        units=len(names),
        call_unit=call_unit,
        call_us=issued,
        call_counts=counts,
        unit=unit,
        kind=kind,
        at_us=at,
        by_other=first_other[unit] <= at - LEAD_US,
        by_xflag=first_xflag[unit] <= at - LEAD_US,
    )


def _earliest(
    unit: npt.NDArray[np.int64], kind: npt.NDArray[np.int64], at: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    order = np.lexsort((at, kind, unit))
    unit, kind, at = unit[order], kind[order], at[order]
    is_first = np.ones(len(unit), dtype=np.bool_)
    is_first[1:] = (unit[1:] != unit[:-1]) | (kind[1:] != kind[:-1])
    return unit[is_first], kind[is_first], at[is_first]


def _figure(table: _Table, days: int, now_us: int) -> WciFigure:
    since = now_us - days * DAY_US
    inside = table.at_us >= since
    is_hit = table.by_other | table.by_xflag
    by_kind = tuple(
        KindFigure(
            kind,
            int((inside & (table.kind == place)).sum()),
            int((inside & (table.kind == place) & is_hit).sum()),
        )
        for place, kind in enumerate(KINDS)
        if place != _CAUTION
    )
    headline = np.isin(table.kind, _HEADLINE)
    counted = inside & headline
    with_outcome, hit, other, xflag = (
        _units(table, counted & of) for of in (True, is_hit, table.by_other, table.by_xflag)
    )
    units, hits = int(with_outcome.sum()), int(hit.sum())
    warned, warned_hits = _warned(table, headline, since, now_us)
    return WciFigure(
        days=days,
        units=units,
        hits=hits,
        rate=hits / units if units else None,
        by_kind=by_kind,
        warnings_issued=int((table.call_us >= since).sum()),
        warned_units=warned,
        warned_hits=warned_hits,
        precision=warned_hits / warned if warned else None,
        xflag_credit=int((xflag & ~other).sum()),
        xflag_any=int(xflag.sum()),
    )


def _units(table: _Table, rows: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    found = np.zeros(table.units, dtype=np.bool_)
    found[table.unit[rows]] = True
    return found


def _warned(
    table: _Table, headline: npt.NDArray[np.bool_], since: int, now_us: int
) -> tuple[int, int]:
    """Units whose first call of the window could count, and those with an outcome after it. What is
    issued at or after a unit's last outcome foretells nothing, and is no false alarm.
    """
    last = np.full(table.units, -1)
    np.maximum.at(last, table.unit[headline], table.at_us[headline])
    last[last < 0] = NEVER_US
    chosen = table.call_counts & (table.call_us < last[table.call_unit])
    chosen &= (table.call_us >= since) & (table.call_us <= now_us - LEAD_US)
    first = np.full(table.units, NEVER_US)
    np.minimum.at(first, table.call_unit[chosen], table.call_us[chosen])
    rows = headline & (first[table.unit] <= table.at_us - LEAD_US)
    return int((first < NEVER_US).sum()), int(_units(table, rows).sum())


def to_json(readings: Sequence[WciReading]) -> dict[str, Any]:
    """As a day's versions keep them, by definition:

    {"B3.1": {"definition": "...", "headline": {days, units, hits, ..., "by_kind": [{kind, units, hits}]}, ...}}
    """
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

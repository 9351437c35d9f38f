"""What counts as foreseen: hour by hour at every boundary, and against plain loops."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.market.rules.notices import OutcomeKind
from core.market.rules.wci import (
    DAY_US,
    KINDS,
    CallColumns,
    OutcomeColumns,
    WciFigure,
    b3,
    b31,
)
from tests.each import each
from tests.unit.core.mandate.rules.worked import table

HOUR_US = 3_600_000_000
NOW = 1_000 * DAY_US
ST, DELIST, SUSPEND, DELISTED, CAUTION = OutcomeKind

type_of = {kind.value: kind for kind in OutcomeKind}

Call = tuple[int, int, bool]  # unit, microseconds, is cross_exchange_flag
Told = tuple[int, OutcomeKind, int, bool]  # unit, kind, microseconds, is genuine


def calls_of(rows: list[Call]) -> CallColumns:
    return CallColumns(
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([row[1] for row in rows], dtype=np.int64),
        np.array([row[2] for row in rows], dtype=np.bool_),
    )


def outcomes_of(rows: list[Told]) -> OutcomeColumns:
    return OutcomeColumns(
        np.array([row[0] for row in rows], dtype=np.int64),
        np.array([KINDS.index(row[1]) for row in rows], dtype=np.int8),
        np.array([row[2] for row in rows], dtype=np.int64),
        np.array([row[3] for row in rows], dtype=np.bool_),
    )


def headline(calls: list[Call], told: list[Told], *, is_b3: bool = False) -> WciFigure:
    reading = (b3 if is_b3 else b31)(calls_of(calls), outcomes_of(told), NOW)
    return reading.headline


AT = NOW - 10 * DAY_US
TAG: Told = (1, ST, AT, True)


def before(hours: float, *, unit: int = 1, is_xflag: bool = False) -> Call:
    return (unit, AT - int(hours * HOUR_US), is_xflag)


@each(
    ("call", "hits"),
    [
        (before(24), 1),
        ((1, AT - DAY_US + 1, False), 0),
        (before(23), 0),
        (before(0), 0),
        (before(-1), 0),
        (before(24 * 300), 1),
        (before(48, unit=2), 0),
    ],
)
def test_a_call__leads_by_24_hours_or_does_not_count(call: Call, hits: int) -> None:
    for is_b3 in (False, True):
        found = headline([call], [TAG], is_b3=is_b3)
        assert (found.units, found.hits) == (1, hits)


@each(("at", "units"), [(NOW - 90 * DAY_US, 1), (NOW - 90 * DAY_US - 1, 0), (NOW - 1, 1), (NOW, 0)])
def test_a_window__has_its_start_and_not_its_end(at: int, units: int) -> None:
    assert headline([], [(1, DELIST, at, True)]).units == units


def test_no_unit__has_no_rate_and_no_precision() -> None:
    found = headline([], [])

    assert (found.units, found.rate, found.precision) == (0, None, None)


def test_precision__is_of_units_that_were_warned_in_time() -> None:
    calls = [
        before(48),
        before(72),
        before(48, unit=2),
        before(-24, unit=1),
        (3, NOW - DAY_US, False),
        (4, NOW - DAY_US + 1, False),
        (5, NOW - 90 * DAY_US - 1, False),
    ]
    found = headline(calls, [TAG])

    assert (found.warned_units, found.warned_hits, found.precision) == (3, 1, 1 / 3)
    assert found.warnings_issued == 6


@each("row", table("warning-statistics.md", "boundaries"), ids=lambda r: r[0])
def test_the_worked_boundaries__are_what_the_page_says(row: list[str]) -> None:
    """Hours before now; a call is `t-90` or, of a cross flag, `x-90`."""
    _, calls_text, told_text, b3_text, b31_text = row
    calls: list[Call] = [
        (1, NOW + int(one[1:]) * HOUR_US, one[0] == "x") for one in calls_text.split() if one != "-"
    ]
    told: list[Told] = []
    for one in told_text.split():
        name, _, hours = one.rpartition("-")
        is_old = name.startswith("old:")
        told.append((1, type_of[name.removeprefix("old:")], NOW - int(hours) * HOUR_US, not is_old))

    for text, is_b3 in ((b3_text, True), (b31_text, False)):
        found = headline(calls, told, is_b3=is_b3)
        assert f"{found.hits} of {found.units}" == text


# plain loops


def slow(calls: list[Call], told: list[Told], days: int) -> dict[str, object]:
    """B3.1 as its text says, a loop for each sentence."""
    calls = [call for call in calls if call[1] < NOW]
    told = [one for one in told if one[2] < NOW]
    since = NOW - days * DAY_US
    earliest: dict[tuple[int, OutcomeKind], int] = {}
    for unit, kind, at, genuine in told:
        if genuine and kind is not CAUTION:
            earliest[unit, kind] = min(at, earliest.get((unit, kind), at))

    def cutoff(unit: int) -> float:
        return min(
            (one[2] for one in told if one[0] == unit and one[1] in (ST, CAUTION)), default=1e30
        )

    def leads(unit: int, at: int) -> list[bool]:
        return [
            is_xflag
            for of, issued, is_xflag in calls
            if of == unit and issued <= at - DAY_US and issued < cutoff(unit)
        ]

    units: dict[int, list[list[bool]]] = {}
    by_kind = {kind: [0, 0] for kind in KINDS if kind is not CAUTION}
    for (unit, kind), at in earliest.items():
        if at >= since:
            found = leads(unit, at)
            by_kind[kind][0] += 1
            by_kind[kind][1] += bool(found)
            if kind is not DELISTED:
                units.setdefault(unit, []).append(found)
    warned = warned_hits = 0
    for unit in {call[0] for call in calls}:
        ends = [at for (of, kind), at in earliest.items() if of == unit and kind is not DELISTED]
        mine = [
            issued
            for of, issued, _ in calls
            if of == unit
            and since <= issued <= NOW - DAY_US
            and issued < cutoff(unit)
            and (not ends or issued < max(ends))
        ]
        if mine:
            warned += 1
            warned_hits += any(min(mine) <= at - DAY_US for at in ends)
    return {
        "units": len(units),
        "hits": sum(any(map(bool, found)) for found in units.values()),
        "xflag_any": sum(any(any(one) for one in found) for found in units.values()),
        "xflag_credit": sum(
            any(any(one) for one in found) and not any(not all(one) for one in found)
            for found in units.values()
        ),
        "warnings_issued": sum(call[1] >= since for call in calls),
        "warned_units": warned,
        "warned_hits": warned_hits,
        "by_kind": [tuple(pair) for pair in by_kind.values()],
    }


times = st.integers(-5, 130 * 4).map(lambda quarter: NOW - quarter * DAY_US // 4)
some_calls = st.lists(st.tuples(st.integers(1, 4), times, st.booleans()), max_size=25)
some_outcomes = st.lists(
    st.tuples(st.integers(1, 4), st.sampled_from(OutcomeKind), times, st.booleans()), max_size=15
)


@given(some_calls, some_outcomes)
def test_the_figures__are_what_the_text_says(calls: list[Call], told: list[Told]) -> None:
    told = [(unit, kind, at, genuine or kind is not ST) for unit, kind, at, genuine in told]
    reading = b31(calls_of(calls), outcomes_of(told), NOW)

    for figure, days in ((reading.headline, 90), (reading.second, 60)):
        found = {name: getattr(figure, name) for name in WciFigure.__slots__}
        found["by_kind"] = [(one.units, one.hits) for one in figure.by_kind]
        expected = slow(calls, told, days)
        assert {name: found[name] for name in expected} == expected


@given(some_calls, some_outcomes)
def test_rates__are_hits_over_units(calls: list[Call], told: list[Told]) -> None:
    for figure in (headline(calls, told), headline(calls, told, is_b3=True)):
        assert figure.rate == (figure.hits / figure.units if figure.units else None)
        assert 0 <= figure.hits <= figure.units
        assert 0 <= figure.warned_hits <= figure.warned_units <= figure.warnings_issued
        assert figure.xflag_credit <= figure.xflag_any <= figure.hits


@given(some_calls, some_outcomes)
def test_one_more_call__never_lowers_the_rate(calls: list[Call], told: list[Told]) -> None:
    """Which is why the rate alone would be worth nothing, and precision stands beside it."""
    fewer = headline(calls[1:], told)
    more = headline(calls, told)

    assert more.units == fewer.units
    assert more.hits >= fewer.hits

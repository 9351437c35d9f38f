"""The score, its letter and gates, and how a letter moves."""

import math
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.market.rules.grade import (
    LETTERS,
    GradeColumns,
    GradeGate,
    Letter,
    ScoreColumns,
    StateColumns,
    grade_many,
    step_many,
)
from tests.each import each
from tests.unit.core.mandate.rules.worked import table


@dataclass(frozen=True)
class GradeInputs:
    """A row of GradeColumns; None: unknown."""

    depth_usd: float
    spread_bps: float
    slip_10k_bps: float | None
    volume_24h_usd: float | None
    volume_30d_mean_usd: float | None
    uptime: float
    hours: float
    coverage: float
    is_truncated: bool


GOOD = GradeInputs(
    depth_usd=10e6,
    spread_bps=0.1,
    slip_10k_bps=1.0,
    volume_24h_usd=1e9,
    volume_30d_mean_usd=1e9,
    uptime=1.0,
    hours=24.0,
    coverage=1.0,
    is_truncated=False,
)
NONE = StateColumns(np.array([-1], dtype=np.int8), np.array([0], dtype=np.int8))


def columns(rows: list[GradeInputs]) -> GradeColumns:
    def column(name: str) -> Any:
        values = [getattr(row, name) for row in rows]
        return np.array([math.nan if value is None else value for value in values], dtype=float)

    numbers = {name: column(name) for name in GradeColumns.__slots__ if name != "is_truncated"}
    return GradeColumns(**numbers, is_truncated=np.array([row.is_truncated for row in rows]))


def grade(row: GradeInputs) -> SimpleNamespace | None:
    """One listing by itself; None: no grade."""
    found = grade_many(columns([row]))
    if found.letter[0] < 0:
        return None
    return SimpleNamespace(
        score=float(found.score[0]),
        letter=LETTERS[found.letter[0]],
        parts=[None if math.isnan(part) else part for part in found.parts[0].tolist()],
        gates=found.gates_at(0),
        is_provisional=bool(found.is_provisional[0]),
    )


def letter_of(score: float) -> Letter:
    """By the cuts of the page."""
    cuts = ((80, Letter.A), (65, Letter.B), (50, Letter.C), (35, Letter.D))
    return next((letter for cut, letter in cuts if score >= cut), Letter.F)


def with_one(field: str, value: float) -> GradeInputs:
    changed: dict[str, Any] = {field: value}
    return replace(GOOD, **changed)


def number(text: str) -> float:
    return float(text.replace(",", ""))


def scored(score: float | None, *, is_gated: bool = False) -> ScoreColumns:
    """A window of one listing; None: it has no grade."""
    letter = -1 if score is None else LETTERS.index(letter_of(score))
    if is_gated:
        letter = max(letter, LETTERS.index(Letter.D))
    return ScoreColumns(
        score=np.array([math.nan if score is None else score]),
        letter=np.array([letter], dtype=np.int8),
        parts=np.ones((1, 5)),
        gates=np.array([[is_gated, False, False, False]]),
        is_provisional=np.array([False]),
    )


def shown(letter: Letter | None) -> StateColumns:
    if letter is None:
        return NONE
    return StateColumns(np.array([LETTERS.index(letter)], dtype=np.int8), NONE.streak)


def letter_in(state: StateColumns) -> Letter | None:
    return None if state.letter[0] < 0 else LETTERS[state.letter[0]]


def run(*scores: float | None, start: Letter | None = None) -> list[Letter | None]:
    state, seen = shown(start), []
    for score in scores:
        state = step_many(state, scored(score))
        seen.append(letter_in(state))
    return seen


@each("row", table("market.md", "grades"), ids=lambda row: row[-1])
def test_the_worked_grades__score_what_the_page_says(row: list[str]) -> None:
    depth, spread, slip, volume, score, letter = row
    found = grade(
        replace(
            GOOD,
            depth_usd=number(depth),
            spread_bps=number(spread),
            slip_10k_bps=number(slip),
            volume_24h_usd=number(volume),
            volume_30d_mean_usd=number(volume),
        )
    )

    assert found is not None
    assert (f"{found.score:.2f}", found.letter) == (score, letter)


@each(
    ("score", "letter"),
    [
        (80.0, "A"),
        (79.999, "B"),
        (65.0, "B"),
        (64.999, "C"),
        (50.0, "C"),
        (49.999, "D"),
        (35.0, "D"),
        (34.999, "F"),
    ],
)
def test_a_cut__belongs_to_the_better_letter(score: float, letter: str) -> None:
    assert run(score) == [Letter(letter)]


@each(
    ("field", "open_at", "shut_at", "gate"),
    [
        ("spread_bps", 500.0, 500.01, GradeGate.WIDE_SPREAD),
        ("depth_usd", 1_000.0, 999.99, GradeGate.THIN_DEPTH),
        ("uptime", 0.8, 0.799, GradeGate.LOW_UPTIME),
        ("volume_30d_mean_usd", 50_000.0, 49_999.0, GradeGate.LOW_VOLUME_30D),
    ],
)
def test_a_gate__shuts_past_its_bound(
    field: str, open_at: float, shut_at: float, gate: GradeGate
) -> None:
    free, held = (grade(with_one(field, value)) for value in (open_at, shut_at))

    assert free is not None
    assert held is not None
    assert free.gates == ()
    assert held.gates == (gate,)
    assert held.letter in (Letter.D, Letter.F)
    assert held.score == pytest.approx(free.score, abs=0.2)


@each(
    ("hours", "coverage", "is_graded", "is_provisional"),
    [
        (5.99, 1.0, False, None),
        (6.0, 1.0, True, True),
        (23.99, 1.0, True, True),
        (24.0, 0.49, False, None),
        (24.0, 0.5, True, True),
        (24.0, 0.79, True, True),
        (24.0, 0.8, True, False),
    ],
)
def test_too_little_seen__is_no_grade_and_little_is_provisional(
    hours: float, coverage: float, is_graded: bool, is_provisional: bool | None
) -> None:
    found = grade(replace(GOOD, hours=hours, coverage=coverage))

    assert (found is not None) is is_graded
    assert (found and found.is_provisional) is is_provisional


def test_a_cut_off_book__leaves_slippage_out_and_opens_no_gate_of_depth() -> None:
    found = grade(replace(GOOD, slip_10k_bps=None, depth_usd=900.0, is_truncated=True))

    assert found is not None
    assert found.parts[2] is None
    assert found.gates == ()
    assert found.is_provisional
    assert found.score == pytest.approx(100 * (0.2 + 0.1 + 0.1) / 0.8)


def test_an_unknown_volume__is_left_out_and_never_counted_as_zero() -> None:
    found = grade(replace(GOOD, volume_24h_usd=None, volume_30d_mean_usd=None))

    assert found is not None
    assert found.score == pytest.approx(100.0)
    assert found.is_provisional
    assert found.gates == ()


@each("row", table("market.md", "hysteresis"), ids=lambda row: row[0])
def test_the_worked_letters__move_as_the_page_says(row: list[str]) -> None:
    start, scores, letters = row
    given_scores = [None if one == "none" else float(one) for one in scores.split()]
    expected = [None if one == "none" else Letter(one) for one in letters.split()]

    assert run(*given_scores, start=Letter(start)) == expected


def test_a_gate__caps_at_once_and_is_left_by_the_margin() -> None:
    shut = step_many(shown(Letter.A), scored(90.0, is_gated=True))

    assert letter_in(shut) is Letter.D
    assert letter_in(step_many(shut, scored(90.0))) is Letter.A


@given(st.lists(st.floats(0, 100), min_size=4, max_size=40))
def test_a_letter__is_never_further_from_its_score_than_two_windows_allow(
    scores: list[float],
) -> None:
    history = run(*scores)

    for end in range(3, len(scores) + 1):
        last = {letter_of(score) for score in scores[end - 3 : end]}
        if len(last) == 1:
            assert history[end - 1] == next(iter(last))


@given(st.floats(0, 100), st.sampled_from(Letter))
def test_one_step__never_passes_the_windows_own_letter(score: float, was: Letter) -> None:
    found = letter_in(step_many(shown(was), scored(score)))
    assert found is not None
    places = [LETTERS.index(one) for one in (was, found, letter_of(score))]

    assert min(places[0], places[2]) <= places[1] <= max(places[0], places[2])


maybe = st.one_of(st.none(), st.floats(0, 1e10))
inputs = st.builds(
    GradeInputs,
    depth_usd=st.floats(0, 1e9),
    spread_bps=st.floats(0, 5_000),
    slip_10k_bps=st.one_of(st.none(), st.floats(0, 5_000)),
    volume_24h_usd=maybe,
    volume_30d_mean_usd=maybe,
    uptime=st.floats(0, 1),
    hours=st.floats(0, 24),
    coverage=st.floats(0, 1),
    is_truncated=st.booleans(),
)


def slow_score(row: GradeInputs) -> float | None:
    """The formula of the page, letter by letter, in plain Python."""
    if row.hours < 6 or row.coverage < 0.5:
        return None

    def clip(value: float) -> float:
        return 0.0 if value < 0 else min(value, 1.0)

    def log10(value: float) -> float:
        return math.log(value, 10) if value > 0 else -1e9

    total = 0.40 * clip(log10(row.depth_usd / 1_000) / 3)
    total += 0.20 * clip(1 - log10(max(row.spread_bps, 2) / 2) / log10(250))
    total += 0.10 * row.uptime
    weight = 0.70
    if row.slip_10k_bps is not None or not row.is_truncated:
        slip = 1_000 if row.slip_10k_bps is None else row.slip_10k_bps
        total += 0.20 * clip(1 - log10(max(slip, 5) / 5) / log10(200))
        weight += 0.20
    if row.volume_24h_usd is not None:
        total += 0.10 * clip(log10(row.volume_24h_usd / 10_000) / 4)
        weight += 0.10
    return 100 * total / weight


@given(inputs)
def test_a_score__is_what_the_formula_says(row: GradeInputs) -> None:
    found, expected = grade(row), slow_score(row)

    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found.score == pytest.approx(expected, abs=1e-6)
        assert 0 <= found.score <= 100 + 1e-9


@given(st.lists(inputs, min_size=2, max_size=8))
def test_a_listing__is_graded_the_same_alone_and_among_others(rows: list[GradeInputs]) -> None:
    found = grade_many(columns(rows))

    for place, row in enumerate(rows):
        one = grade(row)
        if one is None:
            assert found.letter[place] == -1
            assert math.isnan(found.score[place])
        else:
            assert (LETTERS[found.letter[place]], found.score[place]) == (one.letter, one.score)
            assert found.gates_at(place) == one.gates


windows = st.tuples(st.one_of(st.none(), st.integers(0, 100)), st.booleans())


@given(st.lists(st.tuples(windows, windows), min_size=3, max_size=12))
def test_a_letter__moves_the_same_alone_and_among_others(
    drawn: list[tuple[tuple[int | None, bool], tuple[int | None, bool]]],
) -> None:
    """Of two listings side by side."""
    alone = [NONE, NONE]
    both = StateColumns(np.repeat(NONE.letter, 2), np.repeat(NONE.streak, 2))
    for window in drawn:
        now = [scored(score, is_gated=shut) for score, shut in window]
        alone = [step_many(state, one) for state, one in zip(alone, now, strict=True)]
        both = step_many(
            both,
            ScoreColumns(
                *(
                    np.concatenate([getattr(one, name) for one in now])
                    for name in ScoreColumns.__slots__
                )
            ),
        )
        assert both.letter.tolist() == [int(one.letter[0]) for one in alone]
        assert both.streak.tolist() == [int(one.streak[0]) for one in alone]

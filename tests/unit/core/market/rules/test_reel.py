"""Rows of the reel, and episodes."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from core.market.rules.arbitrage import ArbPair
from core.market.rules.reel import (
    GapEpisode,
    GapObservation,
    is_told,
    step_episode,
)
from core.market.rules.transfer import GateState
from tests.each import each

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PAIR = ArbPair(
    "a",
    "b",
    100.0,
    101.0,
    100.0,
    (1.0, None, None),
    GateState.OPEN,
    ("eip155:1",),
    is_transferable=True,
    is_actionable=True,
    suspicions=(),
    fx_sources=("par", "par"),
    taker_fees_bps=(10.0, 40.0),
    withdraw_chain="eip155:1",
    withdraw_fee=0.5,
    age_s=0,
    apart_s=0,
)


def gaps(**by_minute: float) -> list[GapObservation]:
    return [
        GapObservation(NOW + timedelta(minutes=float(minute[1:])), gap, is_actionable=gap > 35)
        for minute, gap in by_minute.items()
    ]


def episodes(seen: Iterable[GapObservation]) -> tuple[GapEpisode, ...]:
    """All of one pair's, step by step."""
    found, going = list[GapEpisode](), None
    for one in seen:
        step = step_episode(going, one)
        going = step.going
        found += [] if step.ended is None else [step.ended]
    return (*found, *([] if going is None else [going]))


def minute(count: float) -> datetime:
    return NOW + timedelta(minutes=count)


def test_the_first_gap__is_told() -> None:
    assert is_told(None, True, PAIR)


@each(("gross_bps", "told"), [(100.0, False), (100.99, False), (101.0, True), (99.0, True)])
def test_a_change_of_one_basis_point__is_told(gross_bps: float, told: bool) -> None:
    assert is_told(100.0, True, replace(PAIR, gross_bps=gross_bps)) is told


def test_what_stops_being_actionable__is_told() -> None:
    assert is_told(100.0, True, replace(PAIR, is_actionable=False))


def test_the_worked_episodes__are_two() -> None:
    found = episodes(gaps(m0=30, m1=20, m4=40, m6=10, m11=26))

    assert found == (
        GapEpisode(minute(0), minute(4), 40, was_actionable=True, ended_at=minute(9)),
        GapEpisode(minute(11), minute(11), 26, was_actionable=False, ended_at=None),
    )


def test_25_basis_points__are_no_episode() -> None:
    assert episodes(gaps(m0=25.0)) == ()
    assert len(episodes(gaps(m0=25.01))) == 1


def test_five_minutes_without__end_it() -> None:
    assert len(episodes(gaps(m0=30, m4=30))) == 1
    assert len(episodes(gaps(m0=30, m5=30))) == 2


@given(st.lists(st.tuples(st.integers(1, 8), st.sampled_from((10.0, 30.0))), max_size=30))
def test_episodes__are_the_runs_of_gaps_less_than_five_minutes_apart(
    drawn: list[tuple[int, float]],
) -> None:
    at, seen = 0, []
    for step, gap in drawn:
        at += step
        seen.append(GapObservation(minute(at), gap, is_actionable=False))
    above = [one.at for one in seen if one.gross_bps > 25]
    runs: list[list[datetime]] = []
    for one in above:
        if runs and one - runs[-1][-1] < timedelta(minutes=5):
            runs[-1].append(one)
        else:
            runs.append([one])

    assert [(one.began_at, one.last_above_at) for one in episodes(seen)] == [
        (run[0], run[-1]) for run in runs
    ]

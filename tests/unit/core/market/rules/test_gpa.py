"""Grades of several venues, and who stands lowest."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.market.rules.gpa import AssetGrade, GradedToken, gpa, watchlist
from core.market.rules.grade import Letter

A, B, C, D, F = Letter


def token(name: str, gpa_7d: float | None, worst: Letter | None = D) -> GradedToken:
    return GradedToken(name, AssetGrade(worst, worst, gpa_7d, 1))


def test_the_worked_gpa__is_what_the_page_says() -> None:
    assert gpa([[A] * 168, [C] * 84 + [D] * 84]) == 2.75


def test_a_venue__counts_once_however_many_hours_it_has() -> None:
    assert gpa([[A] * 100, [F], [None, None], []]) == 2.0


def test_nothing_graded__has_no_gpa() -> None:
    assert gpa([[None], []]) is None


@pytest.mark.parametrize(
    ("count", "percent", "listed"), [(41, 5, 3), (40, 5, 2), (1, 1, 1), (0, 5, 0)]
)
def test_the_share__is_rounded_up(count: int, percent: int, listed: int) -> None:
    found = watchlist([token(f"T{n:02}", 1.0) for n in range(count)], percent)

    assert len(found.tokens) == listed
    assert found.graded == count


def test_the_lowest__stand_first_by_gpa_then_worst_then_name() -> None:
    rows = [token("E", 1.0, D), token("D", 1.0, D), token("C", 1.0, F), token("B", 0.5, D)]
    found = watchlist([*rows, token("A", None, None)], 50)

    assert [one.token for one in found.tokens] == ["B", "C"]
    assert found.unknown == 1


@pytest.mark.parametrize("percent", [0, 51, -1])
def test_a_percentage_outside_1_to_50__is_refused(percent: int) -> None:
    with pytest.raises(ValueError, match="percent"):
        watchlist([], percent)


letters = st.lists(st.one_of(st.none(), st.sampled_from(Letter)), max_size=8)


@given(st.lists(letters, max_size=5))
def test_a_gpa__is_what_fractions_say(venues: list[list[Letter | None]]) -> None:
    means = []
    for venue in venues:
        points = [4 - "ABCDF".index(one) for one in venue if one is not None]
        if points:
            means.append(Fraction(sum(points), len(points)))
    found = gpa(venues)

    assert (found is None) == (not means)
    if found is not None:
        assert found == pytest.approx(float(sum(means) / len(means)))

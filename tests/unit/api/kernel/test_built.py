"""Figures as answers write them."""

from math import inf, nan

from hypothesis import given
from hypothesis import strategies as st

from api.kernel.built import short, shorts

FIGURES = st.lists(st.none() | st.floats(width=64), max_size=20)


@given(FIGURES)
def test_many_figures__are_as_each_by_itself(values: list[float | None]) -> None:
    for found, one in zip(shorts(values), map(short, values), strict=True):
        assert found == short(found)
        if one is None or one == 0:
            assert found == one
        else:
            assert found is not None
            assert abs(found - one) <= 1.01e-7 * abs(one)


def test_what_is_not_finite__is_not_known() -> None:
    assert shorts([nan, inf, -inf, None, 0.0, -1234.56789, 1e300, 5e-324]) == [
        None, None, None, None, 0.0, -1234.5679, 1e300, 5e-324,
    ]  # fmt: skip

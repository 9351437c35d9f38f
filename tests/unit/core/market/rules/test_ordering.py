"""Rows in order: what a sort of each row answers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.market.rules.ordering import exchanges, ordered, picked
from tests.each import each

VALUES = st.one_of(st.just(float("nan")), st.floats(allow_nan=False))


@each("count", range(1, 14))
def test_the_exchanges__order_every_row_of_noughts_and_ones(count: int) -> None:
    # What orders these orders everything (Knuth, TAOCP 3, 5.3.4, theorem Z).
    rows = np.arange(1 << count)
    columns = [(rows >> place & 1).astype(np.float64) for place in range(count)]

    assert (np.diff(ordered(columns), axis=0) >= 0).all()


@given(st.integers(1, 13).flatmap(lambda n: st.lists(VALUES, min_size=n, max_size=n)))
def test_a_row__is_ordered_as_a_sort_orders_it_with_the_unknown_last(row: list[float]) -> None:
    known = np.where(np.isnan(row), np.inf, row)

    assert ordered([np.array([value]) for value in row])[:, 0].tolist() == sorted(known.tolist())


def test_a_column__is_not_changed() -> None:
    column = np.array([2.0, np.nan])
    ordered([column, np.array([1.0, 1.0])])

    assert column[0] == 2.0
    assert np.isnan(column[1])


def test_no_exchange__of_one_value() -> None:
    assert list(exchanges(1)) == []


def test_each_row__has_its_own_place() -> None:
    values = np.array([[[1.0, 10.0]], [[2.0, 20.0]], [[3.0, 30.0]]])

    assert picked(values, np.array([[2, 0]])).tolist() == [[3.0, 10.0]]

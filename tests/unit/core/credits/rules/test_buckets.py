"""Which buckets an amount comes from, and what no history may do to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.credits.rules.buckets import (
    BUCKETS,
    Credits,
    NotEnoughCreditsError,
    convert_deltas,
    earn_deltas,
    hold_deltas,
    owe_deltas,
    reverse_deltas,
    spend_deltas,
)
from core.errors import InvalidNumberError
from tests.each import each

HELD = Credits(welcome=10, earned=20, converted=5)


@each(
    ("amount", "deltas"),
    [
        (1, Credits(welcome=-1)),
        (10, Credits(welcome=-10)),
        (11, Credits(welcome=-10, earned=-1)),
        (30, Credits(welcome=-10, earned=-20)),
        (35, Credits(welcome=-10, earned=-20, converted=-5)),
    ],
)
def test_spend__takes_welcome_then_earned_then_converted(amount: int, deltas: Credits) -> None:
    assert spend_deltas(HELD, amount) == deltas


def test_spend__one_more_than_there_is__says_both_sides() -> None:
    with pytest.raises(NotEnoughCreditsError, match="36 credits needed, 35 available"):
        spend_deltas(HELD, 36)


@pytest.mark.parametrize(
    ("amount", "deltas"),
    [(20, Credits(earned=-20, bonded=20)), (25, Credits(earned=-20, converted=-5, bonded=25))],
)
def test_hold__takes_earned_then_converted(amount: int, deltas: Credits) -> None:
    assert hold_deltas(HELD, amount) == deltas


def test_hold__never_takes_the_welcome_credit() -> None:
    with pytest.raises(NotEnoughCreditsError, match="26 credits needed, 25 available"):
        hold_deltas(HELD, 26)


@each(
    ("amount", "deltas"),
    [(59, Credits(owed=-59)), (60, Credits(owed=-60)), (61, Credits(earned=1, owed=-60))],
)
def test_earn__repays_a_debt_of_60_first(amount: int, deltas: Credits) -> None:
    assert earn_deltas(Credits(owed=60), amount) == deltas


@each(
    ("amount", "deltas"),
    [
        (59, Credits(owed=-59)),
        (60, Credits(owed=-60)),
        (61, Credits(converted=1, owed=-60)),
    ],
)
def test_convert__repays_a_debt_of_60_first(amount: int, deltas: Credits) -> None:
    assert convert_deltas(Credits(owed=60), amount) == deltas


@pytest.mark.parametrize(
    ("amount", "deltas"),
    [
        (5, Credits(converted=-5)),
        (6, Credits(converted=-5, owed=1)),
    ],
)
def test_reverse__takes_converted_credit_and_the_rest_is_owed(amount: int, deltas: Credits) -> None:
    assert reverse_deltas(HELD, amount) == deltas


@each("move", [spend_deltas, hold_deltas, earn_deltas, convert_deltas, reverse_deltas, owe_deltas])
@each("amount", [0, -1])
def test_an_amount_below_1__is_refused(move: object, amount: int) -> None:
    assert callable(move)
    with pytest.raises(InvalidNumberError):
        move(HELD, amount)


MOVES = (spend_deltas, hold_deltas, earn_deltas, convert_deltas, reverse_deltas, owe_deltas)


@given(st.lists(st.tuples(st.sampled_from(MOVES), st.integers(1, 40)), max_size=60))
def test_any_history__leaves_no_bucket_below_zero_and_a_refused_move_moves_nothing(
    history: list[tuple[object, int]],
) -> None:
    balance, counters = Credits(welcome=10), -10
    for move, amount in history:
        assert callable(move)
        try:
            deltas = move(balance, amount)
        except NotEnoughCreditsError:
            continue
        balance = Credits(
            **{name: getattr(balance, name) + getattr(deltas, name) for name in BUCKETS}
        )
        counters -= deltas.net
        assert min(getattr(balance, name) for name in BUCKETS) >= 0
    assert balance.net + counters == 0

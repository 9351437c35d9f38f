"""How much of the nodes the loop of requests has, and when it has precedence."""

import threading

import pytest

from keeper.precedence import Precedence
from keeper.requests.opened import most_under_way, share_of
from tests.each import each


@each(("calls_per_s", "share"), [(2_000, 100), (200, 10), (100, 10), (20, 10), (10, 5)])
def test_share_of__is_a_twentieth_at_least_ten_and_at_most_half(
    calls_per_s: float, share: float
) -> None:
    assert share_of(calls_per_s) == share


@each(("calls_per_s", "count"), [(100, 200), (10, 100), (5, 50), (0.5, 20)])
def test_most_under_way__goes_by_the_share(calls_per_s: float, count: int) -> None:
    assert most_under_way(calls_per_s) == count


def test_second__while_no_stop_was_signed_since__may_commit() -> None:
    precedence = Precedence()
    with precedence.second(precedence.turns) as may:
        assert may


def test_second__after_a_turn_of_the_stops__may_not() -> None:
    precedence = Precedence()
    seen = precedence.turns
    with precedence.first():
        pass
    with precedence.second(seen) as may:
        assert not may


def test_second__within_a_turn_of_the_stops__may_not_and_holds_nobody_up() -> None:
    precedence, said = Precedence(), list[bool]()

    def commit() -> None:
        with precedence.second(precedence.turns) as may:
            said.append(may)

    with precedence.first():
        thread = threading.Thread(target=commit)
        thread.start()
        thread.join(5)
    assert said == [False]


def test_first__after_an_error__is_over() -> None:
    precedence = Precedence()
    with pytest.raises(KeyError), precedence.first():
        raise KeyError
    with precedence.second(precedence.turns) as may:
        assert may

"""When a node is left alone, and when it is tried again."""

import pytest

from core.chain.breaker import MOST_OPEN_S, Breaker, BreakerState


def test_a_failure__opens_for_one_second_and_then_half() -> None:
    breaker = Breaker()
    assert (breaker.state(0), breaker.admits(0)) == (BreakerState.CLOSED, True)
    breaker.failed(0)
    assert (breaker.state(0.999), breaker.admits(0.999)) == (BreakerState.OPEN, False)
    assert (breaker.state(1), breaker.admits(1)) == (BreakerState.HALF_OPEN, True)


def test_failures_in_a_row__open_for_twice_as_long_up_to_the_most() -> None:
    breaker, now, opened = Breaker(), 0.0, []
    for _ in range(8):
        breaker.failed(now)
        opened.append(breaker.free_at - now)
        now = breaker.free_at
    assert opened == [1, 2, 4, 8, 16, 32, MOST_OPEN_S, MOST_OPEN_S]


def test_failures_of_requests_under_way_together__count_once() -> None:
    breaker = Breaker()
    breaker.failed(0)
    breaker.failed(0.999)
    assert breaker.free_at == 1
    breaker.failed(1)
    assert breaker.free_at == 3


def test_half_open__one_request_at_a_time() -> None:
    breaker = Breaker()
    breaker.failed(0)
    is_probe = breaker.entered(1)
    assert (is_probe, breaker.admits(1)) == (True, False)
    breaker.left(is_probe)
    assert breaker.admits(1)


def test_half_open__a_request_let_through_besides_does_not_end_the_trial() -> None:
    breaker = Breaker()
    breaker.failed(0)
    assert breaker.entered(1)
    besides = breaker.entered(1)
    breaker.left(besides)
    assert (besides, breaker.admits(1)) == (False, False)


def test_a_success__closes_and_the_next_failure_begins_at_one_second() -> None:
    breaker = Breaker()
    breaker.failed(0)
    breaker.failed(1)
    breaker.succeeded()
    assert breaker.state(1) is BreakerState.CLOSED
    breaker.failed(1)
    assert breaker.free_at == 2


def test_a_rest__runs_its_time_whatever_is_answered_and_doubles_nothing() -> None:
    breaker = Breaker()
    breaker.rest(5, now=0)
    breaker.rest(1, now=0)
    breaker.succeeded()
    assert (breaker.state(4.999), breaker.state(5)) == (BreakerState.OPEN, BreakerState.CLOSED)
    breaker.failed(5)
    assert breaker.free_at == pytest.approx(6)

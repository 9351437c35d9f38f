"""The token bucket: what passes in a window, and how it gives way to a node's word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chain.budget import LOWEST, MAX_PAUSE_S, PAUSE_S, RISE, RISE_EVERY_S, CallBudget
from tests.each import each


def spend(budget: CallBudget, calls: int, now: float) -> None:
    for _ in range(calls):
        assert budget.wait_s(now) == 0
        budget.take(1, now)


def test_a_full_bucket__lets_the_burst_pass_and_no_call_more() -> None:
    budget = CallBudget(per_s=2, burst=3, now=0)
    spend(budget, 3, now=0)
    assert budget.wait_s(0) == 0.5


def test_one_token_later__one_call_passes() -> None:
    budget = CallBudget(per_s=2, burst=3, now=0)
    spend(budget, 3, now=0)
    assert budget.wait_s(0.499) > 0
    spend(budget, 1, now=0.5)
    assert budget.wait_s(0.5) == 0.5


def test_a_long_idle_time__saves_up_no_more_than_the_burst() -> None:
    budget = CallBudget(per_s=2, burst=3, now=0)
    spend(budget, 3, now=1_000)
    assert budget.wait_s(1_000) == 0.5


def test_a_batch_above_the_burst__passes_and_is_paid_off_before_the_next() -> None:
    budget = CallBudget(per_s=10, burst=5, now=0)
    assert budget.wait_s(0) == 0
    budget.take(50, 0)
    assert budget.wait_s(0) == pytest.approx(4.6)  # 45 of debt and the one token of the next
    assert budget.wait_s(4.59) > 0
    assert budget.wait_s(4.601) == 0


def test_a_clock_that_steps_back__adds_nothing() -> None:
    budget = CallBudget(per_s=1, burst=1, now=10)
    budget.take(1, 10)
    assert budget.wait_s(5) == 1
    assert budget.wait_s(10) == 1


def test_limited__halves_the_rate_and_waits_as_told() -> None:
    budget = CallBudget(per_s=8, burst=8, now=0)
    budget.limited(3.0, 0)
    assert budget.per_s == 4
    assert budget.wait_s(2.9) == pytest.approx(0.1)
    assert budget.wait_s(3.0) == 0


@each(
    ("told", "waited"),
    [(None, PAUSE_S), (0.0, 0.0), (-5.0, 0.0), (MAX_PAUSE_S, MAX_PAUSE_S), (86_400.0, MAX_PAUSE_S)],
)
def test_retry_after__is_honoured_and_bounded(told: float | None, waited: float) -> None:
    budget = CallBudget(per_s=8, burst=8, now=0)
    budget.limited(told, 0)
    assert budget.wait_s(0) == waited


def test_limited_again_within_the_pause__halves_once_and_keeps_the_longer_pause() -> None:
    budget = CallBudget(per_s=8, burst=8, now=0)
    budget.limited(2.0, 0)
    budget.limited(5.0, 1.9)
    budget.limited(0.0, 2.0)
    assert (budget.per_s, budget.wait_s(2.0)) == (4, pytest.approx(4.9))


def test_limited_again_after_the_pause__halves_again() -> None:
    budget = CallBudget(per_s=8, burst=8, now=0)
    budget.limited(2.0, 0)
    budget.limited(2.0, 2.0)
    assert budget.per_s == 2


def test_limited_without_end__goes_down_to_a_hundredth() -> None:
    budget = CallBudget(per_s=800, burst=8, now=0)
    for second in range(20):
        budget.limited(0.0, second)
    assert budget.per_s == 800 * LOWEST


def test_a_slowed_node__is_spared_the_bursts_too() -> None:
    budget = CallBudget(per_s=8, burst=8, now=0)
    budget.limited(0.0, 0)
    spend(budget, 4, now=0)
    assert budget.wait_s(0) == 0.25


def test_successes__raise_the_rate_one_step_a_second_up_to_the_configured() -> None:
    budget = CallBudget(per_s=8, burst=8, now=0)
    budget.limited(0.0, 0)
    budget.succeeded(RISE_EVERY_S - 0.001)
    assert budget.per_s == 4
    budget.succeeded(RISE_EVERY_S)
    budget.succeeded(RISE_EVERY_S)
    assert budget.per_s == pytest.approx(4 * RISE)
    for second in range(2, 20):
        budget.succeeded(second)
    assert budget.per_s == 8


@each(("per_s", "burst"), [(0, 1), (-1, 1), (1, 0.5)])
def test_a_budget_that_could_never_pass_a_call__is_refused(per_s: float, burst: float) -> None:
    with pytest.raises(ValueError, match="rate above 0"):
        CallBudget(per_s, burst, now=0)


@given(
    per_s=st.floats(0.5, 100),
    burst=st.floats(1, 50),
    steps=st.lists(
        st.tuples(st.floats(0, 3), st.integers(1, 40), st.sampled_from(["none", "limited", "ok"])),
        max_size=60,
    ),
)
def test_in_any_window__no_more_than_the_law_passes(
    per_s: float, burst: float, steps: list[tuple[float, int, str]]
) -> None:
    budget, now, passed = CallBudget(per_s, burst, 0), 0.0, list[tuple[float, int]]()
    for gap_s, cost, word in steps:
        now += gap_s
        if budget.wait_s(now) == 0:
            budget.take(cost, now)
            passed.append((now, cost))
        if word == "limited":
            budget.limited(gap_s, now)
        elif word == "ok":
            budget.succeeded(now)
    for first, (begun, _) in enumerate(passed):
        for last in range(first, len(passed)):
            calls = sum(cost for _, cost in passed[first : last + 1])
            assert calls <= burst + per_s * (passed[last][0] - begun) + passed[last][1] - 1 + 1e-6

"""Every figure of a mandate against the slow reference, over any history of rows."""

from dataclasses import replace
from datetime import date, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.areas.hall.rules.standing import past_to_keep, record_of
from api.areas.hall.rules.sums import WINDOWS, days_since
from tests.unit.api.areas.hall.reference import Reference, growth_together
from tests.unit.api.areas.hall.told import AGENT, LISTED, OTHER, SERVICE, Told, on

AMOUNTS = st.integers(1, 400)
TARGETS = st.sampled_from([LISTED, LISTED, OTHER, SERVICE])
STEPS = st.one_of(
    st.tuples(st.just("deposit"), AMOUNTS),
    st.tuples(st.just("buy"), AMOUNTS, TARGETS),
    st.tuples(st.just("sell"), AMOUNTS, TARGETS),
    st.tuples(st.just("mark"), st.integers(0, 2_000)),
    st.tuples(st.just("proceeds"), AMOUNTS),
    st.tuples(st.just("withdraw"), AMOUNTS),
    st.tuples(st.just("stop")),
    st.tuples(st.just("mark_that_stops"), st.integers(0, 1_000)),
    st.tuples(st.just("unwind"), AMOUNTS),
    st.tuples(st.just("settle"), st.integers(0, 20)),
)
HISTORIES = st.lists(st.tuples(st.integers(0, 700), STEPS), max_size=40)
FEES = st.sampled_from([0, 1_000, 3_333])
ENDS = st.sampled_from([0, 5, 30, 9_000])  # the day


def told(history: list[tuple[int, Any]], fee_bps: int, ends: int = 9_000) -> Told:
    """`history`: hours since the step before, and the step; its amounts are within the cash."""
    one, hours, cash = Told(1_000, fee_bps, ends).on(0, 0).deposit(1_000), 0, 1_000
    for apart, (name, *arguments) in history:
        hours += apart
        one.on(0, hours)
        if name in ("buy", "withdraw", "settle"):
            arguments[0] = min(arguments[0], cash)
        came = ("deposit", "sell", "proceeds", "unwind")
        sign = dict.fromkeys(came, 1) | dict.fromkeys(("buy", "withdraw", "settle"), -1)
        cash += sign.get(name, 0) * (arguments[0] if arguments else 0)
        getattr(one, name)(*arguments)
    return one


@pytest.mark.parametrize("name", WINDOWS)
@given(HISTORIES, FEES, ENDS, st.integers(0, 5))
def test_a_window__is_the_reference_s(
    name: str, history: list[tuple[int, Any]], fee_bps: int, ends: int, idle_days: int
) -> None:
    one = told(history, fee_bps, ends)
    reference = Reference(one.rows, LISTED, {OTHER}, fee_bps, one.told.ends_at)
    today = max(row.occurred_at.date() for row in one.rows) + timedelta(days=idle_days)
    size = WINDOWS[name]
    after = date.min if size is None else today - timedelta(days=size)

    found = record_of([one.record()], [], today).windows[name]

    assert found.net_usdc_e6 == reference.net(after)
    if found.max_drawdown_bps is not None:
        assert abs(found.max_drawdown_bps - reference.fall(after) * 10_000) <= 1
    if found.twr_bps is not None:
        gain = (reference.path(after)[-1] - 1) * 10_000
        assert abs(found.twr_bps - gain) <= 1


@given(st.lists(HISTORIES, min_size=1, max_size=3), FEES, ENDS)
def test_mandates_together__are_the_reference_s(
    histories: list[list[tuple[int, Any]]], fee_bps: int, ends: int
) -> None:
    mandates = [told(history, fee_bps, ends) for history in histories]
    references = [
        Reference(one.rows, LISTED, {OTHER}, fee_bps, one.told.ends_at) for one in mandates
    ]
    today = max(row.occurred_at.date() for one in mandates for row in one.rows)
    records = [one.record(number) for number, one in enumerate(mandates)]
    found = record_of(records, [], today).windows

    for name, size in WINDOWS.items():
        after = date.min if size is None else today - timedelta(days=size)
        assert found[name].net_usdc_e6 == sum(one.net(after) for one in references)
        twr = found[name].twr_bps
        if twr is not None:
            assert abs(twr - (growth_together(references, after) - 1) * 10_000) <= 1


@given(HISTORIES, FEES, ENDS, st.integers(0, 40))
def test_a_ledger_that_is_counted_in_two_builds__is_the_one_that_is_counted_in_one(
    history: list[tuple[int, Any]], fee_bps: int, ends: int, cut: int
) -> None:
    one = told(history, fee_bps, ends)
    whole = one.counted()

    assert one.counted_in_two(min(cut, len(one.rows))) == whole


def test_the_reference__knows_an_agent_s_stop_of_the_chain() -> None:
    one = Told().on(0).deposit(1_000).on(1).buy(100, OTHER).stop(by=AGENT, reason="done")
    reference = Reference(one.rows, LISTED, {OTHER}, 0)

    assert reference.net(on(-1)) == -100_000_000
    assert one.record().stopped_by == "self"


@given(st.lists(HISTORIES, min_size=1, max_size=3), FEES, st.integers(0, 3))
def test_a_record_with_a_past_at_hand__is_the_one_of_every_day(
    histories: list[list[tuple[int, Any]]], fee_bps: int, idle_days: int
) -> None:
    """To the last digit, since the Hall says it whichever build made it."""
    records = [told(one, fee_bps).record(number) for number, one in enumerate(histories)]
    days = [day.day for one in records for day in one.days]
    for today in {max(days) + timedelta(days=idle_days), min(days), days[len(days) // 2]}:
        past = past_to_keep(records, [], today)
        since = [replace(one, days=days_since(one.days, today)) for one in records]

        assert record_of(since, [], today, past) == record_of(records, [], today)

"""Days live, ranks, windows and the agent's fee, by the figures of docs/hall.md."""

from datetime import date

from api.areas.hall.rules.path import MOST, ONE, Path, step
from api.areas.hall.rules.shown import SORTS, record_to_json, sorts_of
from api.areas.hall.rules.standing import AgentRecord, daily_returns, record_of
from tests.each import each
from tests.unit.api.areas.hall.told import AGENT, OTHER, OWNER, USDC, Told, on


def test_the_worked_figures_of_the_page() -> None:
    """docs/hall.md#a-month-by-the-numbers."""
    one = Told(1_000, fee_bps=1_000).on(0).deposit(1_000)
    one.on(1).buy(500).on(2).mark(1_100).on(3).sell(600)
    one.on(4).buy(300).on(5).mark(990).on(6).sell(190)
    window = one.of_agent(today=6).windows["since"]

    assert window.net_usdc_e6 == -10 * USDC
    assert window.twr_bps == -100
    assert window.max_drawdown_bps == 917
    assert window.trades == 4


def _marked(worth: int = 1_000, ends: int = 9_000) -> Told:
    return Told(ends=ends).on(0).deposit(1_000).buy(300).mark(worth).on(1)


@each(
    ("ended", "until_then", "brings", "net", "fall_bps"),
    [
        (_marked().stop(by=AGENT, reason="done"), -300, 30, -270, 2_700),
        (_marked().stop(by=AGENT, reason="done").mark(730), -270, 30, -270, 2_700),
        (_marked(1_600).stop(by=AGENT, reason="done"), -300, 300, 0, 3_750),
        (_marked().mark_that_stops(774.99), -225.01, 300, 0, 0),
        (_marked().stop(by=AGENT, worth=774.99), -225.01, 300, 0, 0),
        (_marked().stop(by=AGENT, reason="done"), -300, 300, 0, 0),
        (_marked().mark_that_stops(730), -270, 30, -270, 2_700),
        (_marked().buy(100).stop(by=OWNER, reason="done").mark(1_000), 0, 400, 0, 0),
        (_marked().stop(by=AGENT, reason="done"), -300, 700, 0, 0),
        (_marked(ends=1).settle(), -300, 300, 0, 0),
        (_marked(ends=1).mark(1_000).settle(), 0, 300, 0, 0),
    ],
    ids=[
        "price fell, the agent stops",
        "the same, marked since",
        "price lifted before the stop",
        "price dips, the line stops",
        "the same, enforced by anyone",
        "not to be valued",
        "honest stop at the line",
        "the owner stops after a purchase",
        "price rose after the end",
        "the terms end",
        "the same, marked since",
    ],
)
def test_an_end__counts_as_the_page_says(
    ended: Told, until_then: float, brings: int, net: int, fall_bps: int
) -> None:
    """docs/hall.md#the-end, its table."""
    before = ended.of_agent(today=1).windows["since"]
    after = ended.on(40).unwind(brings).of_agent(today=40).windows

    assert before.net_usdc_e6 == round(until_then * USDC)
    assert (after["since"].net_usdc_e6, after["since"].max_drawdown_bps) == (net * USDC, fall_bps)
    assert after["30d"].net_usdc_e6 == 0  # it is the end's day that it counts on


def test_a_sale_in_parts__adds_up_and_a_later_mark_says_nothing_new() -> None:
    one = _marked().stop(by=AGENT, reason="done").unwind(100).mark(900).unwind(150)
    assert one.of_agent(today=1).windows["since"].net_usdc_e6 == -50 * USDC

    later = one.on(2).mark(1_000).of_agent(today=2).windows["since"]
    assert later.net_usdc_e6 == -50 * USDC


def test_settlement_without_a_stop__is_an_end_like_any_other() -> None:
    one = _marked().settle()
    assert one.of_agent(today=1).windows["since"].net_usdc_e6 == -300 * USDC

    assert one.on(2).unwind(290).of_agent(today=2).windows["since"].net_usdc_e6 == -10 * USDC


def test_a_fee_that_is_paid__was_counted_when_the_gain_was_made() -> None:
    one = Told(1_000, fee_bps=1_000).on(0).deposit(1_000).on(1).buy(500).sell(600)
    before = one.of_agent(today=1).windows["since"]
    after = one.on(2).settle(10).withdraw(1_090).of_agent(today=2).windows["since"]

    assert before.net_usdc_e6 == after.net_usdc_e6 == 90 * USDC
    assert after.max_drawdown_bps == 0


@each(
    ("spans", "days"),
    [
        ([(0, 9)], 10),
        ([(0, 9), (5, 14)], 15),
        ([(0, 9), (20, 29)], 20),
        ([(0, 29), (5, 9), (25, 34)], 35),
        ([(0, None)], 41),
        ([], 0),
    ],
)
def test_days_live__count_each_day_once(spans: list[tuple[int, int | None]], days: int) -> None:
    mandates = []
    for number, (first, last) in enumerate(spans):
        one = Told().on(first).deposit(1_000)
        if last is not None:
            one.on(last).stop()
        mandates.append(one.record(number))

    assert record_of(mandates, [], on(40)).days_live == days


def test_terms_that_were_never_funded__are_no_mandate() -> None:
    record = Told(1_000).on(0).deposit(999).of_agent(today=40)

    assert (record.mandates_total, record.days_live) == (0, 0)


@each(
    ("days", "trades", "is_readable", "reason"),
    [
        (30, 20, True, None),
        (29, 20, True, "days_live"),
        (30, 19, True, "trades"),
        (0, 0, True, "days_live_and_trades"),
        (30, 20, False, "record_incomplete"),
    ],
)
def test_a_rank__takes_thirty_days_and_twenty_trades(
    days: int, trades: int, is_readable: bool, reason: str | None
) -> None:
    record = AgentRecord(days_live=days, trades_total=trades, is_readable=is_readable)

    assert record.unranked_reason == reason


def test_a_window__begins_after_so_many_days() -> None:
    """Today and the six days before it are seven."""
    one = Told().on(0).deposit(1_000).on(10).buy(100).mark(990).on(11).mark(1_000)

    assert one.of_agent(today=16).windows["7d"].net_usdc_e6 == 0
    assert one.of_agent(today=17).windows["7d"].net_usdc_e6 == 10 * USDC
    assert one.of_agent(today=18).windows["7d"].net_usdc_e6 == 0


def test_without_capital__there_is_no_return() -> None:
    ended = Told().on(0).deposit(1_000).on(1).stop().withdraw(1_000)
    shown = record_to_json(ended.of_agent(today=60))["windows"]

    assert shown["7d"] == {
        "net_usdc": "0.000000",
        "twr_bps": None,
        "max_drawdown_bps": None,
        "trades": 0,
    }
    assert shown["since"]["twr_bps"] == 0


def test_what_delegators_made__leaves_the_owner_s_own_mandates_out() -> None:
    own = Told().on(0).deposit(1_000).on(1).buy(100).mark(1_500)
    theirs = Told().on(0).deposit(1_000).on(1).buy(100).mark(950)
    record = record_of(
        [own.record(1, 1, is_own=True), theirs.record(2, 2), theirs.record(3, 2)], [], on(1)
    )

    assert (record.delegators.total, record.delegators.working) == (1, 1)
    assert record.delegators.net_7d_usdc_e6 == -100 * USDC
    assert record.windows["7d"].net_usdc_e6 == 400 * USDC


def test_an_unreadable_record__tells_no_figure() -> None:
    record = record_of([Told().on(0).deposit(1_000).record(is_readable=False)], [], on(1))

    assert set(record_to_json(record)["windows"].values()) == {None}
    assert sorts_of(record) == [None] * len(SORTS)


def test_paths__are_one_path_whatever_they_are_cut_into() -> None:
    moves = [ONE * share // 100 for share in (110, 90, 120, 50, 130)]
    left, right = Path(), Path()
    for share in moves:
        left = left.then(step(share))
    for share in reversed(moves):
        right = step(share).then(right)

    assert all(abs(one - other) <= 5 for one, other in zip(left, right, strict=True))
    assert left.fall_bps == 5_000


def test_a_path__ends_where_a_bigint_does() -> None:
    path = Path()
    for _ in range(50):
        path = path.then(step(10**30))

    assert max(path) == MOST


def test_a_late_row__counts_on_the_last_day_that_the_ledger_knew() -> None:
    one = Told().on(0).deposit(1_000).on(9).buy(100).on(5).mark(900)
    _, days = one.counted()

    assert {day.day: day.result_usdc_e6 for day in days}[on(9)] == -100 * USDC
    assert date(2026, 1, 6) not in {day.day for day in days}


def test_daily_returns__follow_the_worked_month_and_end_with_the_window() -> None:
    one = Told(1_000, fee_bps=1_000).on(0).deposit(1_000)
    one.on(1).buy(500).on(2).mark(1_100).on(3).sell(600)
    one.on(4).buy(300).on(5).mark(990).on(6).sell(190)
    found = daily_returns([one.record()], 366)

    assert found == [(on(day), bps) for day, bps in enumerate((0, 0, 900, 900, 900, -100, -100))]
    assert found[-1][1] == one.of_agent(today=6).windows["since"].twr_bps


def test_daily_returns__thinned__keep_the_last_day() -> None:
    one = Told().on(0).deposit(1_000)
    for day in range(1, 8):
        one.on(day).mark(1_000 + day)

    assert [day for day, _ in daily_returns([one.record()], 3)] == [on(1), on(4), on(7)]


def test_daily_returns__with_money_out_where_nothing_values_it__count_it_as_lost_last() -> None:
    one = Told().on(0).deposit(1_000).on(1).buy(100, OTHER)

    assert daily_returns([one.record()], 366) == [(on(0), -1_000)]

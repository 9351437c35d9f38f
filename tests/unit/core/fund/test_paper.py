"""The paper follower: what it buys, sells and is worth, by hand and as laws
(docs/fund.md#the-paper-follower).
"""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from core.fund.rules.paper import (
    PRICE_E12,
    QUANTITY_E18,
    START_USDC_E6,
    PaperBook,
    PaperFill,
    drawdown_bps_e2,
    fill_of,
    filled,
    marked,
    nav_usdc_e6,
    opened,
    return_bps_e2,
    worth_usdc_e6,
)
from core.fund.rules.plan import FollowerAccount, PlannedOrder, plan
from tests.unit.core.fund.made import AT, MARKET, USD, facts, snapshot

MID = 100 * PRICE_E12  # 100 dollars
COIN = QUANTITY_E18
HOUR, YEAR = timedelta(hours=1), timedelta(days=365)
PRICES = st.integers(1, 10**24)


def order(side: str = "buy", usd: int = 2_500, impact: int = 5_001, **changes: Any) -> PlannedOrder:
    plain = PlannedOrder(
        side=side,
        is_reduce_only=False,
        target_usdc_e6=usd * USD,
        position_usdc_e6=0,
        wanted_usdc_e6=usd * USD,
        notional_usdc_e6=usd * USD,
        capped_by=None,
        impact_bps_e2=impact,
    )
    return replace(plain, **changes)


def fill(book: PaperBook, made: PlannedOrder, mid: int = MID, is_spot: bool = True) -> PaperFill:
    found = fill_of(book, MARKET, made, mid, is_spot=is_spot, least_usdc_e6=10 * USD)
    assert found is not None
    return found


def test_a_purchase_by_hand() -> None:
    # 2,500 at 100.5001 is 24.87559713... coins, worth 2,487.559713 at the mid
    bought = fill(opened(AT), order())
    assert bought.quantity_e18 == 24_875_597_138_709_314_717
    assert (bought.usdc_e6, bought.fee_usdc_e6) == (2_500_000_000, 2_500_000)
    assert bought.impact_usdc_e6 == 12_440_287
    book = filled(opened(AT), MARKET, bought)
    assert (book.cash_usdc_e6, book.trades) == (7_497_500_000, 1)
    assert nav_usdc_e6(book, {MARKET: MID}) == 9_985_059_713


def test_a_sale_by_hand() -> None:
    book = PaperBook(
        cash_usdc_e6=0, peak_usdc_e6=START_USDC_E6, accrued_at=AT, positions={MARKET: 10 * COIN}
    )
    # 5 coins at 99.4999
    sold = fill(book, order("sell", 500, is_reduce_only=True))
    assert (sold.quantity_e18, sold.usdc_e6, sold.fee_usdc_e6) == (5 * COIN, 497_499_500, 497_500)
    assert sold.impact_usdc_e6 == 2_500_500
    after = filled(book, MARKET, sold)
    assert (after.cash_usdc_e6, after.positions) == (497_002_000, {MARKET: 5 * COIN})


def test_each_division_of_a_trade__is_against_the_follower() -> None:
    # the price of 0.000000000001 and 50.01 bps is 0.000000000002 of a dollar, and no less
    assert fill(opened(AT), order(), mid=1).quantity_e18 == 2_500 * USD * QUANTITY_E18 * 10**6 // 2
    book = replace(opened(AT), positions={MARKET: 1_000 * COIN})
    # 166.666666666666666666 coins at 2.984997: 497.4994999..., of 499.9999999... at the mid
    sold = fill(book, order("sell", 500, is_reduce_only=True), mid=3 * PRICE_E12)
    assert sold.quantity_e18 == 166_666_666_666_666_666_666
    assert (sold.usdc_e6, sold.impact_usdc_e6) == (497_499_499, 2_500_501)
    assert sold.fee_usdc_e6 == 497_500


@given(
    held=st.integers(1, 10**24),
    mid=PRICES,
    share=st.integers(0, 10_000),
    impact=st.integers(0, 999_999),
)
def test_a_sale_that_reduces__never_sells_more_than_is_held(
    held: int, mid: int, share: int, impact: int
) -> None:
    book = replace(opened(AT), positions={MARKET: held})
    worth = worth_usdc_e6(held, mid)
    target = worth * share // 10_000
    if worth - target == 0:
        return
    made = order(
        "sell",
        impact=impact,
        is_reduce_only=True,
        target_usdc_e6=target,
        position_usdc_e6=worth,
        wanted_usdc_e6=worth - target,
        notional_usdc_e6=worth - target,
    )
    got = fill_of(book, MARKET, made, mid, is_spot=True, least_usdc_e6=1)
    assert got is None or 0 < got.quantity_e18 <= held


def test_a_short_of_less_than_the_least_order__is_bought_back_whole() -> None:
    """Eight dollars; the least order is ten. It is the closing half of a flip, too."""
    held = -8 * COIN // 100
    book = replace(opened(AT), positions={MARKET: held})
    made = order(usd=8, is_reduce_only=True, target_usdc_e6=0, position_usdc_e6=-8 * USD)
    for target in (0, 250 * USD):
        flipped = replace(made, target_usdc_e6=target, wanted_usdc_e6=8 * USD + target)
        found = fill(book, flipped, is_spot=False)
        assert filled(book, MARKET, found).positions == {}
    part = replace(made, position_usdc_e6=-16 * USD)
    assert fill_of(book, MARKET, part, MID, is_spot=False, least_usdc_e6=10 * USD) is None


def test_the_end_of_a_position__leaves_no_dust() -> None:
    held = 3 * COIN + 1
    book = replace(opened(AT), positions={MARKET: held})
    worth = worth_usdc_e6(held, MID)
    made = order(
        "sell",
        is_reduce_only=True,
        target_usdc_e6=0,
        position_usdc_e6=worth,
        wanted_usdc_e6=worth,
        notional_usdc_e6=worth,
    )
    assert filled(book, MARKET, fill(book, made)).positions == {}


def test_the_end_of_a_short_position__leaves_no_dust() -> None:
    held = -(3 * COIN + 1)
    book = replace(opened(AT), positions={MARKET: held})
    worth = -worth_usdc_e6(held, MID)
    made = order(
        "buy",
        is_reduce_only=True,
        target_usdc_e6=0,
        position_usdc_e6=-worth,
        wanted_usdc_e6=worth,
        notional_usdc_e6=worth,
    )
    closed = fill(book, made, is_spot=False)
    assert filled(book, MARKET, closed).positions == {}
    assert closed.usdc_e6 == 301_500_301  # 3.000000000000000001 coins at 100.5001, rounded up


def test_a_spot_vault_that_wants_everything__keeps_what_the_fee_takes() -> None:
    bought = fill(opened(AT), order(usd=10_000))
    assert bought.usdc_e6 + bought.fee_usdc_e6 <= START_USDC_E6
    assert filled(opened(AT), MARKET, bought).cash_usdc_e6 == 0


def test_a_purchase_that_the_cash_does_not_reach_for__is_none() -> None:
    book = replace(opened(AT), cash_usdc_e6=10 * USD)
    assert fill_of(book, MARKET, order(), MID, is_spot=True, least_usdc_e6=10 * USD) is None


def test_an_order_of_unknown_impact__is_not_filled() -> None:
    made = order(impact_bps_e2=None)
    assert fill_of(opened(AT), MARKET, made, MID, is_spot=True, least_usdc_e6=1) is None


def test_an_unknown_price__is_an_unknown_nav() -> None:
    book = replace(opened(AT), positions={MARKET: COIN})
    assert nav_usdc_e6(book, {MARKET: None}) is None
    assert nav_usdc_e6(book, {}) is None


def test_a_mark_by_hand() -> None:
    book, nav = marked(opened(AT), 9_985_059_713, 0, AT + HOUR)
    assert nav == 9_985_059_713
    assert (book.peak_usdc_e6, book.max_drawdown_bps_e2) == (START_USDC_E6, 1_495)  # 14.95 bps
    assert return_bps_e2(nav) == -1_495


def test_the_funds_fee__is_its_share_of_a_year() -> None:
    book, nav = marked(opened(AT), START_USDC_E6, 200, AT + YEAR)
    assert (nav, book.fund_fees_usdc_e6) == (9_800 * USD, 200 * USD)
    assert book.cash_usdc_e6 == 9_800 * USD
    hourly, after = marked(opened(AT), START_USDC_E6, 200, AT + HOUR)
    assert START_USDC_E6 - after == hourly.fund_fees_usdc_e6 == 22_832  # 200 / 8,760, up


def test_a_drawdown__stays_after_a_recovery() -> None:
    book, _ = marked(opened(AT), 8_000 * USD, 0, AT + HOUR)
    book, _ = marked(book, 11_000 * USD, 0, AT + 2 * HOUR)
    assert (book.max_drawdown_bps_e2, book.peak_usdc_e6) == (200_000, 11_000 * USD)
    assert drawdown_bps_e2(11_000 * USD, book.peak_usdc_e6) == 0


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=20))
def test_the_largest_drawdown__is_the_slow_reference(navs: list[int]) -> None:
    book = opened(AT)
    for nav in navs:
        book, _ = marked(book, nav, 0, AT)
    seen, slow = [START_USDC_E6], 0
    for nav in navs:
        seen.append(nav)
        slow = max(slow, -(-(max(seen) - nav) * 1_000_000 // max(seen)))
    assert book.max_drawdown_bps_e2 == slow


@given(
    mid=PRICES,
    weights=st.lists(st.integers(-10_000, 10_000), min_size=1, max_size=6),
    leverage=st.integers(1, 300),
)
def test_trading_at_one_price__never_gains(mid: int, weights: list[int], leverage: int) -> None:
    book, before = opened(AT), START_USDC_E6
    for weight in weights:
        worth = {name: worth_usdc_e6(held, mid) for name, held in book.positions.items()}
        made = plan(
            facts(
                weight_e4=weight,
                leverage_e2=leverage,
                max_leverage_e2=300,
                account=FollowerAccount(max(0, before), worth),
                snapshot=snapshot(),
            )
        )
        if made.order is None:
            continue
        got = fill_of(book, MARKET, made.order, mid, is_spot=False, least_usdc_e6=1)
        if got is None:
            continue
        book = filled(book, MARKET, got)
        after = nav_usdc_e6(book, {MARKET: mid})
        assert after is not None
        # what it costs is what is told: impact and fee, and roundings of each division
        assert before - got.fee_usdc_e6 - got.impact_usdc_e6 - 2 <= after <= before
        before = after


@given(mid=PRICES, usd=st.integers(10, 20_000), impact=st.integers(0, 20_001))
def test_a_spot_purchase__never_makes_the_cash_negative(mid: int, usd: int, impact: int) -> None:
    got = fill_of(
        opened(AT), MARKET, order(usd=usd, impact=impact), mid, is_spot=True, least_usdc_e6=1
    )
    if got is not None:
        assert filled(opened(AT), MARKET, got).cash_usdc_e6 >= 0

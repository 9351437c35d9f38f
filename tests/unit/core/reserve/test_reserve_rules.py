"""The reserve token's arithmetic, and the credits of conversions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidNumberError
from core.reserve import rules
from core.reserve.rules import ReserveEventKind, ReserveFact, ReserveTotals
from tests.each import each

ONE = 10**18
USDC = 10**6


def test_the_page_of_numbers__is_what_the_rules_say() -> None:
    """The table of docs/reserve-token.md, and docs/reserve.md."""
    totals = ReserveTotals()
    bought = rules.quote(102 * USDC, totals.reserve_e6, totals.supply)
    assert bought == 10_000 * ONE
    totals = rules.after(
        totals, ReserveFact(ReserveEventKind.BOUGHT, tokens=bought, usdc_e6=102 * USDC)
    )
    paid = rules.redeem_value(1_000 * ONE, totals.reserve_e6, totals.supply)
    assert paid == 10_198_019
    totals = rules.after(
        totals, ReserveFact(ReserveEventKind.REDEEMED, tokens=1_000 * ONE, usdc_e6=paid)
    )
    share = rules.redeem_value(4_000 * ONE, totals.reserve_e6, totals.supply)
    assert share == 40_792_079
    totals = rules.after(
        totals, ReserveFact(ReserveEventKind.CONVERTED, tokens=4_000 * ONE, usdc_e6=share)
    )
    assert totals == ReserveTotals(52_009_902, 5_100 * ONE, 40_792_079)
    assert rules.credits_of(share) == 4_079
    assert rules.redeem_price(totals.reserve_e6, totals.supply) == 10_198
    assert rules.buy_price(totals.reserve_e6, totals.supply) == 10_402


def test_the_quotes_of_the_page__are_what_the_rules_say() -> None:
    """docs/reserve.md, State and quotes."""
    reserve, supply = 103 * USDC, 10_100 * ONE
    tokens = rules.quote(5 * USDC, reserve, supply)
    assert rules.token_text(tokens) == "480.677707976394441271"
    assert rules.redeem_value(tokens, reserve + 5 * USDC, supply + tokens) == 4_906_414
    assert rules.token_text(rules.quote(102 * USDC, reserve, supply)) == "9805.825242718446601941"


def test_a_payment_of_the_treasury__leaves_the_reserve() -> None:
    owed = ReserveTotals(reserve_e6=7, supply=9, owed_e6=5)
    paid = ReserveFact(ReserveEventKind.TREASURY_PAID, party="0x1", usdc_e6=5)
    assert rules.after(owed, paid) == ReserveTotals(reserve_e6=7, supply=9, owed_e6=0)


def test_a_pause_and_its_end__move_no_number() -> None:
    paused = rules.after(ReserveTotals(), ReserveFact(ReserveEventKind.PAUSED))
    assert paused == ReserveTotals(is_paused=True)
    assert rules.after(paused, ReserveFact(ReserveEventKind.UNPAUSED)) == ReserveTotals()


def test_another_treasury__is_named() -> None:
    changed = ReserveFact(ReserveEventKind.TREASURY_CHANGED, party="0xa")
    assert rules.after(ReserveTotals(), changed).treasury == "0xa"


@pytest.mark.parametrize(("reserve", "supply"), [(0, 1), (1, 0), (-1, 5)])
def test_a_quote__of_a_token_without_seed__is_refused(reserve: int, supply: int) -> None:
    with pytest.raises(InvalidNumberError):
        rules.quote(1, reserve, supply)


@each(
    ("usdc", "owed", "ratio"),
    [
        (1_000_000, 0, "1.000000"),
        (1_500_000, 0, "1.500000"),
        (1_500_000, 500_000, "1.000000"),
        (999_999, 0, "0.999999"),
        (0, 1, "-0.000001"),
    ],
)
def test_the_ratio__counts_what_is_not_the_treasurys(usdc: int, owed: int, ratio: str) -> None:
    assert rules.ratio_text(usdc, 1_000_000, owed) == ratio


def test_the_ratio__is_rounded_down() -> None:
    assert rules.ratio_text(2, 3, 0) == "0.666666"


def test_tokens__are_written_to_the_last_unit() -> None:
    assert rules.token_text(10_000 * ONE + 1) == "10000.000000000000000001"


@each(
    ("before", "usdc", "added"),
    [(0, 9_999, 0), (0, 10_000, 1), (1, 9_999, 1), (9_999, 1, 1), (9_999, 10_000, 1)],
)
def test_credits__come_with_each_whole_cent(before: int, usdc: int, added: int) -> None:
    assert rules.credits_added(before, usdc) == added


@given(st.lists(st.integers(1, 50_000), min_size=1, max_size=30), st.randoms())
def test_credits__are_those_of_the_sum_in_whatever_order_conversions_come_and_go(
    amounts: list[int], random_: object
) -> None:
    total = held = 0
    for amount in amounts:
        held += rules.credits_added(total, amount)
        total += amount
        assert held == total // 10_000
    gone = list(amounts)
    getattr(random_, "shuffle")(gone)  # noqa: B009 (hypothesis' random has no type)
    for amount in gone:
        held -= rules.credits_taken(total, amount)
        total -= amount
        assert held == total // 10_000
    assert (held, total) == (0, 0)


@given(
    st.integers(1, 10**18),
    st.integers(1, 10**24),
    st.integers(10**15, 10**30),
)
def test_buying_and_redeeming_at_once__never_pays_more_than_was_paid(
    amount: int, reserve: int, supply: int
) -> None:
    tokens = rules.quote(amount, reserve, supply)
    back = rules.redeem_value(tokens, reserve + amount, supply + tokens)
    assert back <= amount


@given(st.integers(1, 10**18), st.integers(1, 10**24), st.integers(10**15, 10**30))
def test_a_purchase__never_lowers_the_price(amount: int, reserve: int, supply: int) -> None:
    tokens = rules.quote(amount, reserve, supply)
    assert (reserve + amount) * supply >= reserve * (supply + tokens)

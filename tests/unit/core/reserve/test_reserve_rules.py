"""The reserve token's arithmetic, and the credits of conversions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import InvalidNumberError
from core.reserve import rules
from core.reserve.rules import ReserveEventKind, ReserveFact, ReserveLock, ReserveTotals
from tests.each import each

ONE = 10**18
USDC = 10**6
AT, DAY_S = 1_790_000_000, 86_400


def bought(usdc_e6: int, before: ReserveTotals) -> ReserveFact:
    tokens = rules.quote(usdc_e6, before.reserve_e6, before.supply)
    return ReserveFact(ReserveEventKind.BOUGHT, tokens=tokens, usdc_e6=usdc_e6)


def test_the_page_of_numbers__is_what_the_rules_say() -> None:
    """The table of docs/reserve-token.md, and docs/reserve.md."""
    totals = ReserveTotals()
    assert bought(102 * USDC, totals).tokens == 10_000 * ONE
    totals = rules.after(totals, bought(102 * USDC, totals), AT)
    assert [totals.lock.left_e6(AT + s) for s in (0, 1, DAY_S // 2, DAY_S - 1, DAY_S)] == [
        2_000_000,
        1_999_977,
        1_000_000,
        24,
        0,
    ]
    prices = [
        rules.redeem_price(totals.unlocked_e6(AT + hours * 3_600), totals.supply)
        for hours in (0, 12, 24)
    ]
    assert prices == [10_000, 10_099, 10_198]
    now = AT + DAY_S
    paid = rules.redeem_value(1_000 * ONE, totals.unlocked_e6(now), totals.supply)
    assert paid == 10_198_019
    totals = rules.after(
        totals, ReserveFact(ReserveEventKind.REDEEMED, tokens=1_000 * ONE, usdc_e6=paid), now
    )
    share = rules.redeem_value(4_000 * ONE, totals.unlocked_e6(now), totals.supply)
    assert share == 40_792_079
    totals = rules.after(
        totals, ReserveFact(ReserveEventKind.CONVERTED, tokens=4_000 * ONE, usdc_e6=share), now
    )
    assert (totals.reserve_e6, totals.supply, totals.owed_e6) == (
        52_009_902,
        5_100 * ONE,
        40_792_079,
    )
    assert rules.credits_of(share) == 4_079
    assert rules.redeem_price(totals.unlocked_e6(now), totals.supply) == 10_198
    assert rules.buy_price(totals.reserve_e6, totals.supply) == 10_402


def test_the_quotes_of_the_page__are_what_the_rules_say() -> None:
    """docs/reserve.md, State and quotes."""
    totals = ReserveTotals(103 * USDC, 10_100 * ONE)
    five = bought(5 * USDC, totals)
    assert rules.token_text(five.tokens) == "480.677707976394441271"
    after = rules.after(totals, five, AT)
    assert rules.redeem_value(five.tokens, after.unlocked_e6(AT), after.supply) == 4_901_960
    assert rules.redeem_value(five.tokens, after.reserve_e6, after.supply) == 4_906_414
    assert rules.token_text(bought(102 * USDC, totals).tokens) == "9805.825242718446601941"


def test_a_second_purchase__adds_its_markup_and_its_share_of_what_is_locked() -> None:
    """As tests/contracts/ReserveToken/locked.t.sol has it of the contract."""
    totals = ReserveTotals()
    for at in (AT, AT + DAY_S // 2):
        totals = rules.after(totals, bought(102 * USDC, totals), at)
    ends = AT * 10**9 + 108_158_439_516_952
    assert totals.lock == ReserveLock(3_970_873, AT + DAY_S // 2, ends)


def test_a_purchase_without_a_markup__leaves_the_lock() -> None:
    totals = rules.after(ReserveTotals(), bought(102 * USDC, ReserveTotals()), AT)
    assert rules.after(totals, bought(1, totals), AT + 1).lock == totals.lock


@each(
    ("tokens", "usdc", "supply"),
    [(10**30, 1, ONE), (1, 1, 0), (2**127, 2**127, ONE), (0, 2**127, ONE), (1, 2**127, 10**40)],
)
def test_a_purchase_that_no_contract_makes__locks_for_a_day_at_most(
    tokens: int, usdc: int, supply: int
) -> None:
    """A node's lie must fit the record, where it is repaired."""
    before = ReserveTotals(USDC, supply, lock=ReserveLock(USDC // 2, AT, (AT + DAY_S) * 10**9))
    lie = ReserveFact(ReserveEventKind.BOUGHT, tokens=tokens, usdc_e6=usdc)
    lock = rules.after(before, lie, AT).lock
    assert 0 < lock.amount_e6 < 2**129
    assert lock.until_ns <= (AT + DAY_S) * 10**9


amounts = st.integers(1, 10**15)
waits = st.integers(0, 2 * DAY_S)


@given(st.lists(st.tuples(amounts, waits), min_size=1, max_size=8))
def test_the_redeem_price__never_falls_and_no_end_comes_nearer(
    purchases: list[tuple[int, int]],
) -> None:
    totals, at = ReserveTotals(), AT
    for usdc, wait in purchases:
        before, share = totals, totals.unlocked_e6(at)
        totals = rules.after(totals, bought(usdc, totals), at)
        assert totals.unlocked_e6(at) * before.supply >= share * totals.supply
        assert before.lock.until_ns <= max(totals.lock.until_ns, at * 10**9)
        assert totals.lock.until_ns <= (at + DAY_S) * 10**9
        assert totals.unlocked_e6(at + wait) >= totals.unlocked_e6(at)
        at += wait


def test_a_payment_of_the_treasury__leaves_the_reserve() -> None:
    owed = ReserveTotals(reserve_e6=7, supply=9, owed_e6=5)
    paid = ReserveFact(ReserveEventKind.TREASURY_PAID, party="0x1", usdc_e6=5)
    assert rules.after(owed, paid, AT) == ReserveTotals(reserve_e6=7, supply=9, owed_e6=0)


def test_a_pause_and_its_end__move_no_number() -> None:
    paused = rules.after(ReserveTotals(), ReserveFact(ReserveEventKind.PAUSED), AT)
    assert paused == ReserveTotals(is_paused=True)
    assert rules.after(paused, ReserveFact(ReserveEventKind.UNPAUSED), AT) == ReserveTotals()


def test_another_treasury__is_named() -> None:
    changed = ReserveFact(ReserveEventKind.TREASURY_CHANGED, party="0xa")
    assert rules.after(ReserveTotals(), changed, AT).treasury == "0xa"


@each(("reserve", "supply"), [(0, 1), (1, 0), (-1, 5)])
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

"""Paper trades, how they are sorted, and their sums (docs/shadow-fund.md)."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.market.rules.shadow import (
    EntryFacts,
    PaperSlice,
    ShadowSide,
    bought,
    fingerprint,
    folded,
    result_bps,
    result_usd_e6,
    spread_of,
    transfer_time,
)
from tests.each import each

AT = datetime(2026, 11, 24, 7, 59, tzinfo=UTC)


def facts(**changes: object) -> EntryFacts:
    values: dict[str, object] = {
        "buy_at": "binance",
        "sell_at": "kraken",
        "chain": "eip155:1",
        "letters": ("A", "B"),
        "quotes": ("USDT", "USD"),
        "is_designated": False,
        "is_reopened": False,
        "net_1k_bps": 40.0,
        "is_recurring": False,
        "at": AT,
    }
    return EntryFacts(**values | changes)  # type: ignore[arg-type]  # the fields of EntryFacts


def test_the_worked_example__buys_and_sells_a_thousand_dollars() -> None:
    coins = bought(ShadowSide(20.0, 5.0, 10.0))
    assert coins == pytest.approx(49.9251, abs=1e-4)
    sold = result_usd_e6((coins or 0) - 0.1, ShadowSide(20.5, 5.0, 40.0))
    assert sold == 16_819_970


def test_a_book_that_ends_before__buys_and_sells_nothing() -> None:
    side = ShadowSide(20.0, None, 10.0)
    assert (bought(side), result_usd_e6(50.0, side)) == (None, None)


@each(
    "side",
    [
        ShadowSide(1e30, 0.0, 0.0), ShadowSide(1e308, 0.0, 0.0), ShadowSide(40.01, 0.0, 0.0),
        ShadowSide(float("nan"), 0.0, 0.0), ShadowSide(1e300, 5.0, -1.0),
    ],
)  # fmt: skip
def test_a_price_that_more_than_doubles_the_stake__is_no_result(side: ShadowSide) -> None:
    assert result_usd_e6(50.0, side) is None
    assert result_usd_e6(1e300, side) is None


def test_a_trade__gains_and_loses_its_stake_at_most() -> None:
    assert result_usd_e6(50.0, ShadowSide(40.0, 0.0, 0.0)) == 1_000_000_000
    for side in (ShadowSide(1e-30, 0.0, 0.0), ShadowSide(1e30, 10_001.0, 0.0)):
        assert result_usd_e6(50.0, side) == -1_000_000_000


@each(
    ("pnl", "bps"),
    [(0, 0), (99_999, 0), (100_000, 1), (-1, -1), (-100_000, -1), (-100_001, -2), (10**12, 5_000)],
)
def test_a_result__is_the_basis_point_at_or_below(pnl: int, bps: int) -> None:
    assert result_bps(pnl) == bps


def test_a_transfer_over_a_chain_that_is_not_known__takes_half_an_hour() -> None:
    assert transfer_time(None).total_seconds() == 1_800
    assert transfer_time("eip155:1").total_seconds() == 900


def test_a_fingerprint__has_what_was_known_at_entry() -> None:
    assert fingerprint(facts()) == {
        "gap_cause": "price_lead",
        "deviation_pattern": "fresh",
        "venue_pair": "binance>kraken",
        "chain": "eip155:1",
        "grade_pair": "A/B",
        "session": "asia",
    }


@each(
    ("changes", "cause"),
    [
        ({"is_designated": True, "is_reopened": True}, "designation"),
        ({"is_reopened": True, "quotes": ("USDT", "KRW")}, "transfer_reopened"),
        ({"quotes": ("USDT", "KRW")}, "won_premium"),
        ({"quotes": ("KRW", "KRW"), "letters": ("D", "A")}, "thin_book"),
        ({"letters": (None, "A")}, "unknown"),
    ],
)
def test_the_first_cause_that_holds__is_the_cause(changes: dict[str, object], cause: str) -> None:
    assert fingerprint(facts(**changes))["gap_cause"] == cause


@each(
    ("changes", "pattern"),
    [
        ({"net_1k_bps": 200.0}, "wide"),
        ({"net_1k_bps": 199.9}, "fresh"),
        ({"net_1k_bps": 900.0, "is_recurring": True}, "recurring"),
        ({"net_1k_bps": None}, "unknown"),
    ],
)
def test_the_pattern__follows_size_and_repetition(changes: dict[str, object], pattern: str) -> None:
    assert fingerprint(facts(**changes))["deviation_pattern"] == pattern


def test_no_trade__has_no_mean_and_no_quantile() -> None:
    found = spread_of([], 0)
    assert (found.n, found.mean_bps, set(found.quantiles_bps.values())) == (0, None, {None})


def test_quantiles__are_the_smallest_that_so_many_percent_do_not_exceed() -> None:
    bins = [(-30, 1), (-10, 4), (0, 5), (20, 8), (90, 2)]
    found = spread_of(bins, 20 * 1_000_000)
    assert found.n == 20
    assert found.mean_bps == pytest.approx(10.0)
    assert found.quantiles_bps == {5: -30, 25: -10, 50: 0, 75: 20, 95: 90}


SLICES = st.lists(
    st.builds(
        PaperSlice,
        st.fixed_dictionaries({"chain": st.text("abc", min_size=1, max_size=3)}),
        st.integers(1, 1_000),
        st.integers(0, 1_000),
        st.integers(-(10**15), 10**15),
    ),
    unique_by=lambda one: one.key["chain"],
)


@given(SLICES, st.integers(1, 1_000), st.integers(0, 20))
def test_slices__sum_to_the_whole_however_they_are_folded(
    slices: list[PaperSlice], least: int, most: int
) -> None:
    found = folded(slices, least, most)
    for name in ("n", "hits", "pnl_usd_e6"):
        whole = sum(getattr(one, name) for one in slices)
        assert sum(getattr(one, name) for one in found) == whole
    assert len(found) <= most + 1


def test_slices_below_the_least__are_one() -> None:
    slices = [PaperSlice({"chain": name}, n, 0, n) for name, n in (("a", 5), ("b", 4), ("c", 1))]
    assert [(one.key["chain"], one.n) for one in folded(slices, 5, 10)] == [("a", 5), ("other", 5)]

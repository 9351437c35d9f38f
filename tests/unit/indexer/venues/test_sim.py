"""The simulator: a function of its keys, the same level by level and in bulk, with every part of its
script.
"""

import asyncio
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from core.fund.simulated import VAULTS
from core.market.facts import NoticeKind, NoticeScope
from core.market.rules.grade import LETTERS
from indexer.venues.past import LOOKS, bucket_starts, grades_of, rolled
from indexer.venues.sim.cast import EXCHANGES, HALTED
from indexer.venues.sim.columns import SHOCK_EVERY_S, columns
from indexer.venues.sim.onchain import onchain_of
from indexer.venues.sim.script import script_of
from indexer.venues.sim.venue import SimVenue
from indexer.venues.sim.world import world_of
from tests.each import each

ORIGIN = datetime(2026, 11, 26, 12, tzinfo=UTC)
WORLD = world_of(7, ORIGIN)


def venue_at(exchange: str, at: datetime) -> SimVenue:
    return SimVenue(exchange, WORLD, lambda: at)


def seconds(*days: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([WORLD.origin_s + int(day * 86_400) for day in days])


def row(exchange: str, ticker: str, quote: str = "USDT") -> int:
    return WORLD.row_of[exchange, ticker, quote]


def test_the_world__has_five_hundred_pairs_of_thirteen_exchanges() -> None:
    assert len(WORLD.listings) == 500
    assert all(WORLD.rows_at[one].size >= 25 for one in EXCHANGES)


def test_the_world__has_four_korean_exchanges_with_their_price_of_a_dollar() -> None:
    korean = [one.id for one in EXCHANGES.values() if one.quote == "KRW"]

    assert korean == ["upbit", "bithumb", "coinone", "korbit"]
    assert all((one, "USDT", "KRW") in WORLD.row_of for one in korean)


@each("size", [0, 20_001])
def test_a_world_of_no_size_or_too_large__is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="1 to 20000"):
        world_of(7, ORIGIN, size)


def test_a_world_of_six_thousand__begins_with_the_one_of_five_hundred() -> None:
    large = world_of(7, ORIGIN, 6_000)

    assert len(large.listings) == 6_000
    assert large.listings[:500] == WORLD.listings


def test_a_moment__is_the_same_alone_and_among_others() -> None:
    at_s = seconds(-89.5, -3.25, 0.0, 400.0)
    together = columns(WORLD, at_s)

    for place in range(at_s.size):
        alone = columns(WORLD, at_s[place : place + 1], np.array([77, 401]))
        np.testing.assert_array_equal(alone.mid[:, 0], together.mid[[77, 401], place])
        np.testing.assert_array_equal(alone.spread_bps[:, 0], together.spread_bps[[77, 401], place])


def test_another_seed__is_another_market() -> None:
    other = columns(world_of(8, ORIGIN), seconds(0.0))

    assert not np.isclose(other.mid, columns(WORLD, seconds(0.0)).mid).any()


def test_every_kind_of_outcome__is_declared_in_the_history() -> None:
    past = [one for one in script_of(WORLD).declarations if one.at <= ORIGIN]

    assert {one.kind for one in past} == set(NoticeKind) - {NoticeKind.OTHER, NoticeKind.UNSURE}
    assert NoticeScope.MARGIN in {one.scope for one in past}


def test_after_the_history__a_listing_is_tagged_every_twenty_days() -> None:
    later = [
        one
        for one in script_of(WORLD).declarations
        if one.kind is NoticeKind.ST_TAG and ORIGIN < one.at < ORIGIN + timedelta(days=100)
    ]

    assert len(later) == 5


def test_a_tag__is_on_the_market_from_its_notice_on() -> None:
    rows = np.array([row("mexc", "VELTQ")])

    assert columns(WORLD, seconds(-44.01, -44.0), rows).has_st_tag.tolist() == [[False, True]]


def test_a_decline__takes_nine_tenths_of_the_depth() -> None:
    rows = np.array([row("gate", "VELTQ")])
    before, after = columns(WORLD, seconds(-63.0, -55.0), rows).bid_usd[0]

    assert after < before * 0.3


def test_twelve_coins_of_a_chain__are_halted_at_the_origin() -> None:
    rows = np.array([row("bitget", one) for one in HALTED])
    found = columns(WORLD, seconds(0.0, 1.0), rows)

    assert found.can_deposit.sum(axis=0).tolist() == [0, 12]
    assert found.can_withdraw.sum(axis=0).tolist() == [0, 12]


def test_one_ticker__has_two_contracts_on_one_chain() -> None:
    contracts = {
        one.contract
        for exchange in ("binance", "okx", "gate", "mexc")
        for one in asyncio.run(venue_at(exchange, ORIGIN).networks()).values  # type: ignore[union-attr]  # they tell
        if one.native_base == "XOLTQ"
    }

    assert len(contracts) == 2


def test_a_new_listing__has_no_book_before_its_time() -> None:
    rows = np.array([row("kucoin", "NUVAQ")])

    assert columns(WORLD, seconds(-2.1 / 24, -1.9 / 24), rows).has_book.tolist() == [[False, True]]


@each(
    ("dear", "cheap", "ticker", "bps"),
    [("kucoin", "okx", "ARQNQ", 180), ("gate", "binance", "TRIOQ", 240)],
)
def test_a_gap_between_exchanges__stands(dear: str, cheap: str, ticker: str, bps: int) -> None:
    rows = np.array([row(dear, ticker), row(cheap, ticker)])
    mids = columns(WORLD, seconds(-10.0, 0.0, 10.0), rows).mid

    assert np.abs((mids[0] / mids[1] - 1) * 1e4 - bps).max() < 60


def test_a_removed_pair__leaves_the_base_at_its_other_quote() -> None:
    pairs = np.array([row("binance", "ARB", "USDC"), row("binance", "ARB")])

    assert columns(WORLD, seconds(-1.0), pairs).has_book.tolist() == [[False], [True]]


def test_a_delisted_pair__is_in_no_list() -> None:
    markets = asyncio.run(venue_at("gate", ORIGIN).markets()).values

    assert "VELTQ" not in {one.base for one in markets}


def test_the_supply_of_one_coin__grows_by_an_eighth() -> None:
    before = onchain_of(WORLD, "mexc", "SUPLQ", ORIGIN - timedelta(days=12))
    after = onchain_of(WORLD, "mexc", "SUPLQ", ORIGIN)

    assert before is not None
    assert after is not None
    assert after.supply / before.supply == 1.125
    assert onchain_of(WORLD, "mexc", "NONEQ", ORIGIN) is None


def test_a_bucket__holds_its_looks_in_order() -> None:
    starts_s = bucket_starts(WORLD)
    found = rolled(WORLD, starts_s[-3:], WORLD.rows_at["binance"])
    assert (starts_s.size, starts_s[-1] + 7_200) == (90 * 12, WORLD.origin_s)
    has = found.n == LOOKS

    assert has.any()
    assert (found.low[has] <= np.minimum(found.open, found.close)[has]).all()
    assert (found.high[has] >= np.maximum(found.open, found.close)[has]).all()
    assert (found.spread_p5_bps[has] <= found.spread_p50_bps[has]).all()
    assert (found.spread_p50_bps[has] <= found.spread_p95_bps[has]).all()


def test_a_bucket_without_a_book__is_unknown_and_never_zero() -> None:
    start_s = bucket_starts(WORLD)[-1:]
    found = rolled(WORLD, start_s - 86_400, np.array([row("kucoin", "NUVAQ")]))

    assert found.n.tolist() == [[0]]
    assert np.isnan([found.open, found.depth_2_usd, found.spread_p50_bps, found.rv]).all()


def test_what_an_exchange_cannot_tell_of_transfers__is_unknown_in_the_history() -> None:
    found = rolled(WORLD, bucket_starts(WORLD)[-1:], WORLD.rows_at["coinbase"])

    assert np.isnan(found.deposit_share).all()


@each(("number", "least", "most"), [(1, 1, 2), (-1, 0, 0)])
def test_after_the_origin__a_minute_of_four_hours_is_a_shock_of_an_invented_coin(
    number: int, least: int, most: int
) -> None:
    """Minutes at whose end the spread is above thrice its median."""
    begins_s = (WORLD.origin_s // SHOCK_EVERY_S + number) * SHOCK_EVERY_S
    at_s = np.arange(begins_s + 59, begins_s + SHOCK_EVERY_S, 60)
    rows = [one.row for one in WORLD.listings if one.coin.ticker.startswith("SIM")][:3]
    spread = columns(WORLD, at_s, np.array(rows)).spread_bps
    wide = (spread > 3 * np.median(spread, axis=1, keepdims=True)).sum(axis=1)

    assert len(wide) == 3
    assert ((least <= wide) & (wide <= most)).all()


@each(
    ("exchange", "ticker", "letter"),
    [
        ("binance", "BTC", "A"),
        ("binance", "ETH", "A"),
        ("binance", "SOL", "A"),
        ("mexc", "QORNQ", "F"),
    ],
)
def test_the_markets_of_simulated_vaults__are_graded_by_their_books(
    exchange: str, ticker: str, letter: str
) -> None:
    """By the rules of grades alone, from their books."""
    markets = {market for vault in VAULTS for market in vault.universe}
    assert f"{exchange}_{ticker}_usdt".lower() in markets
    assert len(markets) == 4
    past = rolled(WORLD, bucket_starts(WORLD), np.array([row(exchange, ticker)]))
    assert LETTERS[grades_of(past).letter[0, -1]] == letter

"""Gaps between books at hand: one pair stands for a coin at its exchange."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest

from core.market.facts import Book
from core.market.gaps import SeenGap
from core.market.identity import CoinGraph, ListedCoin
from core.market.queries import KnownListing
from core.market.rules.identity import Coin, identify
from indexer.venues.scan_gaps import GapScan
from tests.unit.core.market.rules.coins import ETH, address, says

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
USDT, USDC, FAR = 1, 2, 3  # two quotes of one coin at kucoin, and gate's


def graph_of(places: Mapping[str, tuple[int, str, float | None]]) -> CoinGraph:
    """AAA at these exchanges: its largest pair, its contract and its fee."""
    coins = {Coin(exchange, "AAA"): of for exchange, of in places.items()}
    statuses = {
        coin: (says(*coin, ETH, contract, fee=fee),) for coin, (_, contract, fee) in coins.items()
    }
    told = [one for of_coin in statuses.values() for one in of_coin]
    listed = tuple(ListedCoin(coin, 7, "AAA", of[0]) for coin, of in coins.items())
    return CoinGraph(listed, statuses, identify(dict.fromkeys(coins, "AAA"), told))


def graph(largest: int = USDT) -> CoinGraph:
    return graph_of({"kucoin": (largest, address(1), 0.1), "gate": (FAR, address(1), 0.1)})


def hold(scan: GapScan, listing_id: int, at: datetime, bid: float, ask: float) -> None:
    exchange = "gate" if listing_id == FAR else "kucoin"
    quote = "USDC" if listing_id == USDC else "USDT"
    listing = KnownListing(listing_id, 7, exchange, "AAA", "AAA", "AAA", quote, "trading")
    levels = ((bid, 1e6),), ((ask, 1e6),)
    book = Book(exchange, f"AAA{quote}", *levels, at, at, False)
    scan.hold(listing, book, 1.0, "par", 10.0)


def pairs(found: list[SeenGap]) -> list[tuple[int, int]]:
    return [(one.buy_id, one.sell_id) for one in found]


def test_two_quotes_that_take_turns_in_being_newer__are_one_gap_all_the_time() -> None:
    scan, seen = GapScan(), set[tuple[int, int]]()
    for minute in range(10):
        at = NOON + timedelta(minutes=minute)
        first, second = (USDT, USDC) if minute % 2 else (USDC, USDT)
        hold(scan, first, at, 100, 101)
        hold(scan, second, at + timedelta(seconds=5), 100, 101)
        hold(scan, FAR, at, 104, 105)
        seen.update(pairs(scan.seen(graph(), at + timedelta(seconds=40))[0]))
    assert seen == {(USDT, FAR)}


@pytest.mark.parametrize(("age_s", "standing"), [(90, USDT), (91, USDC)])
def test_a_pair_whose_book_is_no_longer_fresh__makes_room_for_the_other(
    age_s: int, standing: int
) -> None:
    scan = GapScan()
    hold(scan, USDT, NOON, 100, 101)
    hold(scan, USDC, NOON + timedelta(seconds=40), 100, 101)
    hold(scan, FAR, NOON + timedelta(seconds=40), 104, 105)
    assert pairs(scan.seen(graph(), NOON + timedelta(seconds=41))[0]) == [(USDT, FAR)]
    now = NOON + timedelta(seconds=age_s)
    assert pairs(scan.seen(graph(), now)[0]) == [(standing, FAR)]


def test_the_one_that_stands_in__stays_when_the_larger_is_back() -> None:
    scan = GapScan()
    hold(scan, USDC, NOON, 100, 101)
    hold(scan, FAR, NOON, 104, 105)
    assert pairs(scan.seen(graph(), NOON)[0]) == [(USDC, FAR)]
    hold(scan, USDT, NOON + timedelta(seconds=30), 100, 101)
    now = NOON + timedelta(seconds=31)
    assert pairs(scan.seen(graph(), now)[0]) == [(USDC, FAR)]


def test_a_new_largest_pair__takes_over_when_the_other_is_old() -> None:
    scan = GapScan()
    for id_ in (USDT, USDC):
        hold(scan, id_, NOON, 100, 101)
    hold(scan, FAR, NOON, 104, 105)
    assert pairs(scan.seen(graph(USDC), NOON)[0]) == [(USDC, FAR)]


def test_a_ticker_of_two_coins__shows_the_one_whose_profit_is_known() -> None:
    """The other gains more, and what its withdrawal costs is unknown."""
    known, unknown = ("kucoin", "gate", "mexc"), ("okx", "bybit", "bitget")
    places = {
        exchange: (id_, address(1), 0.1) if exchange in known else (id_, address(2), None)
        for id_, exchange in enumerate((*known, *unknown), 1)
    }
    scan, both = GapScan(), graph_of(places)
    for exchange, (id_, *_) in places.items():
        bid = {"mexc": 103.0, "bitget": 140.0}.get(exchange, 100.0)
        levels = ((bid, 1.0),), ((bid + 1, 1.0),)
        book = Book(exchange, "AAAUSDT", *levels, NOON, NOON, False)
        scan.hold(
            KnownListing(id_, 7, "kucoin", "AAA", "AAA", "AAA", "USDT", "trading"),
            book,
            1.0,
            "par",
            0.0,
        )

    [spread] = scan.seen(both, NOON)[1]
    assert spread.snapshot.venues == ("gate", "kucoin", "mexc")
    assert spread.snapshot.profit_usd == pytest.approx(103 - 101 - 0.1 * 101)

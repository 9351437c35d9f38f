"""Gaps between books at hand: one pair stands for a coin at its exchange."""

from datetime import UTC, datetime, timedelta

import pytest

from core.market.facts import Book, NetworkStatus
from core.market.gaps import SeenGap
from core.market.identity import CoinGraph, ListedCoin
from core.market.queries import KnownListing
from core.market.rules.identity import Coin, identify
from indexer.venues.scan_gaps import GapScan

NOON = datetime(2026, 11, 24, 12, tzinfo=UTC)
CONTRACT = "0x" + "ab" * 20
USDT, USDC, FAR = 1, 2, 3  # two quotes of one coin at kucoin, and gate's


def graph(largest: int = USDT) -> CoinGraph:
    coins = {Coin("kucoin", "AAA"): largest, Coin("gate", "AAA"): FAR}
    statuses = {
        coin: (
            NetworkStatus(
                exchange=coin.exchange,
                native_base="AAA",
                chain="eip155:1",
                can_deposit=True,
                can_withdraw=True,
                contract=CONTRACT,
                is_native=False,
                withdraw_fee=0.1,
            ),
        )
        for coin in coins
    }
    told = [one for of_coin in statuses.values() for one in of_coin]
    listed = tuple(ListedCoin(coin, 7, "AAA", id_) for coin, id_ in coins.items())
    return CoinGraph(listed, statuses, identify(dict.fromkeys(coins, "AAA"), told))


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
    places: dict[str, tuple[str, float | None]]
    places = {"kucoin": ("11", 0.1), "gate": ("11", 0.1), "mexc": ("11", 0.1)}
    places |= {"okx": ("22", None), "bybit": ("22", None), "bitget": ("22", None)}
    ids = {Coin(exchange, "AAA"): id_ for id_, exchange in enumerate(places, 1)}
    statuses = {
        Coin(exchange, "AAA"): (
            NetworkStatus(
                exchange=exchange,
                native_base="AAA",
                chain="eip155:1",
                can_deposit=True,
                can_withdraw=True,
                contract=f"0x{digits * 20}",
                is_native=False,
                withdraw_fee=fee,
            ),
        )
        for exchange, (digits, fee) in places.items()
    }
    told = [one for of_coin in statuses.values() for one in of_coin]
    listed = tuple(ListedCoin(coin, 7, "AAA", id_) for coin, id_ in ids.items())
    both = CoinGraph(listed, statuses, identify(dict.fromkeys(ids, "AAA"), told))
    scan = GapScan()
    for coin, id_ in ids.items():
        bid = {"mexc": 103.0, "bitget": 140.0}.get(coin.exchange, 100.0)
        levels = ((bid, 1.0),), ((bid + 1, 1.0),)
        book = Book(coin.exchange, "AAAUSDT", *levels, NOON, NOON, False)
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

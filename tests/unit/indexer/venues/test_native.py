"""What is read of each exchange's own rows, beyond what all venues have in common."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from core.market.facts import MarketStatus, NetworkStatus, NoticeKind
from tests.each import each
from tests.unit.indexer.venues.native.global_payloads import CONTRACT
from tests.unit.indexer.venues.native.payloads import AAAQ, PAYLOADS, venue_of
from tests.unit.indexer.venues.native.wire import NOW, asked

ETHEREUM = "eip155:1"
EXCHANGES = sorted(PAYLOADS)


@each("exchange", EXCHANGES)
def test_a_book__is_read_level_by_level(exchange: str) -> None:
    book = asked(venue_of(exchange).book(AAAQ[exchange], 20))

    assert book.bids == ((100.0, 2.0), (99.5, 1.0))
    assert book.asks == ((100.5, 1.0), (101.0, 3.0))
    assert not book.is_truncated


@each("exchange", EXCHANGES)
def test_a_ticker__has_the_last_price_and_a_days_volume_in_the_quote(exchange: str) -> None:
    ticker = next(
        one for one in asked(venue_of(exchange).tickers()).values if one.native_id == AAAQ[exchange]
    )

    # coinbase gives the volume in the base alone: 50 at the last price
    volume = 5_012.5 if exchange == "coinbase" else 5_000.0
    assert (ticker.last, ticker.volume_24h_quote) == (100.25, volume)


CHAINS_OF_AAAQ = [
    ("binance", True, ETHEREUM, CONTRACT),
    ("bybit", True, ETHEREUM, None),
    ("okx", True, ETHEREUM, CONTRACT),
    ("kucoin", False, ETHEREUM, CONTRACT),
    ("gate", False, ETHEREUM, CONTRACT),
    ("bitget", False, ETHEREUM, CONTRACT),
    ("mexc", True, ETHEREUM, CONTRACT),
    ("upbit", True, ETHEREUM, None),
    ("bithumb", False, ETHEREUM, None),
    ("coinone", False, "unknown:coinone", None),
    ("kraken", False, "unknown:kraken", None),
]


def networks(exchange: str, *, has_keys: bool) -> list[NetworkStatus]:
    found = asked(venue_of(exchange, has_keys=has_keys).networks())
    assert found is not None
    return list(found.values)


@each(("exchange", "has_keys", "chain", "contract"), CHAINS_OF_AAAQ)
def test_deposits_open_and_withdrawals_closed__are_read_of_a_chain(
    exchange: str, has_keys: bool, chain: str, contract: str | None
) -> None:
    first = networks(exchange, has_keys=has_keys)[0]

    assert (first.native_base, first.chain, first.contract) == ("AAAQ", chain, contract)
    assert (first.can_deposit, first.can_withdraw) == (True, False)


@each(("exchange", "has_keys", "chain", "contract"), CHAINS_OF_AAAQ)
def test_a_missing_flag__is_unknown_neither_open_nor_closed(
    exchange: str, has_keys: bool, chain: str, contract: str | None
) -> None:
    second = networks(exchange, has_keys=has_keys)[1]

    assert (second.can_deposit, second.can_withdraw, second.contract) == (None, None, None)


def test_coinbase__says_the_contract_and_nothing_of_deposits() -> None:
    (only,) = networks("coinbase", has_keys=False)

    assert (only.chain, only.contract) == (ETHEREUM, CONTRACT)
    assert (only.can_deposit, only.can_withdraw) == (None, None)


@each("exchange", ["binance", "bybit", "okx", "mexc", "upbit"])
def test_a_venue_that_wants_a_key_for_networks__without_one_cannot_tell(exchange: str) -> None:
    venue = venue_of(exchange)

    assert asked(venue.networks()) is None
    assert not venue.capabilities.currencies


def test_the_coin_of_a_chain__has_no_contract_and_says_so() -> None:
    ether = next(one for one in networks("binance", has_keys=True) if one.native_base == "ETH")

    assert (ether.chain, ether.contract, ether.is_native) == (ETHEREUM, None, True)


@each("exchange", ["bybit", "kucoin", "gate", "mexc"])
def test_a_special_treatment_tag__is_read_of_the_pair(exchange: str) -> None:
    tags = [one.has_st_tag for one in asked(venue_of(exchange).markets()).values]

    assert tags == [False, True, None]


@pytest.mark.parametrize("exchange", ["upbit", "bithumb"])
def test_a_designation_of_caution__is_read_of_the_pair(exchange: str) -> None:
    """Upbit's five alerts that pass are none: one of them is on for AAAQ."""
    found = [one.has_caution for one in asked(venue_of(exchange).markets()).values]

    assert found == [False, True, None]


@each(
    ("exchange", "status"),
    [
        ("binance", MarketStatus.HALTED),
        ("bybit", MarketStatus.HALTED),
        ("okx", MarketStatus.HALTED),
        ("kucoin", MarketStatus.HALTED),
        ("gate", MarketStatus.DELISTED),
        ("bitget", MarketStatus.HALTED),
        ("mexc", MarketStatus.HALTED),
        ("coinbase", MarketStatus.HALTED),
        ("kraken", MarketStatus.HALTED),
        ("upbit", None),
        ("bithumb", None),
    ],
)
def test_a_pair_that_does_not_trade__says_so_where_the_venue_does(
    exchange: str, status: MarketStatus | None
) -> None:
    found = asked(venue_of(exchange).markets()).values

    assert next(one.status for one in found if one.base == "BBBQ") is status


@pytest.mark.parametrize("exchange", ["bybit", "kraken"])
def test_a_tokenised_equity__is_known_by_the_class_of_its_row(exchange: str) -> None:
    found = {one.base: one.asset_class for one in asked(venue_of(exchange).markets()).values}

    assert (found["AAAQ"], found["CCCQ"]) == ("crypto", "tokenised_equity")


def test_krakens_own_ticker__is_kept_beside_the_common_one() -> None:
    bitcoin = next(one for one in asked(venue_of("kraken").markets()).values if one.base == "BTC")

    assert (bitcoin.native_id, bitcoin.native_base, bitcoin.quote) == ("XXBTZUSD", "XXBT", "USD")


@each(
    ("exchange", "kind"),
    [
        ("bybit", NoticeKind.DELIST),
        ("okx", NoticeKind.DELIST),
        ("kucoin", NoticeKind.DELIST),
        ("bitget", NoticeKind.QUOTE_PAIR_REMOVAL),
        ("bithumb", NoticeKind.DELIST),
    ],
)
def test_a_notice__names_the_coin_and_what_happens_to_it(exchange: str, kind: NoticeKind) -> None:
    found = asked(venue_of(exchange).notices(NOW - timedelta(days=2)))

    assert found is not None
    (only,) = found.values
    assert (only.kind, only.native_bases) == (kind, ("AAAQ",))
    assert only.published_at == datetime(2026, 11, 26, 11, tzinfo=UTC)


def test_gates_end_of_a_pair__is_a_delisting_once_it_is_past() -> None:
    found = asked(venue_of("gate").notices(NOW - timedelta(days=2)))

    assert found is not None
    (only,) = found.values
    assert (only.kind, only.native_bases) == (NoticeKind.DELISTED, ("BBBQ",))


def test_a_key__goes_to_the_call_that_needs_it_and_to_no_other() -> None:
    venue = venue_of("kucoin", has_keys=True)
    asked(venue.markets())
    asked(venue.networks())

    sent = venue._transport.sent  # type: ignore[attr-defined]  # the transport of the payloads
    assert sent == ["GET /api/v2/symbols", "GET /api/v3/currencies"]


@each(
    ("exchange", "fee_bps"),
    [
        *(("binance", 10.0), ("bybit", 10.0), ("okx", 15.0), ("kucoin", 10.0), ("gate", 20.0)),
        *(("bitget", 10.0), ("mexc", 5.0), ("upbit", 5.0), ("bithumb", 25.0), ("coinone", 20.0)),
        *(("coinbase", 120.0), ("kraken", 26.0)),
    ],
)
def test_the_takers_fee__is_what_ccxt_has_of_the_market(exchange: str, fee_bps: float) -> None:
    venue = venue_of(exchange)
    before = venue.taker_fee_bps(AAAQ[exchange])
    asyncio.run(venue.markets())
    assert before is None
    assert venue.taker_fee_bps(AAAQ[exchange]) == pytest.approx(fee_bps)


@each("told", [None, "n/a", -0.001, 0.06, float("nan")])
def test_a_takers_fee_that_is_none__is_unknown(told: object) -> None:
    venue = venue_of("kucoin")
    asyncio.run(venue.markets())
    venue._client.market(venue._symbols[AAAQ["kucoin"]])["taker"] = told
    assert venue.taker_fee_bps(AAAQ["kucoin"]) is None

"""Readings of accounts through the SDK against a local exchange, and what a network can do to it."""

import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from eth_account import Account
from hyperliquid.exchange import Exchange as SdkExchange

from core.errors import OutsideError
from core.perps.hyperliquid_desk import HyperliquidDesk
from core.perps.rules.leg import Degraded
from tests.hl_exchange import Exchange, serving

OWNER, AGENT = "0x" + "a1" * 20, "0x" + "b2" * 20


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Exchange, str]]:
    exchange = Exchange()
    with serving(exchange) as url:
        yield exchange, url


@pytest.fixture
def exchange(served: tuple[Exchange, str]) -> Exchange:
    found, _ = served
    found.reset()
    found.holder(OWNER).value = "1234.5"
    found.holder(OWNER).agents.add(AGENT)
    return found


@pytest.fixture
def venue(exchange: Exchange, served: tuple[Exchange, str]) -> HyperliquidDesk:
    return HyperliquidDesk(served[1], answer_s=1.0)


def read(venue: HyperliquidDesk) -> tuple[int | None, Degraded | None]:
    found = venue.read_account(OWNER, AGENT, "")
    return found.worth_usdc_e6, found.reason


def test_a_sound_account__is_read(venue: HyperliquidDesk) -> None:
    assert read(venue) == (1_234_500_000, None)


def test_the_source__says_that_it_is_simulated(venue: HyperliquidDesk) -> None:
    assert venue.source == "hyperliquid:simulated"


def test_a_withdrawn_approval__is_a_lost_key(venue: HyperliquidDesk, exchange: Exchange) -> None:
    exchange.holder(OWNER).agents.clear()
    assert read(venue) == (1_234_500_000, Degraded.KEY_LOST)


def test_a_unified_account__is_another_mode(venue: HyperliquidDesk, exchange: Exchange) -> None:
    exchange.holder(OWNER).mode = "unifiedAccount"
    assert read(venue) == (None, Degraded.ACCOUNT_MODE)


def test_an_account_that_was_never_there__is_another_mode(
    venue: HyperliquidDesk, exchange: Exchange
) -> None:
    exchange.holders.clear()
    assert read(venue) == (None, Degraded.ACCOUNT_MODE)


LIES = [
    b"",
    b"not json",
    b'{"marginSummary": {"accountValue": NaN}}',
    b'{"marginSummary": {"accountValue": "NaN"}}',
    b'{"marginSummary": {"accountValue": 1e400}}',
    b'{"marginSummary": {"accountValue": "1' + b"0" * 400 + b'"}}',
    b"[" * 100_000,
    b"\xff\xfe",
    b" " * 1_000_001 + b"{}",
]


@pytest.mark.parametrize("lie", LIES, ids=range(len(LIES)))
def test_a_lie__is_no_reading(venue: HyperliquidDesk, exchange: Exchange, lie: bytes) -> None:
    exchange.lies["clearinghouseState"] = lie
    with pytest.raises(OutsideError):
        read(venue)


def test_a_slow_answer__is_given_up(exchange: Exchange, served: tuple[Exchange, str]) -> None:
    exchange.slow_s = 1.0
    hasty = HyperliquidDesk(served[1], answer_s=0.2)
    began = time.monotonic()
    with pytest.raises(OutsideError):
        read(hasty)
    assert time.monotonic() - began < 0.8


def _drip(first: bytes) -> Callable[[socket.socket], None]:
    def serve(listening: socket.socket) -> None:
        taken, _ = listening.accept()
        with taken:
            taken.sendall(first)
            for _ in range(60):
                try:
                    taken.sendall(b"a")
                except OSError:
                    return
                time.sleep(0.05)

    return serve


@pytest.mark.parametrize(
    "first",
    [b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n"],
    ids=["head", "body"],
)
def test_a_byte_now_and_then__is_given_up(first: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = threading.Thread(target=_drip(first), args=(listening,), daemon=True)
        server.start()
        venue = HyperliquidDesk(f"http://127.0.0.1:{listening.getsockname()[1]}", answer_s=0.2)
        began = time.monotonic()
        with pytest.raises(OutsideError):
            read(venue)
        assert time.monotonic() - began < 1.0
        server.join(5)


def sdk_exchange(url: str, key: str) -> SdkExchange:
    meta = {"universe": [{"name": "BTC", "szDecimals": 5}]}
    return SdkExchange(
        Account.from_key(key),
        url,
        meta=meta,
        spot_meta={"universe": [], "tokens": []},
        account_address=OWNER,
    )


def test_the_exchange__takes_an_order_that_the_sdk_signed_with_an_approved_key(
    exchange: Exchange, served: tuple[Exchange, str]
) -> None:
    key = "0x" + "44" * 32
    exchange.holder(OWNER).agents.add(Account.from_key(key).address.lower())
    answer = sdk_exchange(served[1], key).order(
        "BTC", True, 0.001, 60_000, {"limit": {"tif": "Ioc"}}
    )
    assert answer["status"] == "ok"
    assert exchange.orders[0]["account"] == OWNER


def test_the_exchange__refuses_a_key_that_nobody_approved(
    exchange: Exchange, served: tuple[Exchange, str]
) -> None:
    answer = sdk_exchange(served[1], "0x" + "55" * 32).order(
        "BTC", True, 0.001, 60_000, {"limit": {"tif": "Ioc"}}
    )
    assert (answer["status"], exchange.orders) == ("err", [])

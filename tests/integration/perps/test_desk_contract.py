"""The desk through the SDK against a local exchange: orders that somebody else signs."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data

from core.errors import OutsideError
from core.perps.hyperliquid_desk import HyperliquidDesk
from core.perps.rules.orders import (
    OrderAnswer,
    OrderOutcome,
    Side,
    VenueMarket,
    VenueOrder,
    VenuePosition,
)
from tests.hl_exchange import TOO_SMALL, WRONG_PRICE, WRONG_SIZE, Exchange, serving

OWNER = "0x" + "a1" * 20
KEY = Account.from_key("0x" + "44" * 32)
STRANGER = Account.from_key("0x" + "55" * 32)
NOW = datetime(2026, 11, 26, 12, 0, 0, tzinfo=UTC)
NONCE = int(NOW.timestamp()) * 1_000
EXPIRES = NOW + timedelta(seconds=60)
CLOID = "0x" + "5e" * 16
BUY = VenueOrder(
    asset=0, coin="BTC", side=Side.BUY, size_e8=1_000_000, limit_px_e8=60_600 * 10**8,
    reduce_only=False,
)  # fmt: skip
LOW = VenueOrder(
    asset=0, coin="BTC", side=Side.BUY, size_e8=1_000_000, limit_px_e8=50_000 * 10**8,
    reduce_only=False, rests=True,
)  # fmt: skip
FILLED = OrderAnswer(
    outcome=OrderOutcome.ACCEPTED, avg_px_e8=60_000 * 10**8, total_sz_e8=1_000_000, oid=1
)


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Exchange, str]]:
    exchange = Exchange()
    with serving(exchange) as url:
        yield exchange, url


@pytest.fixture
def exchange(served: tuple[Exchange, str]) -> Exchange:
    found, _ = served
    found.reset()
    found.now_ms = lambda: NONCE
    found.holder(OWNER).agents.add(KEY.address.lower())
    return found


@pytest.fixture
def desk(exchange: Exchange, served: tuple[Exchange, str]) -> HyperliquidDesk:
    return HyperliquidDesk(served[1], answer_s=1.0)


def rejected(words: str) -> OrderAnswer:
    return OrderAnswer(outcome=OrderOutcome.REJECTED, venue_words=words)


def relay(
    desk: HyperliquidDesk, order: VenueOrder = BUY, nonce_ms: int = NONCE, key: object = KEY
) -> OrderAnswer:
    digest = desk.to_sign(order, CLOID, nonce_ms=nonce_ms, expires_at=EXPIRES).digest
    signed = key.unsafe_sign_hash(digest)  # type: ignore[attr-defined]
    return desk.relay(
        order, CLOID, nonce_ms=nonce_ms, expires_at=EXPIRES, signature=signed.signature.to_0x_hex()
    )


def test_a_market__has_its_number_its_steps_and_its_mid(
    desk: HyperliquidDesk, exchange: Exchange
) -> None:
    found = desk.markets(["BTC", "NOPE"], "")
    assert found == {"BTC": VenueMarket(asset=0, size_decimals=5, mid_e8=60_000 * 10**8)}


def test_positions__are_signed(desk: HyperliquidDesk, exchange: Exchange) -> None:
    exchange.holder(OWNER).positions = {"BTC": Decimal("-0.5"), "ETH": Decimal(0)}
    assert desk.positions(OWNER, "") == (VenuePosition(coin="BTC", size_e8=-50_000_000),)


def test_a_key__is_taken_for_the_account_that_approved_it(
    desk: HyperliquidDesk, exchange: Exchange
) -> None:
    assert desk.takes_key(OWNER, KEY.address)
    assert not desk.takes_key(OWNER, STRANGER.address)


def test_an_order_that_was_signed_elsewhere__is_filled(
    desk: HyperliquidDesk, exchange: Exchange
) -> None:
    assert relay(desk) == FILLED
    assert exchange.holder(OWNER).positions == {"BTC": Decimal("0.01")}


def test_the_same_order_again__fills_nothing_more(
    desk: HyperliquidDesk, exchange: Exchange
) -> None:
    relay(desk)
    assert relay(desk) == rejected("Invalid nonce: duplicate nonce")
    assert exchange.holder(OWNER).positions == {"BTC": Decimal("0.01")}


def test_a_limit_that_is_not_reached__rests(desk: HyperliquidDesk, exchange: Exchange) -> None:
    resting = OrderAnswer(outcome=OrderOutcome.ACCEPTED, total_sz_e8=0, oid=1)
    assert relay(desk, LOW) == resting
    assert desk.find(OWNER, CLOID) == resting


def test_a_strangers_signature__is_rejected(desk: HyperliquidDesk, exchange: Exchange) -> None:
    words = f"User or API Wallet {STRANGER.address.lower()} does not exist."
    assert relay(desk, key=STRANGER) == rejected(words)
    assert desk.find(OWNER, CLOID) is None


def test_an_order_after_its_expiry__is_rejected(desk: HyperliquidDesk, exchange: Exchange) -> None:
    exchange.now_ms = lambda: int(EXPIRES.timestamp()) * 1_000 + 1
    assert relay(desk) == rejected("Action expired.")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"limit_px_e8": 60_600_5 * 10**7}, WRONG_PRICE),  # 60600.5: six figures
        ({"limit_px_e8": 0}, WRONG_PRICE),
        ({"size_e8": 1_000_100}, WRONG_SIZE),  # 0.010001: six decimals
        ({"size_e8": 16_000}, TOO_SMALL),  # 9.696 USDC
    ],
)
def test_what_is_not_on_the_grid__is_rejected_in_the_venues_words(
    desk: HyperliquidDesk, exchange: Exchange, changed: dict[str, int], words: str
) -> None:
    assert relay(desk, replace(BUY, **changed)) == rejected(words)  # type: ignore[arg-type]
    assert exchange.holder(OWNER).positions == {}


def test_a_close_of_the_whole__may_be_below_the_minimum_and_a_part_may_not(
    desk: HyperliquidDesk, exchange: Exchange
) -> None:
    exchange.holder(OWNER).positions = {"BTC": Decimal("0.00016")}
    sale = replace(BUY, side=Side.SELL, limit_px_e8=59_400 * 10**8, reduce_only=True)
    assert relay(desk, replace(sale, size_e8=15_000)) == rejected(TOO_SMALL)
    whole = relay(desk, replace(sale, size_e8=16_000), NONCE + 1)
    assert whole.outcome is OrderOutcome.ACCEPTED
    assert exchange.holder(OWNER).positions == {"BTC": 0}


def test_the_signature__covers_the_nonce(desk: HyperliquidDesk) -> None:
    first = desk.to_sign(BUY, CLOID, nonce_ms=NONCE, expires_at=EXPIRES)
    assert first != desk.to_sign(BUY, CLOID, nonce_ms=NONCE + 1, expires_at=EXPIRES)


def test_the_typed_data__has_the_digest(desk: HyperliquidDesk) -> None:
    sign = desk.to_sign(BUY, CLOID, nonce_ms=NONCE, expires_at=EXPIRES)
    signable = encode_typed_data(full_message=dict(sign.typed_data))
    by_wallet = KEY.sign_message(signable).signature
    assert by_wallet == KEY.unsafe_sign_hash(sign.digest).signature


def test_a_venue_that_does_not_answer__is_an_error(served: tuple[Exchange, str]) -> None:
    with pytest.raises(OutsideError):
        relay(HyperliquidDesk("http://127.0.0.1:1", answer_s=0.2))

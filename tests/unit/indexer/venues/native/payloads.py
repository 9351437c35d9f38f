"""The payloads of each venue, and how its pair of AAAQ is written."""

from copy import deepcopy
from datetime import datetime

from indexer.venues.ccxt_venue import CcxtVenue, VenueKeys
from tests.unit.indexer.venues.native import global_payloads, long_tail_payloads, national_payloads
from tests.unit.indexer.venues.native.wire import NOW, PayloadTransport

PAYLOADS: dict[str, dict[str, object]] = {
    "binance": global_payloads.BINANCE,
    "bybit": global_payloads.BYBIT,
    "okx": global_payloads.OKX,
    "kucoin": global_payloads.KUCOIN,
    "gate": long_tail_payloads.GATE,
    "bitget": long_tail_payloads.BITGET,
    "mexc": long_tail_payloads.MEXC,
    "upbit": national_payloads.UPBIT,
    "bithumb": national_payloads.BITHUMB,
    "coinone": national_payloads.COINONE,
    "coinbase": national_payloads.COINBASE,
    "kraken": national_payloads.KRAKEN,
}
AAAQ = {
    **dict.fromkeys(("binance", "bybit", "bitget", "mexc"), "AAAQUSDT"),
    **dict.fromkeys(("okx", "kucoin"), "AAAQ-USDT"),
    **dict.fromkeys(("upbit", "bithumb"), "KRW-AAAQ"),
    "gate": "AAAQ_USDT",
    "coinone": "AAAQ/KRW",
    "coinbase": "AAAQ-USD",
    "kraken": "AAAQUSD",
}
KEYS = VenueKeys("a key of a test", "a secret of a test", "a password of a test")


def venue_of(
    exchange: str,
    *,
    has_keys: bool = False,
    now: datetime = NOW,
    **changed: object,
) -> CcxtVenue:
    """`changed`: payloads in place of others, by path. Nobody is spared by keeping a pace here."""
    payloads = deepcopy(PAYLOADS[exchange]) | changed
    return CcxtVenue(
        exchange,
        PayloadTransport(payloads),
        lambda: now,
        keys=KEYS if has_keys else None,
        is_paced=False,
    )

"""The venues that can be read live, by their id."""

from typing import Final

from indexer.venues.quirks.base import VenueQuirks
from indexer.venues.quirks.global_venues import BINANCE, BITGET, BYBIT, GATE, KUCOIN, MEXC, OKX
from indexer.venues.quirks.national_venues import BITHUMB, COINBASE, COINONE, KRAKEN, UPBIT

_ALL: tuple[VenueQuirks, ...] = (
    *(BINANCE, BYBIT, OKX, UPBIT, BITHUMB, COINONE),
    *(COINBASE, KRAKEN, KUCOIN, GATE, BITGET, MEXC),
)
QUIRKS: Final = {one.exchange: one for one in _ALL}

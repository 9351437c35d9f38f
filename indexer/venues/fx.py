"""What a quote currency is worth in US dollars, of the venue's own prices (docs/market-store.md#dollars)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Final

PAR: Final = frozenset({"USD", "USDT", "USDC", "FDUSD", "DAI"})
BRIDGES: Final = ("USDT", "USD", "USDC")


@dataclass(frozen=True, slots=True)
class QuoteRate:
    usd_per_quote: float
    source: str


@dataclass(frozen=True, slots=True)
class PricedPair:
    base: str
    quote: str
    price: float


def rates_of(exchange: str, pairs: Iterable[PricedPair]) -> Mapping[str, QuoteRate]:
    """By quote currency; one without a way to dollars at this venue has no rate."""
    prices = {
        (one.base, one.quote): one.price for one in pairs if isfinite(one.price) and one.price > 0
    }
    rates = {quote: QuoteRate(1.0, "par") for quote in PAR}
    for quote in {quote for _, quote in prices} - PAR:
        for dollar in BRIDGES:
            inverse, straight = prices.get((dollar, quote)), prices.get((quote, dollar))
            if inverse is not None:
                rates[quote] = QuoteRate(1 / inverse, f"{exchange}:{dollar}/{quote}")
                break
            if straight is not None:
                rates[quote] = QuoteRate(straight, f"{exchange}:{quote}/{dollar}")
                break
    return rates

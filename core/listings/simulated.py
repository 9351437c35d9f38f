"""Listings for a service that watches no exchange: real tickers, and made-up ones where those are
used up, marked as simulated, about which nothing is known yet.
"""

from datetime import datetime
from typing import Final

from core.db.engine import WriteSession
from core.listings.queries import add_listings, totals
from core.listings.rules import EXCHANGES, ListedExchange, Symbol

BASES: Final = (
    *("BTC", "ETH", "SOL", "XRP", "DOGE", "ADA", "LINK", "UNI", "AAVE", "ARB"),
    *("OP", "POL", "AVAX", "NEAR", "APT", "SUI", "TRX", "TON", "LTC", "STRK"),
)
EXCHANGE_OF_MADE_UP: Final = "binance"
QUOTES: Final = {"KR": "KRW", "US": "USD"}


def add_simulated(session: WriteSession, now: datetime) -> int:
    """Each base at each exchange, those that are there left as they are; how many were added."""
    return sum(
        add_listings(session, one.id, pairs_of(one), is_simulated=True, now=now)
        for one in EXCHANGES.values()
    )


def add_made_up(session: WriteSession, count: int, now: datetime) -> int:
    """That many more, of tickers that no coin has; how many were added."""
    first = totals(session).simulated + 1
    pairs = [Symbol(f"SIM{n}", "USDT") for n in range(first, first + count)]
    return add_listings(session, EXCHANGE_OF_MADE_UP, pairs, is_simulated=True, now=now)


def pairs_of(exchange: ListedExchange) -> list[Symbol]:
    quote = QUOTES.get(exchange.country or "", "USDT")
    return [Symbol(base, quote) for base in BASES]

"""Which pairs the simulator's exchanges list.

`world_of(seed, origin, size)` is a function of its arguments. `origin` is the end of the scripted
history of 90 days: the same world is found again after a restart by the same three.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from core.listings.rules import Symbol
from indexer.venues.sim.cast import (
    BNB_CHAIN,
    ETHEREUM,
    EXCHANGES,
    MAJORS,
    PARTS,
    SECOND_QUOTES,
    SOLANA,
    STABLES,
    TRON,
    SimCoin,
)
from indexer.venues.sim.noise import key_of

HISTORY: Final = timedelta(days=90)
SIZE: Final = 500
MAX_SIZE: Final = 20_000
# At how many of ten exchanges an ordinary coin is listed, by rank: the smaller, the fewer.
_SHARE: Final = ((60, 5), (200, 6), (10**9, 7))
_HOMES: Final = (ETHEREUM, BNB_CHAIN, SOLANA, ETHEREUM, TRON)
_NATIVE_TICKERS: Final = {("kraken", "BTC"): "XBT", ("kraken", "DOGE"): "XDG"}
_BASE58: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


@dataclass(frozen=True, slots=True)
class SimListing:
    """`row`: its place in every array of the simulator. `coin_row`: that of its coin."""

    row: int
    coin_row: int
    exchange: str
    coin: SimCoin
    quote: str

    @property
    def symbol(self) -> Symbol:
        return Symbol(self.coin.ticker, self.quote)

    @property
    def native_base(self) -> str:
        return _NATIVE_TICKERS.get((self.exchange, self.coin.ticker), self.coin.ticker)

    @property
    def native_id(self) -> str:
        return EXCHANGES[self.exchange].pair.format(base=self.native_base, quote=self.quote)


@dataclass(frozen=True, eq=False)
class SimWorld:
    """`row_of`: (exchange, ticker, quote) -> row. A ticker may belong to two coins, never at one
    exchange.
    """

    seed: int
    origin: datetime
    coins: tuple[SimCoin, ...]
    listings: tuple[SimListing, ...]
    row_of: Mapping[tuple[str, str, str], int]
    rows_by_base: Mapping[tuple[str, str], tuple[int, ...]]
    rows_at: Mapping[str, NDArray[np.int64]]

    @property
    def origin_s(self) -> int:
        return int(self.origin.timestamp())

    @property
    def begins_at(self) -> datetime:
        """The first moment of the scripted history."""
        return self.origin - HISTORY

    def rows_of(self, exchange: str, ticker: str) -> tuple[int, ...]:
        """All pairs of a coin at an exchange."""
        return self.rows_by_base.get((exchange, ticker), ())

    def contract_of(self, coin: SimCoin, chain: str) -> str:
        """The contract of a coin on one of its chains, of the chain's own form."""
        return contract_of(self.seed, coin, chain)


def contract_of(seed: int, coin: SimCoin, chain: str) -> str:
    name = f"{coin.ticker}{'#2' if coin.twin else ''}"
    bits = sum(key_of(seed, "contract", name, chain, part) << (64 * part) for part in range(4))
    if chain.startswith("eip155:"):
        return f"0x{bits & (1 << 160) - 1:040x}"
    digits = "".join(_BASE58[(bits // 58**place) % 58] for place in range(43))
    return f"T{digits[:33]}" if chain == TRON else digits


@lru_cache(maxsize=8)
def world_of(seed: int, origin: datetime, size: int = SIZE) -> SimWorld:
    """`size`: how many listings, at least those of the cast (about 400)."""
    if not 0 < size <= MAX_SIZE:
        raise ValueError(f"the simulator has 1 to {MAX_SIZE} listings, not {size}")
    coins: list[SimCoin] = []
    listings: list[SimListing] = []
    for coin, places in _places(seed):
        if len(listings) >= size:
            break
        coin_row = len(coins)
        coins.append(coin)
        for exchange, quote in places:
            if len(listings) < size:
                listings.append(SimListing(len(listings), coin_row, exchange, coin, quote))
    by_base: dict[tuple[str, str], tuple[int, ...]] = {}
    for one in listings:
        key = one.exchange, one.coin.ticker
        by_base[key] = (*by_base.get(key, ()), one.row)
    return SimWorld(
        seed,
        origin,
        tuple(coins),
        tuple(listings),
        {(one.exchange, one.coin.ticker, one.quote): one.row for one in listings},
        by_base,
        {
            name: np.array([one.row for one in listings if one.exchange == name], dtype=np.int64)
            for name in EXCHANGES
        },
    )


def _places(seed: int) -> Iterator[tuple[SimCoin, list[tuple[str, str]]]]:
    """Each coin with its exchanges and quotes: stablecoins, those with a part, coins that all
    exchanges list, and as many ordinary ones as are asked for.
    """
    for coin in (*STABLES, *PARTS):
        yield coin, [(one, EXCHANGES[one].quote) for one in coin.exchanges]
    for rank, coin in enumerate(MAJORS, 1):
        everywhere = [(one.id, one.quote) for one in EXCHANGES.values()]
        second = [(where, quote) for where, base, quote in SECOND_QUOTES if base == coin.ticker]
        yield replace(coin, rank=rank), everywhere + second
    rank = len(MAJORS)
    while True:
        rank += 1
        coin = _ordinary(seed, rank)
        share = next(share for limit, share in _SHARE if rank <= limit)
        yield (
            coin,
            [
                (one.id, one.quote)
                for one in EXCHANGES.values()
                if key_of(seed, "lists", one.id, coin.ticker) % 10 < share
            ],
        )


def _ordinary(seed: int, rank: int) -> SimCoin:
    key = key_of(seed, "coin", rank)
    price = 10.0 ** ((key % 5_000) / 1_000 - 3)
    return SimCoin(f"SIM{rank}", round(price, 6), (_HOMES[key % len(_HOMES)],), rank=rank)

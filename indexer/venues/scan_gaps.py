"""Gaps between the books that are at hand, each minute (docs/market-store.md#gaps).

Laws
- Only listings of one strong identity are compared, never of one ticker.
- Of an exchange with several quotes of a coin one pair represents it, and stays while its book is
  fresh: two books that take turns in being the newer one would end a gap and begin another each
  minute.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import permutations
from typing import Final

from core.market.facts import Book, MarketStatus
from core.market.gaps import SeenGap, SeenSpread
from core.market.identity import CoinGraph
from core.market.queries import KnownListing
from core.market.rules.arbitrage import ArbPair, ArbSide, is_fresh, pair, snapshot
from core.market.rules.identity import Coin, IdentityVerdict
from core.market.rules.transfer import TransferGate, gate

LEVELS: Final = 25  # per side: 10,000 dollars reach no deeper where there is a gap worth taking


@dataclass(frozen=True, slots=True)
class HeldBook:
    listing: KnownListing
    side: ArbSide


class GapScan:
    """The newest measured book of each listing, in dollars, and which pair represents a coin."""

    def __init__(self) -> None:
        self._books: dict[int, HeldBook] = {}
        self._standing: dict[
            tuple[tuple[str, str], str], int
        ] = {}  # by group and exchange: its pair

    def hold(
        self,
        listing: KnownListing,
        book: Book,
        rate: float,
        fx_source: str,
        taker_fee_bps: float | None,
    ) -> None:
        """`taker_fee_bps`: MarketVenue.taker_fee_bps of its market; None: unknown, and so is what a
        gap with it would make.
        """
        side = ArbSide(
            exchange=book.exchange,
            bids=tuple((price * rate, size) for price, size in book.bids[:LEVELS]),
            asks=tuple((price * rate, size) for price, size in book.asks[:LEVELS]),
            at=book.at or book.received_at,
            taker_fee_bps=taker_fee_bps,
            fx_source=fx_source,
            is_halted=listing.status == MarketStatus.HALTED if listing.status else None,
        )
        self._books[listing.listing_id] = HeldBook(listing, side)

    def seen(self, graph: CoinGraph, now: datetime) -> tuple[list[SeenGap], list[SeenSpread]]:
        """Pairs whose bid is above the other's ask, and assets of three venues and more."""
        gaps, spreads = list[SeenGap](), list[SeenSpread]()
        for books in self._by_identity(graph, now).values():
            gates = _gates(graph, books)
            ticker = graph.identities.tickers.get(books[0].listing.base)
            is_collision = ticker is not None and ticker.verdict is IdentityVerdict.COLLISION
            for buy, sell in permutations(books, 2):
                if sell.side.bids[0][0] <= buy.side.asks[0][0]:
                    continue
                way = gates[buy.side.exchange, sell.side.exchange]
                found = pair(buy.side, sell.side, way, now, is_collision=is_collision)
                if found is not None:
                    gaps.append(_gap(buy, sell, found))
            if len(books) > 2:
                all_sides = snapshot([one.side for one in books], dict(gates), now)
                if all_sides is not None:
                    listing = books[0].listing
                    spreads.append(SeenSpread(listing.asset_id, listing.base, all_sides))
        return gaps, _largest(spreads)

    def _by_identity(
        self, graph: CoinGraph, now: datetime
    ) -> dict[tuple[str, str], list[HeldBook]]:
        """By strong group, one book an exchange."""
        by_place: defaultdict[tuple[tuple[str, str], str], list[HeldBook]] = defaultdict(list)
        strong = graph.identities.strong_group_of
        for held in self._books.values():
            group = strong.get(Coin(held.side.exchange, held.listing.native_base))
            if group is not None:
                by_place[group, held.side.exchange].append(held)
        found: defaultdict[tuple[str, str], list[HeldBook]] = defaultdict(list)
        largest = {one.listing_id for one in graph.coins}
        standing = dict[tuple[tuple[str, str], str], int]()
        for place, books in by_place.items():
            chosen = _standing(books, self._standing.get(place), largest, now)
            standing[place] = chosen.listing.listing_id
            found[place[0]].append(chosen)
        self._standing = standing
        return {group: books for group, books in found.items() if len(books) > 1}


def _standing(
    books: list[HeldBook], last_id: int | None, largest: Collection[int], now: datetime
) -> HeldBook:
    """The pair that represents a coin at its exchange: the one that did, while its book is fresh;
    else a coin's largest pair; else the newest book.
    """
    return max(
        books,
        key=lambda one: (
            is_fresh(one.side, now),
            one.listing.listing_id == last_id,
            one.listing.listing_id in largest,
            one.side.at,
            -one.listing.listing_id,
        ),
    )


def _gates(graph: CoinGraph, books: list[HeldBook]) -> Mapping[tuple[str, str], TransferGate]:
    statuses = {
        one.side.exchange: graph.statuses.get(Coin(one.side.exchange, one.listing.native_base), ())
        for one in books
    }
    return {(a, b): gate(statuses[a], statuses[b]) for a, b in permutations(statuses, 2)}


def _gap(buy: HeldBook, sell: HeldBook, found: ArbPair) -> SeenGap:
    return SeenGap(
        asset_id=buy.listing.asset_id,
        token=buy.listing.base,
        buy_id=buy.listing.listing_id,
        sell_id=sell.listing.listing_id,
        buy_seen_at=buy.side.at,
        sell_seen_at=sell.side.at,
        pair=found,
    )


def _largest(spreads: list[SeenSpread]) -> list[SeenSpread]:
    """One an asset: a ticker of two coins shows the one with more to earn, as answers order them."""
    best = dict[int, SeenSpread]()
    for one in sorted(spreads, key=_earns):
        best[one.asset_id] = one
    return list(best.values())


def _earns(one: SeenSpread) -> tuple[bool, float, float]:
    """What is unknown comes first, by size."""
    profit = one.snapshot.profit_usd
    return profit is not None, profit or 0.0, one.snapshot.size_usd

"""An exchange of the simulator's world behind the port: answers as a live one gives them, at the
clock's moment, with what that exchange cannot tell left out.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from datetime import datetime, timedelta

import numpy as np

from core.market.facts import (
    Book,
    DataSource,
    ListedMarket,
    MarketStatus,
    NetworkStatus,
    Ticker,
    VenueFault,
    VenueNotice,
)
from core.market.onchain import CoinFigures
from indexer.venues.port import (
    MAX_NOTICES,
    Capabilities,
    Parsed,
    VenueError,
    VenueErrorReason,
)
from indexer.venues.sim.cast import EXCHANGES
from indexer.venues.sim.columns import SimColumns, columns, ladder
from indexer.venues.sim.onchain import figures_at
from indexer.venues.sim.script import SimDeclaration, SimKnob, script_of
from indexer.venues.sim.world import SimListing, SimWorld

WATCH_STEP_S = 1.0
DELAY = timedelta(milliseconds=120)  # between an exchange's own time and the receipt


class SimVenue:
    """`lists_past`: also pairs that are not listed yet, or no more; their transfers are closed."""

    def __init__(
        self,
        exchange: str,
        world: SimWorld,
        now: Callable[[], datetime],
        *,
        lists_past: bool = False,
    ) -> None:
        self.exchange = exchange
        self.source = DataSource.SIMULATED
        self.capabilities: Capabilities = EXCHANGES[exchange].capabilities
        self._world, self._now, self._lists_past = world, now, lists_past
        self._rows = world.rows_at[exchange]
        listings = [world.listings[int(row)] for row in self._rows]
        self._listings = {one.native_id: one for one in listings}

    def onchain(self, at: datetime) -> list[CoinFigures]:
        """Of all coins of the world, whichever exchange lists them."""
        return figures_at(self._world, at)

    async def markets(self) -> Parsed[ListedMarket]:
        found, absent = self._now_columns(), self._absent()
        known = self.capabilities
        return Parsed(
            tuple(
                ListedMarket(
                    exchange=self.exchange,
                    native_id=one.native_id,
                    native_base=one.native_base,
                    base=one.coin.ticker,
                    quote=one.quote,
                    status=MarketStatus.TRADING,
                    asset_class=one.coin.asset_class,
                    has_st_tag=bool(found.has_st_tag[place, 0]) if known.st_tag else None,
                    has_caution=bool(found.has_caution[place, 0]) if known.caution else None,
                    listed_at=None,
                    min_size_quote=1.0,
                )
                for place, one in enumerate(self._listings.values())
                if one.row not in absent or self._lists_past
            )
        )

    async def networks(self) -> Parsed[NetworkStatus] | None:
        known = self.capabilities
        if not known.currencies and not known.contracts:
            return None
        found, absent, seen = self._now_columns(), self._absent(), set[str]()
        values: list[NetworkStatus] = []
        for place, one in enumerate(self._listings.values()):
            is_absent = one.row in absent
            if one.coin.ticker in seen or (is_absent and not self._lists_past):
                continue
            seen.add(one.coin.ticker)
            can_deposit, can_withdraw = (
                False if is_absent and known.currencies else _is_open(flags[place, 0])
                for flags in (found.can_deposit, found.can_withdraw)
            )
            for chain in one.coin.chains if known.networks else (f"unknown:{self.exchange}",):
                has_contract = known.contracts and known.networks and not one.coin.is_native
                values.append(
                    NetworkStatus(
                        exchange=self.exchange,
                        native_base=one.native_base,
                        chain=chain,
                        can_deposit=can_deposit,
                        can_withdraw=can_withdraw,
                        contract=self._world.contract_of(one.coin, chain) if has_contract else None,
                        is_native=one.coin.is_native and known.networks,
                        withdraw_fee=round(1.5 / one.coin.price_usd, 8),
                    )
                )
        return Parsed(tuple(values))

    async def tickers(self) -> Parsed[Ticker]:
        found, absent = self._now_columns(), self._absent()
        at = self._now() - DELAY
        half = found.mid * found.spread_bps / 2e4
        quotes = found.volume_24h_usd / found.usd_per_quote
        mids, halves, volumes = (grid[:, 0].tolist() for grid in (found.mid, half, quotes))
        return Parsed(
            tuple(
                Ticker(self.exchange, one.native_id, mid, mid - gap, mid + gap, volume, at)
                for one, mid, gap, volume in zip(
                    self._listings.values(), mids, halves, volumes, strict=True
                )
                if one.row not in absent
            )
        )

    async def book(self, native_id: str, levels: int) -> Book:
        found = await self.books((native_id,), levels)
        if not found.values:
            raise VenueError(
                VenueErrorReason.REFUSED, self.exchange, f"no order book of {native_id[:80]}"
            )
        return found.values[0]

    async def books(self, native_ids: tuple[str, ...], levels: int) -> Parsed[Book]:
        now = self._now()
        if len(native_ids) > self.capabilities.books_a_call:
            raise VenueError(
                VenueErrorReason.REFUSED, self.exchange, "too many order books for one call"
            )
        listings = [self._listings[name] for name in native_ids if name in self._listings]
        faults = [
            VenueFault("unknown_market", name[:80])
            for name in native_ids
            if name not in self._listings
        ]
        if not listings:
            return Parsed((), tuple(faults))
        at = now - DELAY
        found = self._columns(at, np.array([one.row for one in listings]))
        faults += [
            VenueFault("no_book", one.native_id)
            for one, has in zip(listings, found.has_book[:, 0], strict=True)
            if not has
        ]
        return Parsed(tuple(self._written(listings, found, levels, at, now)), tuple(faults))

    async def notices(self, since: datetime) -> Parsed[VenueNotice] | None:
        now = self._now()
        found = [
            self._notice(one)
            for one in script_of(self._world).declarations
            if one.exchange == self.exchange and since <= one.at <= now
        ]
        return Parsed(tuple(found[:MAX_NOTICES]))

    def taker_fee_bps(self, native_id: str) -> float | None:
        return EXCHANGES[self.exchange].taker_fee_bps

    async def watch_book(self, native_id: str) -> AsyncGenerator[Book, None]:
        while True:
            yield await self.book(native_id, self.capabilities.max_book_levels)
            await asyncio.sleep(WATCH_STEP_S)

    async def close(self) -> None:
        """There is nothing to let go of."""

    def _now_columns(self) -> SimColumns:
        return self._columns(self._now(), self._rows)

    def _columns(
        self, at: datetime, rows: np.ndarray[tuple[int], np.dtype[np.int64]]
    ) -> SimColumns:
        return columns(self._world, np.array([int(at.timestamp())]), rows)

    def _absent(self) -> set[int]:
        """The rows of what is not listed yet, or no more."""
        at_s = int(self._now().timestamp())
        return {
            row
            for effect in script_of(self._world).between(at_s, at_s)
            if effect.knob is SimKnob.ABSENT
            for row in effect.rows
        }

    def _notice(self, one: SimDeclaration) -> VenueNotice:
        return VenueNotice(
            exchange=self.exchange,
            id=one.id,
            kind=one.kind,
            scope=one.scope,
            native_bases=(one.ticker,),
            title=one.title,
            url=None,
            published_at=one.at,
            effective_at=one.effective_at,
        )

    def _written(
        self,
        group: list[SimListing],
        found: SimColumns,
        levels: int,
        at: datetime,
        now: datetime,
    ) -> list[Book]:
        of = ladder(found, min(levels, self.capabilities.max_book_levels))
        sides = [one.tolist() for one in (of.bid_price, of.bid_size, of.ask_price, of.ask_size)]
        return [
            Book(
                self.exchange,
                one.native_id,
                tuple(zip(bid_prices, bid_sizes, strict=True)),
                tuple(zip(ask_prices, ask_sizes, strict=True)),
                at,
                now,
                bool(cut),
            )
            for one, has, cut, bid_prices, bid_sizes, ask_prices, ask_sizes in zip(
                group, found.has_book[:, 0], of.is_truncated, *sides, strict=True
            )
            if has
        ]


def _is_open(flag: np.int8) -> bool | None:
    return None if flag < 0 else bool(flag)

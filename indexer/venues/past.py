"""The simulated past, brought into an empty database at once (docs/market-store.md#history).

    world --> listings, networks --> snap_2h (90 days) --> grade_hour --> notices, outcomes
                                 --> snap_1m (a day, each 10 minutes) --> listing_state
                                 --> warnings, by the rules that live ones are issued by, into the ledger

Law: it happens once, into a database without market data, in one transaction. All of it is marked
as simulated; the warnings as imported.
"""

import asyncio
import itertools
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from core.db.engine import WriteSession
from core.market import copying, history, identity, networks, outcomes, parts, queries, samples
from core.market.facts import DataSource, ListedMarket, MarketStatus, NetworkStatus
from core.market.rules.book import MeasureGrid
from core.market.rules.notices import TagSighting
from indexer.venues.fx import PAR
from indexer.venues.past_warnings import warnings_of
from indexer.venues.sim.columns import SimColumns, columns
from indexer.venues.sim.history import BUCKET_S, SimBuckets, bucket_starts, buckets
from indexer.venues.sim.venue import SimVenue
from indexer.venues.sim.world import SimListing, SimWorld

Spans: TypeAlias = list[tuple[str, slice]]

SAMPLE_S: Final = 600
BUCKETS_30_DAYS: Final = 360
DAY_S: Final = 86_400
ROLLED: Final = (
    *("open", "high", "low", "close", "usd_per_quote", "spread_p5_bps", "spread_p50_bps"),
    *("spread_p95_bps", "depth_1_usd", "depth_2_usd", "slip_1k_bps", "slip_10k_bps"),
    *("volume_24h_usd", "rv", "deposit_share", "withdraw_share", "truncated_share"),
)


@dataclass(frozen=True, slots=True)
class Imported:
    listings: int
    rollups: int
    grades: int
    samples: int
    outcomes: int
    warnings: int


def import_past(session: WriteSession, world: SimWorld, now: datetime) -> Imported:
    """Errors: HistoryRefusedError when the database has warnings already."""
    starts_s = bucket_starts(world)
    begins = datetime.fromtimestamp(int(starts_s[0]), UTC)
    rolled, graded_at = (
        _Filled(session, table, times_s, now)
        for table, times_s in ((parts.ROLLUPS, starts_s), (parts.GRADES, starts_s + BUCKET_S))
    )
    parts.ensure(
        session, parts.SAMPLES, world.origin - timedelta(days=1, hours=1), now + parts.AHEAD
    )
    # One thread has the session and another makes its rows, while the next figures are computed.
    with ThreadPoolExecutor(1) as database, ThreadPoolExecutor(1) as encoder:
        learning = database.submit(_learn, session, world, begins)
        reading = database.submit(lambda: identity.graph_of(identity.told(session)))
        looked, found = list[Future[int]](), list[SimBuckets]()
        for exchange, rows in world.rows_at.items():
            if rows.size:
                one = buckets(world, starts_s, rows)
                found.append(one)
                looks = columns(world, _looks_s(world), rows)
                ids = learning.result()
                rolled.write(database, encoder.submit(_rollups, one, ids, rolled.spans))
                batch = encoder.submit(_batch, looks, world, exchange, ids)
                looked.append(database.submit(_copy_samples, session, batch, looks, now))
        rolling = database.submit(rolled.attach)
        graded = history.grades_of([windows(one) for one in found])
        ids, graph = learning.result(), reading.result()
        for one, of in zip(found, graded, strict=True):
            graded_at.write(database, encoder.submit(_grades, one, of, ids, graded_at.spans))
        lettering = database.submit(graded_at.attach)
        past = warnings_of(world, graph, found, graded, ids)
        copied = rolling.result(), lettering.result(), sum(done.result() for done in looked)
    for one in found:
        _copy_transfers(session, world, one, ids)
    told = sum(_learn_notices(session, world, one, now) for one in found)
    written = history.import_warnings(session, past)
    history.remember(session, world.seed, world.origin, len(world.listings), now)
    return Imported(len(ids), *copied, told, written)


class _Filled:
    """A table's past, written into partitions that get their indexes when all rows are in. `spans`:
    which columns of the grids go where; to the table itself where a partition was there before.
    """

    def __init__(
        self, session: WriteSession, table: str, times_s: npt.NDArray[np.int64], now: datetime
    ) -> None:
        first = datetime.fromtimestamp(int(times_s[0]), UTC)
        self._session, self._table = session, table
        self._loose = parts.loose(session, table, first, now + parts.AHEAD)
        self._writing = list[Future[int]]()
        self.spans = self._spans(times_s)

    def _spans(self, times_s: npt.NDArray[np.int64]) -> Spans:
        places = np.full(times_s.size, -1)
        for number, part in enumerate(self._loose):
            places[(times_s >= part.since.timestamp()) & (times_s < part.ends.timestamp())] = number
        edges = [0, *(np.flatnonzero(np.diff(places)) + 1).tolist(), times_s.size]
        names = [*(part.table for part in self._loose), self._table]
        return [(names[places[a]], slice(a, b)) for a, b in itertools.pairwise(edges)]

    def write(self, database: Executor, made: Future[list[tuple[str, copying.CopyRows]]]) -> None:
        self._writing.append(database.submit(self._copy, made))

    def _copy(self, made: Future[list[tuple[str, copying.CopyRows]]]) -> int:
        return sum(copying.copy_rows(self._session, table, rows) for table, rows in made.result())

    def attach(self) -> int:
        """After all that was to be written; how many rows there are."""
        count = sum(done.result() for done in self._writing)
        for part in self._loose:
            parts.attach(self._session, part)
        return count


def _learn(session: WriteSession, world: SimWorld, begins: datetime) -> npt.NDArray[np.int64]:
    """All pairs of the world, by row: the id of each."""
    ids = np.zeros(len(world.listings), dtype=np.int64)
    for exchange, rows in world.rows_at.items():
        if not rows.size:
            continue
        venue = SimVenue(exchange, world, lambda: world.origin)
        told = {one.native_id: one for one in asyncio.run(venue.markets()).values}
        here = [world.listings[int(row)] for row in rows]
        listed = [told.get(one.native_id) or _past_market(one) for one in here]
        queries.learn_markets(session, exchange, listed, DataSource.SIMULATED, begins)
        known = {one.native_id: one for one in queries.known_listings(session, exchange)}
        for one in here:
            ids[one.row] = known[one.native_id].listing_id
        status = asyncio.run(venue.networks())
        if status is not None:
            gone = [one for one in here if one.native_id not in told]
            lost = [past for one in gone for past in _past_networks(world, venue, one)]
            networks.learn_networks(session, exchange, (*status.values, *lost), begins)
    return ids


def _past_market(one: SimListing) -> ListedMarket:
    """A pair that its exchange does not list any more, or not yet."""
    return ListedMarket(
        exchange=one.exchange,
        native_id=one.native_id,
        native_base=one.native_base,
        native_quote=one.quote,
        base=one.coin.ticker,
        quote=one.quote,
        status=MarketStatus.TRADING,
        asset_class=one.coin.asset_class,
        has_st_tag=None,
        has_caution=None,
        listed_at=None,
        min_size_quote=None,
    )


def _past_networks(world: SimWorld, venue: SimVenue, one: SimListing) -> list[NetworkStatus]:
    """Of a coin that its exchange does not list any more: what its contracts were."""
    tells = venue.capabilities
    if not (tells.contracts and tells.networks):
        return []
    return [
        NetworkStatus(
            exchange=one.exchange,
            native_base=one.native_base,
            chain=chain,
            can_deposit=False,
            can_withdraw=False,
            contract=None if one.coin.is_native else world.contract_of(one.coin, chain),
            is_native=one.coin.is_native,
            withdraw_fee=None,
        )
        for chain in one.coin.chains
    ]


def _copy_transfers(
    session: WriteSession, world: SimWorld, found: SimBuckets, ids: npt.NDArray[np.int64]
) -> int:
    """Openings and closings of the past, at the ends of their buckets, on a coin's first chain."""
    assets = queries.assets_of(session, ids[found.rows].tolist())
    rows, seen = list[networks.PastTransfer](), set[str]()
    for place, row in enumerate(found.rows.tolist()):
        listing = world.listings[row]
        if listing.native_base in seen:
            continue
        seen.add(listing.native_base)
        for direction in networks.DIRECTIONS:
            share = getattr(found, f"{direction}_share")[place]
            is_open = share > 0
            turns = np.flatnonzero(is_open[1:] != is_open[:-1]) + 1
            rows += [
                networks.PastTransfer(
                    exchange=listing.exchange,
                    native_base=listing.native_base,
                    chain=listing.coin.chains[0],
                    asset_id=assets[int(ids[row])],
                    direction=direction,
                    is_open=bool(is_open[turn]),
                    at=datetime.fromtimestamp(int(found.starts_s[turn]) + BUCKET_S - 1, UTC),
                )
                for turn in turns
                if not np.isnan(share[turn]) and not np.isnan(share[turn - 1])
            ]
    return networks.add_past(session, rows)


def windows(found: SimBuckets) -> history.PastWindows:
    return history.PastWindows(
        expected=found.expected,
        n=found.n,
        rejected=found.rejected,
        depth_usd=found.depth_2_usd,
        spread_bps=found.spread_p50_bps,
        slip_10k_bps=found.slip_10k_bps,
        volume_24h_usd=found.volume_24h_usd,
        truncated_share=found.truncated_share,
    )


def _rollups(
    found: SimBuckets, ids: npt.NDArray[np.int64], spans: Spans
) -> list[tuple[str, copying.CopyRows]]:
    """Buckets from a pair's first book on."""
    listed = _listed(found)
    return [(table, _rollups_of(found, ids, listed, span)) for table, span in spans]


def _rollups_of(
    found: SimBuckets, ids: npt.NDArray[np.int64], listed: npt.NDArray[np.bool_], span: slice
) -> copying.CopyRows:
    kept = listed[:, span]
    n, rejected = found.n[:, span][kept], found.rejected[:, span][kept]
    body: dict[str, copying.CopyColumn] = {
        **_keys(found, ids, kept, found.starts_s[span], "bucket"),
        "expected": copying.integers(np.full(n.shape, found.expected), bits=32),
        "n": copying.integers(n, bits=32),
        "rejected": copying.integers(rejected, bits=32),
        "gaps": copying.integers((n + rejected < found.expected).astype(np.int64), bits=32),
        **{name: copying.floats(getattr(found, name)[:, span][kept]) for name in ROLLED},
        "coverage": copying.floats(n / found.expected),
    }
    return copying.rows_of(body)


def _grades(
    found: SimBuckets, grades: history.PastGrades, ids: npt.NDArray[np.int64], spans: Spans
) -> list[tuple[str, copying.CopyRows]]:
    """A grade stands at the end of its window."""
    listed, answer = _listed(found), list[tuple[str, copying.CopyRows]]()
    for table, span in spans:
        kept = np.zeros_like(listed)
        kept[:, span] = listed[:, span]
        keys = _keys(found, ids, listed[:, span], found.starts_s[span] + BUCKET_S, "hour")
        body = keys | history.grade_columns(grades, kept)
        answer.append((table, copying.rows_of(body)))
    return answer


def _keys(
    found: SimBuckets,
    ids: npt.NDArray[np.int64],
    kept: npt.NDArray[np.bool_],
    times_s: npt.NDArray[np.int64],
    name: str,
) -> dict[str, copying.CopyColumn]:
    listings = np.broadcast_to(ids[found.rows][:, None], kept.shape)[kept]
    times_us = np.broadcast_to(times_s * 1_000_000, kept.shape)[kept]
    return {"listing_id": copying.integers(listings), name: copying.times(times_us)}


def _listed(found: SimBuckets) -> npt.NDArray[np.bool_]:
    """From the first book of each pair on."""
    return np.asarray(np.logical_or.accumulate(found.n + found.rejected > 0, axis=1))


def _looks_s(world: SimWorld) -> npt.NDArray[np.int64]:
    """The day before the origin, each ten minutes."""
    ends_s = world.origin_s // SAMPLE_S * SAMPLE_S
    return np.arange(ends_s - DAY_S, ends_s, SAMPLE_S)


def _copy_samples(
    session: WriteSession, made: Future[samples.SampleBatch], found: SimColumns, now: datetime
) -> int:
    """The last look is shown."""
    batch = made.result()
    count = samples.copy_samples(session, batch)
    samples.show(session, batch, datetime.fromtimestamp(int(found.at_s[-1]), UTC), now)
    return count


def _batch(
    found: SimColumns, world: SimWorld, exchange: str, ids: npt.NDArray[np.int64]
) -> samples.SampleBatch:
    """All rows at all times. What has no book is no look at all; a crossed one is a fault."""
    kept = found.has_book
    bids, asks = (
        [found.depth_usd(within, is_bid=is_bid)[kept] for within in (0.005, 0.01, 0.02)]
        for is_bid in (True, False)
    )
    slips = [
        found.slip_bps(size, is_buy=is_buy)[kept]
        for size in (1_000.0, 10_000.0)
        for is_buy in (True, False)
    ]
    times_us = np.broadcast_to(found.at_s * 1_000_000, kept.shape)[kept]
    near = bids[2] + asks[2]
    crossed = found.is_crossed[kept]
    grid = MeasureGrid(
        mid=found.mid[kept],
        spread_bps=found.spread_bps[kept],
        bid_05_usd=bids[0],
        ask_05_usd=asks[0],
        bid_1_usd=bids[1],
        ask_1_usd=asks[1],
        bid_2_usd=bids[2],
        ask_2_usd=asks[2],
        slip_buy_1k_bps=slips[0],
        slip_sell_1k_bps=slips[1],
        slip_buy_10k_bps=slips[2],
        slip_sell_10k_bps=slips[3],
        imbalance=np.where(near > 0, (bids[2] - asks[2]) / np.where(near > 0, near, 1), 0.0),
        usd_per_quote=np.broadcast_to(found.usd_per_quote, kept.shape)[kept],
        is_truncated=found.is_truncated[kept],
    )
    sources = [fx_source(exchange, world.listings[int(row)].quote) for row in found.rows]
    places = np.broadcast_to(np.arange(len(found.rows))[:, None], kept.shape)[kept]
    return samples.SampleBatch(
        minutes_us=times_us,
        listing_ids=ids[found.rows][places],
        every_s=np.full(len(places), SAMPLE_S),
        measures=grid,
        fx_sources=[
            None if bad else sources[at] for at, bad in zip(places.tolist(), crossed, strict=True)
        ],
        volumes_usd=found.volume_24h_usd[kept],
        can_deposit=found.can_deposit[kept],
        can_withdraw=found.can_withdraw[kept],
        venue_at_us=times_us,
        received_at_us=times_us,
        faults=["crossed" if bad else None for bad in crossed],
    )


def fx_source(exchange: str, quote: str) -> str:
    return "par" if quote in PAR else f"{exchange}:USDT/{quote}"


def _learn_notices(session: WriteSession, world: SimWorld, found: SimBuckets, now: datetime) -> int:
    """What the exchange declared until the origin; tags by what its market lists showed."""
    exchange = world.listings[int(found.rows[0])].exchange
    venue = SimVenue(exchange, world, lambda: world.origin)
    told = asyncio.run(venue.notices(world.begins_at))
    if told is None:
        return 0
    places = {world.listings[int(row)].native_base: at for at, row in enumerate(found.rows)}
    shows_tags = venue.capabilities.st_tag

    def sightings(native_base: str, at: datetime) -> tuple[TagSighting, ...]:
        place = places.get(native_base)
        if place is None or not shows_tags:
            return ()
        before = found.starts_s + BUCKET_S <= int(at.timestamp())  # seen at a bucket's end
        return tuple(
            TagSighting(
                datetime.fromtimestamp(int(start) + BUCKET_S - 1, UTC), bool(has), number == 0
            )
            for number, (start, has) in enumerate(
                zip(found.starts_s[before], found.has_st_tag[place][before], strict=True)
            )
        )[-BUCKETS_30_DAYS:]

    return outcomes.learn_notices(session, told.values, now, sightings)

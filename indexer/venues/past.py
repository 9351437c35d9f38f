"""The simulated past, brought into an empty database at once (docs/market-store.md#history).

    world --> listings, networks
          --> two looks in each two hours of 90 days: snap_2h --> grade_hour --> warnings, once a day
          --> a look each ten minutes of the last day: snap_1m --> listing_state
          --> closings and openings, notices and what they declare

Law: it happens once, into a database without market data, in one transaction. All of it is marked
as simulated; the warnings as imported.
"""

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np

from core.db.engine import WriteSession
from core.market import copying, grading, history, identity, networks, outcomes, parts, queries
from core.market import samples as series
from core.market.facts import DataSource
from core.market.ledger import writer as warnings
from core.market.rules import grade
from core.market.rules.book import MeasureGrid, measure_many
from core.market.rules.grade import GradeColumns, ScoreColumns
from core.market.rules.notices import TagSighting
from indexer.venues.past_warnings import BUCKET_S, PastMarket, warnings_of
from indexer.venues.scan_books import PAR
from indexer.venues.sim.cast import EXCHANGES
from indexer.venues.sim.columns import Rows, SimColumns, columns, ladder
from indexer.venues.sim.noise import Floats, Seconds
from indexer.venues.sim.script import CLOSED, script_of
from indexer.venues.sim.venue import SimVenue
from indexer.venues.sim.world import HISTORY, SimWorld

LOOKS: Final = 2  # of a bucket
SAMPLE_S: Final = 600
DAY_S: Final = 86_400
BUCKETS_A_DAY: Final = 12
BLOCK: Final = 120  # pairs whose past is at hand at once
PIECE: Final = 10_000  # books that are measured at once


@dataclass(frozen=True, slots=True)
class Imported:
    listings: int
    rollups: int
    warnings: int


def import_past(session: WriteSession, world: SimWorld, now: datetime) -> Imported:
    """Errors: HistoryRefusedError when the database has warnings already."""
    starts_s = bucket_starts(world)
    begins = datetime.fromtimestamp(int(starts_s[0]), UTC)
    for table, first in (
        (parts.ROLLUPS, begins),
        (parts.GRADES, begins),
        (parts.SAMPLES, world.origin - timedelta(days=1, hours=1)),
    ):
        parts.ensure(session, table, first, now + parts.AHEAD)
    ids = _learn(session, world, begins)
    graph = identity.graph_of(identity.coin_rows(session))
    every = np.arange(len(world.listings))
    writing, past = list[Future[int]](), list[warnings.PastWarning]()
    # A thread has the session, while the next figures are computed.
    with ThreadPoolExecutor(1) as database:
        for rows in np.array_split(every, -(-every.size // BLOCK)):
            market = rolled(world, starts_s, rows)
            graded = grades_of(market)
            writing.append(database.submit(_write, session, world, market, graded, ids, now))
            past += warnings_of(world, graph, market, graded.letter, ids)
    rollups = sum(one.result() for one in writing)
    _add_transfers(session, world, ids)
    for exchange in world.rows_at:
        _learn_notices(session, world, exchange, now)
    written = warnings.import_history(session, past)
    history.remember(session, world.seed, world.origin, len(world.listings), now)
    return Imported(len(ids), rollups, written)


def _write(
    session: WriteSession,
    world: SimWorld,
    market: PastMarket,
    graded: ScoreColumns,
    ids: Rows,
    now: datetime,
) -> int:
    """How many roll-ups."""
    count = _copy_rollups(session, market, ids)
    _copy_grades(session, market, graded, ids)
    _copy_samples(session, world, market.rows, ids, now)
    return count


def bucket_starts(world: SimWorld) -> Seconds:
    """Of the scripted history: on whole two hours, those that end at or before the origin."""
    ends_s = world.origin_s // BUCKET_S * BUCKET_S
    return np.arange(ends_s - int(HISTORY.total_seconds()), ends_s, BUCKET_S)


def rolled(world: SimWorld, starts_s: Seconds, rows: Rows) -> PastMarket:
    """Two looks of each bucket, as a roll-up has them."""
    found = [_rolled(world, starts_s, some) for some in _pieces(rows, starts_s.size * LOOKS)]
    names = [one.name for one in fields(PastMarket) if one.name != "starts_s"]
    joined = {name: np.concatenate([getattr(one, name) for one in found]) for name in names}
    return PastMarket(starts_s=starts_s, **joined)


def _rolled(world: SimWorld, starts_s: Seconds, rows: Rows) -> PastMarket:
    offsets = np.arange(LOOKS) * (BUCKET_S // LOOKS) + BUCKET_S // LOOKS // 2
    found = columns(world, (starts_s[:, None] + offsets).reshape(-1), rows)
    of = _measured(found)
    shape = rows.size, starts_s.size, LOOKS

    def looks(grid: Floats) -> tuple[Floats, Floats]:
        first, second = np.moveaxis(grid.reshape(shape), 2, 0)
        return first, second

    def middle(grid: Floats) -> Floats:
        """Unknown where no book was measured."""
        low, high = looks(np.where(np.isnan(of.mid).reshape(grid.shape), np.nan, grid))
        between = (np.fmin(low, high) + np.fmax(low, high)) / 2
        return np.where(np.isfinite(between), between, np.nan)

    def worse(buy: Floats, sell: Floats) -> Floats:
        """A side that ends before the amount is dearer than any figure."""
        return np.maximum(*(np.nan_to_num(side, nan=np.inf) for side in (buy, sell)))

    first, last = looks(of.mid)
    spreads = looks(of.spread_bps)
    least, most = np.fmin(*spreads), np.fmax(*spreads)
    n = (~np.isnan(of.mid)).reshape(shape).sum(axis=2)
    flags = {
        name: np.where(grid < 0, np.nan, grid.astype(float)).reshape(shape).mean(axis=2)
        for name, grid in (("deposit", found.can_deposit), ("withdraw", found.can_withdraw))
    }
    return PastMarket(
        rows=rows,
        starts_s=starts_s,
        n=n,
        open=np.where(np.isnan(first), last, first),
        high=np.fmax(first, last),
        low=np.fmin(first, last),
        close=np.where(np.isnan(last), first, last),
        usd_per_quote=looks(found.usd_per_quote)[1],
        spread_p5_bps=least + 0.05 * (most - least),
        spread_p50_bps=(least + most) / 2,
        spread_p95_bps=least + 0.95 * (most - least),
        depth_1_usd=middle(np.minimum(of.bid_1_usd, of.ask_1_usd)),
        depth_2_usd=middle(np.minimum(of.bid_2_usd, of.ask_2_usd)),
        slip_1k_bps=middle(worse(of.slip_buy_1k_bps, of.slip_sell_1k_bps)),
        slip_10k_bps=middle(worse(of.slip_buy_10k_bps, of.slip_sell_10k_bps)),
        volume_24h_usd=middle(found.volume_24h_usd),
        rv=np.abs(np.log(last / first)),
        deposit_share=flags["deposit"],
        withdraw_share=flags["withdraw"],
        truncated_share=np.where(n > 0, looks(of.is_truncated.astype(float))[1], np.nan),
        has_st_tag=found.has_st_tag.reshape(shape)[:, :, -1],
        has_caution=found.has_caution.reshape(shape)[:, :, -1],
    )


def _measured(found: SimColumns) -> MeasureGrid:
    """Each look, all times of a pair together; what has no book is unknown throughout."""
    return measure_many(ladder(found), found.usd_per_quote.reshape(-1))


def _pieces(rows: Rows, times: int) -> list[Rows]:
    return np.array_split(rows, -(-rows.size * times // PIECE))


def grades_of(market: PastMarket) -> ScoreColumns:
    """The grade at the end of each bucket, of that bucket alone, with the hysteresis of those before:
    (pairs, buckets) each.
    """
    shape = market.n.shape
    seen = market.n > 0
    first = np.where(seen.any(axis=1), seen.argmax(axis=1), shape[1])[:, None]
    age = np.clip(np.arange(shape[1]) - first + 1, 0, BUCKETS_A_DAY)
    inputs = {
        "depth_usd": np.nan_to_num(market.depth_2_usd),
        "spread_bps": np.nan_to_num(market.spread_p50_bps),
        "slip_10k_bps": market.slip_10k_bps,
        "volume_24h_usd": market.volume_24h_usd,
        "volume_30d_mean_usd": market.volume_30d_usd,
        "uptime": market.n / LOOKS,
        "hours": age * 2.0,
        "coverage": market.n / LOOKS,
    }
    scored = grade.grade_many(
        GradeColumns(
            **{name: one.reshape(-1) for name, one in inputs.items()},
            is_truncated=(market.truncated_share > 0.5).reshape(-1),
        )
    )
    state, letter = grade.no_states(shape[0]), np.full(shape, -1, dtype=np.int8)
    for at in range(shape[1]):
        places = np.arange(shape[0]) * shape[1] + at
        state = grade.step_many(
            state, ScoreColumns(*(getattr(scored, of.name)[places] for of in fields(scored)))
        )
        letter[:, at] = state.letter
    return ScoreColumns(
        score=np.where(letter < 0, np.nan, scored.score.reshape(shape)),
        letter=letter,
        parts=np.where(letter[:, :, None] < 0, np.nan, scored.parts.reshape(*shape, -1)),
        gates=scored.gates.reshape(*shape, -1),
        is_provisional=scored.is_provisional.reshape(shape),
    )


def _learn(session: WriteSession, world: SimWorld, begins: datetime) -> Rows:
    """All pairs of the world, by row: the id of each."""
    ids = np.zeros(len(world.listings), dtype=np.int64)
    for exchange, rows in world.rows_at.items():
        if not rows.size:
            continue
        venue = SimVenue(exchange, world, lambda: world.origin, lists_past=True)
        listed = asyncio.run(venue.markets()).values
        queries.learn_markets(session, exchange, listed, DataSource.SIMULATED, begins)
        known = {one.native_id: one for one in queries.known_listings(session, exchange)}
        for row in rows.tolist():
            ids[row] = known[world.listings[row].native_id].listing_id
        status = asyncio.run(venue.networks())
        if status is not None:
            networks.learn_networks(session, exchange, status.values, begins)
    return ids


def _copy_rollups(session: WriteSession, market: PastMarket, ids: Rows) -> int:
    """Buckets from a pair's first book on."""
    kept = _listed(market)
    n = market.n[kept]
    counts = {
        "expected": np.full(n.shape, LOOKS),
        "n": n,
        "rejected": np.zeros(n.shape),
        "gaps": (n < LOOKS).astype(np.int64),
    }
    figures = {name: getattr(market, name)[kept] for name in PastMarket.ROLLED}
    return copying.copy_columns(
        session,
        parts.ROLLUPS,
        {
            **_keys(market, ids, "bucket", 0),
            **{name: copying.integers(values, bits=32) for name, values in counts.items()},
            **{name: copying.floats(values) for name, values in figures.items()},
            "coverage": copying.floats(n / LOOKS),
        },
    )


def _copy_grades(
    session: WriteSession, market: PastMarket, graded: ScoreColumns, ids: Rows
) -> None:
    """A grade is at the end of its window."""
    kept = _listed(market)
    body = grading.grade_columns(
        graded.letter[kept], graded.score[kept], graded.parts[kept], graded.is_provisional[kept]
    )
    copying.copy_columns(session, parts.GRADES, {**_keys(market, ids, "hour", BUCKET_S), **body})


def _keys(
    market: PastMarket, ids: Rows, name: str, after_s: int
) -> Mapping[str, copying.CopyColumn]:
    kept = _listed(market)
    listings = np.broadcast_to(ids[market.rows][:, None], kept.shape)[kept]
    times_us = np.broadcast_to((market.starts_s + after_s) * 1_000_000, kept.shape)[kept]
    return {"listing_id": copying.integers(listings), name: copying.times(times_us)}


def _listed(market: PastMarket) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """From the first book of each pair on."""
    return np.logical_or.accumulate(market.n > 0, axis=1)


def _copy_samples(
    session: WriteSession, world: SimWorld, rows: Rows, ids: Rows, now: datetime
) -> None:
    """The day before the origin, each ten minutes; the last look is shown."""
    ends_s = world.origin_s // SAMPLE_S * SAMPLE_S
    at_s = np.arange(ends_s - DAY_S, ends_s, SAMPLE_S)
    for some in _pieces(rows, at_s.size):
        series.copy_samples(session, _batch(world, at_s, some, ids))
    last = datetime.fromtimestamp(int(at_s[-1]), UTC)
    series.show(session, ids[rows].tolist(), last, now)


def _batch(world: SimWorld, at_s: Seconds, rows: Rows, ids: Rows) -> series.SampleBatch:
    """What has no book is no look at all."""
    found = columns(world, at_s, rows)
    of = _measured(found)
    kept = np.flatnonzero(found.has_book)
    listed = [world.listings[int(row)] for row in rows]
    sources = ["par" if one.quote in PAR else f"{one.exchange}:USDT/{one.quote}" for one in listed]
    times_us = np.tile(at_s * 1_000_000, rows.size)[kept]
    return series.SampleBatch(
        minutes_us=times_us,
        listing_ids=np.repeat(ids[rows], at_s.size)[kept],
        every_s=np.full(kept.size, SAMPLE_S),
        measures=MeasureGrid(*(getattr(of, one.name)[kept] for one in fields(of))),
        fx_sources=[sources[at] for at in (kept // at_s.size).tolist()],
        volumes_usd=found.volume_24h_usd.reshape(-1)[kept],
        can_deposit=found.can_deposit.reshape(-1)[kept],
        can_withdraw=found.can_withdraw.reshape(-1)[kept],
        venue_at_us=times_us,
        received_at_us=times_us,
        faults=[None] * kept.size,
    )


def _add_transfers(session: WriteSession, world: SimWorld, ids: Rows) -> None:
    """Closings and openings of the script, on a coin's first chain."""
    assets = queries.assets_of(session, ids.tolist())
    networks.add_past(
        session,
        [
            networks.PastTransfer(
                exchange=listing.exchange,
                native_base=listing.native_base,
                chain=listing.coin.chains[0],
                asset_id=assets[int(ids[listing.row])],
                direction=CLOSED[effect.knob],
                is_open=is_open,
                at=datetime.fromtimestamp(at_s, UTC),
            )
            for effect in script_of(world).effects
            if effect.knob in CLOSED
            for listing in (world.listings[row] for row in effect.rows[:1])
            if EXCHANGES[listing.exchange].capabilities.currencies
            for at_s, is_open in ((effect.start_s, False), (effect.end_s, True))
            if int(world.begins_at.timestamp()) <= at_s < world.origin_s
        ],
    )


def _learn_notices(session: WriteSession, world: SimWorld, exchange: str, now: datetime) -> None:
    """What the exchange declared until the origin; tags by what its market lists showed."""
    venue = SimVenue(exchange, world, lambda: world.origin)
    notices = asyncio.run(venue.notices(world.begins_at))
    tickers = {world.listings[row].native_base: row for row in world.rows_at[exchange].tolist()}

    def sightings(native_base: str, at: datetime) -> tuple[TagSighting, ...]:
        if native_base not in tickers or not venue.capabilities.st_tag:
            return ()
        before_s = np.arange(int(at.timestamp()) - 30 * DAY_S, int(at.timestamp()), BUCKET_S)
        has = columns(world, before_s, np.array([tickers[native_base]])).has_st_tag[0]
        return tuple(_sighted(before_s.tolist(), has.tolist()))

    if notices is not None:
        outcomes.learn_notices(session, notices.values, now, sightings)


def _sighted(times_s: list[int], has_tag: list[bool]) -> Iterator[TagSighting]:
    for at_s, has in zip(times_s, has_tag, strict=True):
        yield TagSighting(datetime.fromtimestamp(at_s, UTC), has, is_first_scan=False)

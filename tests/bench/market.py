"""`make bench-market`: what a market of 6,000 pairs costs.

    scan         MINUTES (5) minutes of 6,000 simulated pairs, each looked at every minute
    ingest       measured rows to rows that boards show, by a bare COPY of the same bytes
    books        books per second from a venue's answer to a queryable row
    wci          the warning statistics over 1,000,000 warnings and 10,000 outcomes

The last line is one JSON object. Figures are shown, not judged.
"""

import asyncio
import json
import os
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import numpy as np
from sqlalchemy import text

from core.db.engine import Database, driver_of
from core.db.leadership import Leadership
from core.market import copying, parts, queries, samples, statistics
from core.market.facts import DataSource
from core.watchdog import Watchdog
from indexer.venues import scan_books
from indexer.venues.fx import QuoteRate
from indexer.venues.port import MarketVenue
from indexer.venues.scan_books import BesideBooks, ScannedListing
from indexer.venues.scanner import Scanner, ScannerStore
from indexer.venues.sim.venue import SimVenue
from indexer.venues.sim.world import SimWorld, world_of
from tests.bench.alternating import migrated, served

LISTINGS: Final = 6_000
WARNINGS, OUTCOMES = 1_000_000, 10_000
ROUNDS: Final = 5

_WARNINGS = text("""
insert into warning_event (seq, action, exchange, asset_id, token, type, severity, is_predictive, at, evidence,
    rule_version, is_imported, prev_hash, row_hash)
select n, 'issued', 'e' || n % 10, 1 + n % 3000, 'T', case when n % 9 = 0 then 'cross_exchange_flag' else 'grade_drop' end,
       'warning', true, now() - interval '90 days' + n * interval '7 seconds', '{}', 'v', true, '\\x00', '\\x00'
from generate_series(1, :n) n
""")
_OUTCOMES = text("""
insert into market_outcome (exchange, asset_id, kind, is_genuine, at, notice_id)
select 'e' || n % 10, 1 + n % 3000, (array['st_tag', 'delist_notice', 'suspend_notice', 'delisting_confirmed'])[1 + n % 4],
       true, now() - n % 90 * interval '1 day', null
from generate_series(1, :n) n on conflict do nothing
""")


def now_utc() -> datetime:
    return datetime.now(UTC)


def world() -> SimWorld:
    return world_of(24, now_utc().replace(minute=0, second=0, microsecond=0), LISTINGS)


def venues_of(of: SimWorld) -> list[MarketVenue]:
    return [SimVenue(name, of, now_utc) for name, rows in of.rows_at.items() if rows.size]


def scan(database: Database, url: str, minutes: int) -> dict[str, float]:
    """The scanner as it runs, over whole minutes."""
    scanner = Scanner(
        database=database,
        leadership=Leadership(url, "scanner", "bench"),
        watchdog=Watchdog(120),
        clock=now_utc,
        venues=lambda store: venues_of(world()),
    )

    async def run() -> tuple[datetime, datetime]:
        running = asyncio.ensure_future(scanner.run())
        began = now_utc()
        first = began.replace(second=0, microsecond=0) + timedelta(minutes=2)
        ends = first + timedelta(minutes=minutes)
        await asyncio.sleep((ends - began).total_seconds())
        scanner.stop()
        await running
        return first, ends

    first, ends = asyncio.run(run())
    with database.read() as session:
        looked = session.scalar(
            text(
                "select count(*) from snap_1m where ts >= :first and ts < :ends and fault is null"
            ),
            {"first": first, "ends": ends},
        )
        lag_s = session.scalar(text("select max(lag_s) from venue_state"))
    return {
        "listings_per_minute": round((looked or 0) / minutes),
        "lag_p99_s": round(lag_s or 0, 3),
    }


def ingest(database: Database, batch: samples.SampleBatch, minute: datetime) -> tuple[float, float]:
    """Rows a second: shown, and by a bare COPY of the same bytes; medians of alternating rounds."""
    names = ", ".join(f'"{name}"' for name in samples.columns_of(batch))
    with database.write() as session:
        session.execute(text("create table bare (like snap_1m including all)"))
    shown, bare = list[float](), list[float]()
    for number in range(ROUNDS):
        at = minute - timedelta(minutes=number)
        moved = _at(batch, at)
        began = time.perf_counter()
        with database.write() as session:
            samples.write(session, moved, at, now_utc())
        shown.append(time.perf_counter() - began)
        body = copying.encoded(tuple(samples.columns_of(moved).values()))
        began = time.perf_counter()
        with database.write() as session:
            session.connection()
            statement = f"copy bare ({names}) from stdin (format binary)".encode()
            with driver_of(session).cursor() as cursor, cursor.copy(statement) as copy:
                copy.write(body)
        bare.append(time.perf_counter() - began)
    count = len(batch.listing_ids)
    return count / float(np.median(shown)), count / float(np.median(bare))


def _at(batch: samples.SampleBatch, minute: datetime) -> samples.SampleBatch:
    return samples.SampleBatch(
        np.full(len(batch.listing_ids), copying.unix_us(minute)),
        *(getattr(batch, name) for name in batch.__slots__[1:]),
    )


def books(database: Database, minute: datetime) -> tuple[float, samples.SampleBatch]:
    """Books a second, end to end, and all of them as one batch."""
    with database.write() as session:
        parts.ensure_ahead(session, now_utc())
    store, of = ScannerStore(database, lambda session: None), world()
    listings = dict[str, dict[str, ScannedListing]]()
    for venue in venues_of(of):
        told = asyncio.run(venue.markets()).values
        with database.write() as session:
            queries.learn_markets(session, venue.exchange, told, DataSource.SIMULATED, now_utc())
        listings[venue.exchange] = dict(store.listings(venue.exchange))
    count, began = 0, time.perf_counter()
    batches = list[samples.SampleBatch]()
    for venue in venues_of(of):
        names = sorted(listings[venue.exchange])
        for first in range(0, len(names), 100):
            batch = _measured(venue, names[first : first + 100], listings[venue.exchange], minute)
            count += store.write_samples(batch, minute, now_utc())
            batches.append(batch)
    return count / (time.perf_counter() - began), _whole(batches)


def _measured(
    venue: MarketVenue, names: Sequence[str], listings: dict[str, ScannedListing], minute: datetime
) -> samples.SampleBatch:
    found = asyncio.run(venue.books(tuple(names), 100)).values
    rates = {one.quote: QuoteRate(1.0, "par") for one in listings.values()}
    return scan_books.measured(found, listings, BesideBooks(rates, {}, {}), {}, {}, minute)


def _whole(batches: Sequence[samples.SampleBatch]) -> samples.SampleBatch:
    def joined(name: str) -> object:
        found = [getattr(one, name) for one in batches]
        if name == "measures":
            kind = type(found[0])
            return kind(
                **{f: np.concatenate([getattr(m, f) for m in found]) for f in kind.__slots__}
            )
        if isinstance(found[0], np.ndarray):
            return np.concatenate(found)
        return [value for values in found for value in values]

    return samples.SampleBatch(**{name: joined(name) for name in samples.SampleBatch.__slots__})  # type: ignore[arg-type]  # each of its own kind


def wci_s(database: Database) -> float:
    with database.write() as session:
        session.execute(text("alter table warning_event disable trigger user"))
        session.execute(
            text(
                "insert into market_asset (ticker) select 'W' || n from generate_series(1, 3000) n"
            )
        )
        session.execute(text("update warning_head set seq = seq"))
    with database.write() as session:
        session.execute(text("set statement_timeout = '300s'"))
        session.execute(_WARNINGS, {"n": WARNINGS})
        session.execute(_OUTCOMES, {"n": OUTCOMES})
    began = time.perf_counter()
    with database.read() as session:
        statistics.read_wci(session, now_utc())
    return time.perf_counter() - began


def main() -> None:
    minutes = int(os.environ.get("MINUTES", "5"))
    minute = now_utc().replace(second=0, microsecond=0) - timedelta(hours=1)
    with served() as server, migrated(server, "market") as database:
        url = database.engine.url.render_as_string(hide_password=False)
        rate, batch = books(database, minute + timedelta(minutes=1))
        shown, bare = ingest(database, batch, minute)
        print(f"books      {rate:,.0f} a second, from the venue's answer to a queryable row")
        print(f"ingest     {shown:,.0f} rows a second shown, {bare:,.0f} by a bare COPY")
        found = scan(database, url, minutes) if minutes else {}
        print(f"scan       {found}")
        seconds = wci_s(database)
        print(f"wci        {seconds:.2f} s over {WARNINGS:,} warnings and {OUTCOMES:,} outcomes")
    figures = {**found, "ingest_ratio": round(shown / bare, 3), "books_per_s": round(rate)}
    print(json.dumps(figures | {"wci_s": round(seconds, 3)}))


if __name__ == "__main__":
    main()

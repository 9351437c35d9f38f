"""`make bench-market`: what a market of 6,000 pairs costs.

    books        books a second from a venue's answer to a row that boards show, venues in turn
    ingest       measured rows to rows of the series, which queries read, a batch a venue, beside a bare
                 COPY of the same rows
    shown        the same, to rows that boards show as well, as the scanner has them written: each is
                 written twice
    scan         MINUTES (5) minutes of the scanner as it runs; 0 leaves it out
    board, search, research   over HTTP, on what the scanner wrote, beside a FastAPI route that has the very bytes at
                 hand; pages and searches take turns, so that answers are read anew when those kept are too old
    past         the simulated past of `make up`, 500 pairs for 90 days, into a database of its own
    wci          the warning statistics over 1,000,000 warnings and 10,000 outcomes

The last line is one JSON object. Figures are shown, not judged.
"""

import asyncio
import itertools
import json
import os
import statistics as figures
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import numpy as np
import uvicorn
from fastapi import FastAPI, Response
from sqlalchemy import text

from api.tables import import_tables
from core.db.engine import Bounds, Database, driver_of
from core.db.leadership import Leadership
from core.market import copying, parts, queries, samples, statistics
from core.market.facts import Book, DataSource
from core.market.queries import KnownListing
from core.market.tables import MarketSample
from core.subscriptions.tables import Subscription
from core.targets.queries import add_target
from core.watchdog import Watchdog
from indexer.venues import chosen, scan_books
from indexer.venues.port import MarketVenue
from indexer.venues.scan_books import BesideBooks, QuoteRate
from indexer.venues.scan_venue import BUFFER_ROWS
from indexer.venues.scanner import Scanner
from indexer.venues.sim.venue import SimVenue
from indexer.venues.sim.world import SimWorld, world_of
from indexer.venues.store import ScannerStore, learn_markets
from scripts._ports import free_port
from tests.bench.load import caller, p99_ratio, seconds_of
from tests.bench.place import KEY, Place, a_database, folder, place, running, url_of, vacuum
from tests.market_rows import add_rollups

LISTINGS: Final = 6_050  # of which some are delisted by the script, or have no book now and then
PAST_LISTINGS: Final = 500
WARNINGS, OUTCOMES = 1_000_000, 10_000
ROUNDS: Final = 7
RESEARCH_DAYS: Final = 90
SEARCHES: Final = 16
RESEARCH_CALLS: Final = 520  # the first of which warm up
WARM_UP: Final = 2  # minutes: the first has its first half missing, and the markets to learn
POLL_S: Final = 50  # of a minute: it is scanned by then

_WARNINGS = text("""
insert into warning_event (seq, action, exchange, asset_id, token, type, severity, is_predictive, at, evidence,
    rule_version, is_imported, prev_hash, row_hash)
select n, 'issued', 'e' || n % 10, :first + n % 3000, 'T', case when n % 9 = 0 then 'cross_exchange_flag' else 'grade_drop' end,
       'warning', true, now() - interval '90 days' + n * interval '7 seconds', '{}', 'v', true, '\\x00', '\\x00'
from generate_series(1, :n) n
""")
_OUTCOMES = text("""
insert into market_outcome (exchange, asset_id, kind, is_genuine, at, notice_id)
select 'e' || n % 10, :first + n % 3000, (array['st_tag', 'delist_notice', 'suspend_notice', 'delisting_confirmed'])[1 + n % 4],
       true, now() - n % 90 * interval '1 day', null
from generate_series(1, :n) n on conflict do nothing
""")
_ASSETS = text(
    "insert into market_asset (ticker) select 'W' || n from generate_series(1, 3000) n returning id"
)
_MINUTE = text("""
select (select count(*) from snap_1m where ts = :minute and fault is null),
       (select count(*) from snap_1m where ts = :minute and fault is not null),
       (select max(lag_s) from venue_state)
""")


def now_utc() -> datetime:
    return datetime.now(UTC)


def world() -> SimWorld:
    return world_of(24, now_utc().replace(minute=0, second=0, microsecond=0), LISTINGS)


def venues_of(of: SimWorld) -> list[MarketVenue]:
    return [SimVenue(name, of, now_utc) for name, rows in of.rows_at.items() if rows.size]


async def books(database: Database, minute: datetime) -> tuple[float, list[samples.SampleBatch]]:
    """Books a second, end to end, and all of them, a batch per venue."""
    with database.write() as session:
        parts.ensure_ahead(session, now_utc())
    of, listings = world(), dict[str, dict[str, KnownListing]]()
    for venue in venues_of(of):
        told = (await venue.markets()).values
        with database.write() as session:
            learn_markets(session, venue.exchange, told, DataSource.SIMULATED, now_utc())
            known = queries.known_listings(session, venue.exchange)
        listings[venue.exchange] = {one.native_id: one for one in known}
    count, began = 0, time.perf_counter()
    batches = list[samples.SampleBatch]()
    for venue in venues_of(of):
        for found in await _answers(venue, sorted(listings[venue.exchange])):
            batch = _measured(found, listings[venue.exchange], minute)
            count += _show(database, batch)
            batches.append(batch)
    return count / (time.perf_counter() - began), batches


async def _answers(venue: MarketVenue, names: Sequence[str]) -> list[list[Book]]:
    """In so many as the scanner writes together."""
    size, found = venue.capabilities.books_a_call, list[list[Book]]([[]])
    for first in range(0, len(names), size):
        if len(found[-1]) >= BUFFER_ROWS:
            found.append([])
        found[-1] += (await venue.books(tuple(names[first : first + size]), 100)).values
    return found


def _measured(
    found: Sequence[Book], listings: dict[str, KnownListing], minute: datetime
) -> samples.SampleBatch:
    rates = {one.quote: QuoteRate(1.0, "par") for one in listings.values()}
    return scan_books.measured(found, listings, BesideBooks(rates, {}, {}), {}, {}, minute)


def ingest(
    database: Database, batches: Sequence[samples.SampleBatch], minute: datetime
) -> dict[str, float]:
    """{stored, shown, bare} in rows a second: medians of alternating rounds, a minute later each. The
    scanner's venues write on threads, as here; the bare COPY has all rows in one statement.
    """
    found = dict[str, list[float]]()
    with database.write() as session:
        session.execute(
            text(f"create table bare (like {MarketSample.__tablename__} including all)")
        )
    ways: dict[str, Callable[[datetime], float]] = {
        "stored": lambda at: _together(partial(_append, database), batches, at),
        "shown": lambda at: _together(partial(_show, database), batches, at),
        "bare": lambda at: _bare(database, batches, at),
    }
    minutes = (minute + timedelta(minutes=number) for number in itertools.count(1))
    for _ in range(ROUNDS):
        for name, way in ways.items():
            found.setdefault(name, []).append(way(next(minutes)))
    return {name: figures.median(rates) for name, rates in found.items()}


def _together(
    write: Callable[[samples.SampleBatch], int],
    batches: Sequence[samples.SampleBatch],
    minute: datetime,
) -> float:
    moved = [_at(one, minute) for one in batches]
    with ThreadPoolExecutor(min(32, (os.cpu_count() or 1) + 4)) as threads:
        began = time.perf_counter()
        done = [threads.submit(write, one) for one in moved]
        return sum(one.result() for one in done) / (time.perf_counter() - began)


def _append(database: Database, batch: samples.SampleBatch) -> int:
    with database.write() as session:
        return samples.copy_samples(session, batch)


def _show(database: Database, batch: samples.SampleBatch) -> int:
    with database.write() as session:
        return samples.write(session, batch, now_utc())


def _bare(database: Database, batches: Sequence[samples.SampleBatch], minute: datetime) -> float:
    columns = [samples.columns_of(_at(one, minute)) for one in batches]
    names = ", ".join(f'"{name}"' for name in columns[0])
    bodies = [copying.encoded(tuple(one.values())) for one in columns]
    inner = b"".join(one[len(copying.HEADER) : -len(copying.TRAILER)] for one in bodies)
    body = copying.HEADER + inner + copying.TRAILER
    began = time.perf_counter()
    with database.write() as session:
        statement = f"copy bare ({names}) from stdin (format binary)".encode()
        with driver_of(session).cursor() as cursor, cursor.copy(statement) as copy:
            copy.write(body)
    return sum(len(one.listing_ids) for one in batches) / (time.perf_counter() - began)


def _at(batch: samples.SampleBatch, minute: datetime) -> samples.SampleBatch:
    return samples.SampleBatch(
        np.full(len(batch.listing_ids), copying.unix_us(minute)),
        *(getattr(batch, name) for name in batch.__slots__[1:]),
    )


def scan(database: Database, minutes: int) -> dict[str, float]:
    """The scanner as it runs, over whole minutes. The lag is that of the worst venue in its worst
    minute: from the venue's own time to the row that boards show, the 99th percentile.
    """
    scanner = Scanner(
        database=database,
        leadership=Leadership(url_of(database), "scanner", "bench"),
        watchdog=Watchdog(120),
        clock=now_utc,
        venues=lambda store: venues_of(world()),
    )
    looked, lags = list[int](), list[float]()

    async def run() -> None:
        running = asyncio.ensure_future(scanner.run())
        minute = now_utc().replace(second=0, microsecond=0)
        for number in range(WARM_UP + minutes):
            at = minute + timedelta(minutes=number)
            until = at + timedelta(seconds=POLL_S)
            await asyncio.sleep(max(0.0, (until - now_utc()).total_seconds()))
            measured, faults, lag_s = await asyncio.to_thread(_scanned, database, at)
            print(f"    {at:%H:%M} {measured:,} measured, {faults} faults, lag p99 {lag_s:.2f} s")
            if number >= WARM_UP:
                looked.append(measured)
                lags.append(lag_s)
        scanner.stop()
        await running

    asyncio.run(run())
    return {"listings_per_minute": min(looked), "lag_p99_s": round(max(lags), 3)}


def _scanned(database: Database, minute: datetime) -> tuple[int, int, float]:
    with database.read() as session:
        row = session.execute(_MINUTE, {"minute": minute}).one()
    return row[0], row[1], row[2] or 0.0


def http(where: Place, database: Database) -> dict[str, Any]:
    """What reads cost of the market that was scanned."""
    (agent,) = where.agents(1)
    research = _target(database, agent.id)
    vacuum(database, "listing_state, snap_2h, asset_state")
    with database.read() as session:
        tokens = session.scalars(
            text("select distinct token from listing_state order by token limit :n"),
            {"n": SEARCHES},
        ).all()
    boards = [f"/board?limit=200&offset={200 * page}" for page in range(8)]
    keyed = caller(where.port, {KEY: agent.key})
    times = [seconds_of(partial(keyed, research)) for _ in range(RESEARCH_CALLS)][20:]
    return {
        "board_p99_ratio": http_ratio(where, boards),
        "search_p99_ratio": http_ratio(where, [f"/tokens/search?q={one}" for one in tokens]),
        "research_p99_ms": round(1_000 * figures.quantiles(times, n=100)[98], 1),
    }


def http_ratio(where: Place, paths: Sequence[str]) -> float:
    ours, turns, theirs = caller(where.port), cycle(paths), cycle(range(len(paths)))
    with folder() as bytes_:
        for number, path in enumerate(paths):
            (bytes_ / str(number)).write_bytes(ours(path))
        port = free_port()
        with running(port, {}, "tests.bench.market", str(port), str(bytes_)):
            bare = caller(port)
            return p99_ratio(lambda: bare(f"/bare/{next(theirs)}"), lambda: ours(next(turns)))


def serve(port: int, bytes_: Path) -> None:
    """The bare routes, in a process of their own."""
    app, bodies = FastAPI(), {int(one.name): one.read_bytes() for one in bytes_.iterdir()}

    @app.get("/bare/{number}")
    def bare(number: int) -> Response:
        return Response(bodies[number], media_type="application/json")

    uvicorn.run(app, port=port, log_config=None, access_log=False)


def _target(database: Database, account_id: int) -> str:
    """The first pair of the board is a target of the account, with 90 days of figures; its page."""
    now = now_utc()
    until = now + timedelta(days=30)
    with database.write() as session:
        row = session.execute(
            text(
                "select listing_id, exchange, symbol from listing_state order by order_usd desc, listing_id limit 1"
            )
        ).one()
        add_rollups(session, [row.listing_id], RESEARCH_DAYS, now)
        session.merge(
            Subscription(account_id=account_id, until=until, tier_2_until=until, purchases=1)
        )
        add_target(session, account_id, row.listing_id, 0, now)
    symbol = row.symbol.replace("/", "_")
    return f"/agent/research/{row.exchange}/{symbol}?days={RESEARCH_DAYS}"


def past_s() -> float:
    """The import as `make up` has it: on a thread, of a process that scans nothing yet."""
    with a_database() as database, ThreadPoolExecutor(1) as thread:
        store = ScannerStore(database, lambda session: None)
        made = partial(chosen.made, [chosen.SIM], PAST_LISTINGS, store, now_utc)
        return seconds_of(lambda: thread.submit(made).result())


def wci_s(database: Database) -> float:
    with database.write() as session:
        session.execute(text("alter table warning_event disable trigger user"))
        first = min(session.scalars(_ASSETS))
        session.execute(text("set local statement_timeout = '300s'"))
        session.execute(_WARNINGS, {"n": WARNINGS, "first": first})
        session.execute(_OUTCOMES, {"n": OUTCOMES, "first": first})
    with database.read() as session:
        return seconds_of(lambda: statistics.wci_of(statistics.wci_rows(session), now_utc()))


def main() -> None:
    minutes = int(os.environ.get("MINUTES", "5"))
    minute = now_utc().replace(second=0, microsecond=0) - timedelta(minutes=30)
    found = dict[str, Any]()
    import_tables()
    with place() as where:
        database = Database(  # as the scanner's
            where.database_url, bounds=Bounds(pool_size=10, trust_s=5), synchronous_commit=False
        )
        try:
            rate, batches = asyncio.run(books(database, minute))
            rows = ingest(database, batches, minute)
            print(f"{rate:,.0f} books a second; rows {rows}", flush=True)
            found |= {
                "ingest_ratio": round(rows["stored"] / rows["bare"], 3),
                "shown_ratio": round(rows["shown"] / rows["bare"], 3),
                "books_per_s": round(rate),
                **(scan(database, minutes) if minutes else {}),
                **http(where, database),
                "past_s": round(past_s(), 2),
                "wci_s": round(wci_s(database), 3),
            }
        finally:
            database.close()
    print(json.dumps(found))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        serve(int(sys.argv[1]), Path(sys.argv[2]))
    else:
        main()

"""The scanner as a process runs it: its lead, its heartbeats, and the targets of subscribers."""

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from core.db.engine import Database
from core.db.leadership import Leadership, leader_row
from core.market import parts, queries, scans
from core.market.facts import DataSource
from core.market.tables import MarketSample
from core.targets.rules import TargetLimits
from core.watchdog import Watchdog
from indexer.venues import chosen
from indexer.venues.port import MarketVenue
from indexer.venues.scanner import NAME, Scanner
from indexer.venues.store import ScannerStore
from tests.integration.core.market.conftest import market
from tests.integration.indexer.venues.test_scanner import StandIn
from tests.integration.subscribed import subscribe_to

WAIT_S = 20.0
BASES = ("ETH", *(f"T{n:02}" for n in range(99)))


def now_utc() -> datetime:
    return datetime.now(UTC)


class ClosedStandIn(StandIn):
    async def close(self) -> None:
        return None


@pytest.fixture
def run(database: Database, database_url: str) -> Callable[..., None]:
    """Scan until `seen` answers True; fails when it never does."""

    def run(
        venues: Callable[[ScannerStore], Sequence[MarketVenue]], seen: Callable[[], bool]
    ) -> None:
        scanner = Scanner(
            database=database,
            leadership=Leadership(database_url, NAME, "test"),
            watchdog=Watchdog(120),
            clock=now_utc,
            venues=venues,
            targets=TargetLimits(20, 100),
            onchain=chosen.onchain_at,
        )

        async def until_seen() -> bool:
            running = asyncio.ensure_future(scanner.run())
            ends = time.monotonic() + WAIT_S
            is_seen = False
            while not is_seen and time.monotonic() < ends and not running.done():
                await asyncio.sleep(0.1)
                is_seen = await asyncio.to_thread(seen)
            scanner.stop()
            await running
            return is_seen

        assert asyncio.run(until_seen())

    return run


def test_targets_of_subscribers__are_looked_at_in_the_first_minute(
    database: Database, run: Callable[..., None]
) -> None:
    now = now_utc()
    with database.write() as session:
        parts.ensure_ahead(session, now)
        found = [market("kucoin", base) for base in BASES]
        queries.learn_markets(session, "kucoin", found, DataSource.SIMULATED, now)
        ids = {one.base: one.listing_id for one in queries.known_listings(session, "kucoin")}
    subscribe_to(database, ids["ETH"], now)
    venue: Any = ClosedStandIn("kucoin", now_utc, BASES)
    venue.capabilities = replace(venue.capabilities, books_per_minute=60)

    def looks() -> dict[int, int]:
        """How often each pair is looked at."""
        with database.read() as session:
            return dict(
                session.execute(select(MarketSample.listing_id, MarketSample.every_s)).all()
            )

    run(lambda store: [venue], lambda: ids["ETH"] in looks())

    assert looks()[ids["ETH"]] == 60  # the 99 others have 59 books a minute: each two


def test_an_import_of_the_past__is_told_by_each_heartbeat(
    database: Database, run: Callable[..., None]
) -> None:
    is_seen = threading.Event()

    def made(store: ScannerStore) -> Sequence[MarketVenue]:
        store.says(scans.IMPORTING)
        with database.write() as session:  # as the import has it: fenced, and long
            store.fence(session)
            assert is_seen.wait(WAIT_S)
        return []

    def seen() -> bool:
        with database.read() as session:
            row = leader_row(session, NAME)
        if row is None or row.status.get("state") != scans.IMPORTING:
            return False
        is_seen.set()
        return row.silent_s(now_utc()) <= 2

    run(made, seen)

"""A scanner of two venues in a process of its own, for tests that kill it.

    python -m tests.integration.indexer.venues.scanner_process URL [AHEAD_S]

AHEAD_S: how far its clock is ahead. Without it the clock begins 15 seconds before a minute ends, and
the first line says how far ahead that is.
"""

import asyncio
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from core.db.engine import Database
from core.db.leadership import Leadership
from core.watchdog import Watchdog
from indexer.venues.scanner import NAME, Scanner
from tests.integration.indexer.venues.test_scanner import CAPABILITIES, StandIn

EXCHANGES: Final = ("kucoin", "gate")
BASES: Final = tuple(f"C{number}" for number in range(25))
BEGINS_AT_S: Final = 45.0  # of a minute
BOOKS_PER_MINUTE: Final = 200  # so that 25 of them take 7.5 s


class SlowVenue(StandIn):
    def __init__(self, exchange: str, now: Any) -> None:
        super().__init__(exchange, now, BASES)
        self.capabilities = replace(CAPABILITIES, books_per_minute=BOOKS_PER_MINUTE, books_a_call=1)

    async def close(self) -> None:
        return None


def main(url: str, ahead_s: float | None) -> None:
    if ahead_s is None:
        ahead_s = (BEGINS_AT_S - datetime.now(UTC).timestamp()) % 60
    ahead = timedelta(seconds=ahead_s)
    print(ahead_s, flush=True)

    def now() -> datetime:
        return datetime.now(UTC) + ahead

    database = Database(url)
    scanner = Scanner(
        database=database,
        leadership=Leadership(url, NAME, "killed"),
        watchdog=Watchdog(120),
        clock=now,
        venues=lambda store: [SlowVenue(one, now) for one in EXCHANGES],  # type: ignore[misc]  # what a scan calls of a venue
    )
    asyncio.run(scanner.run())


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else None)

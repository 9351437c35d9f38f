"""Transactions of the scanner, those that write fenced by the lead."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Concatenate, Final, ParamSpec, TypeVar

import psycopg
import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.db.engine import Database, WriteSession
from core.market import outcomes, queries
from core.market.facts import DataSource, ListedMarket

T = TypeVar("T")
P = ParamSpec("P")

TROUBLE: Final = (SQLAlchemyError, psycopg.Error)
"""The errors of a database that may be back in the next minute."""

log = structlog.get_logger("scanner")


@dataclass(frozen=True, slots=True)
class ScannerStore:
    """A transaction each, on a thread, so that no database holds up another venue."""

    database: Database
    fence: Callable[[Session], None]
    says: Callable[[str], None] = lambda state: None  # what the heartbeat says until the scan

    async def read(
        self, work: Callable[Concatenate[Session, P], T], *values: P.args, **named: P.kwargs
    ) -> T:
        def read() -> T:
            with self.database.read() as session:
                return work(session, *values, **named)

        return await asyncio.to_thread(read)

    async def write(
        self, work: Callable[Concatenate[WriteSession, P], T], *values: P.args, **named: P.kwargs
    ) -> T:
        def write() -> T:
            with self.database.write() as session:
                self.fence(session)
                return work(session, *values, **named)

        return await asyncio.to_thread(write)


def learn_markets(
    session: WriteSession,
    exchange: str,
    markets: Sequence[ListedMarket],
    source: DataSource,
    now: datetime,
) -> bool:
    """The pairs of a venue and their tags. Whether the answer was whole."""
    learned = queries.learn_markets(session, exchange, markets, source, now)
    outcomes.learn_tags(session, exchange, now)
    queries.see_tags(session, exchange, markets, now)
    if learned.refused:
        log.info("pairs left out", exchange=exchange, count=len(learned.refused))
    return not learned.is_partial

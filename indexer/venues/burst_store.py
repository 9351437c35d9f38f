"""Transactions of microburst captures, those that write fenced by the lead."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import psycopg
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.db.engine import Database
from core.market import bursts
from core.market.bursts import UsualMinute
from core.market.rules.research import BurstSample, BurstSummary
from core.targets import queries, views
from core.targets.rules import TargetLimits
from core.times import start_of_day

_TROUBLE: Final = (SQLAlchemyError, psycopg.Error)


@dataclass(frozen=True, slots=True)
class ScannerBursts:
    database: Database
    fence: Callable[[Session], None]
    limits: TargetLimits

    def usual(self, exchange: str, now: datetime) -> Mapping[int, UsualMinute]:
        with self.database.read() as session:
            return bursts.usual(session, exchange, now)

    def begun(self, exchange: str, since: datetime) -> Mapping[int, datetime]:
        with self.database.read() as session:
            return bursts.begun_since(session, exchange, since)

    def take_capture(self, listing_id: int, now: datetime) -> int:
        with self.database.write() as session:
            self.fence(session)
            ids = views.captured(session, listing_id, now, self.limits)
            return queries.take_captures(session, ids, start_of_day(now).date()) if ids else 0

    def write(self, listing_id: int, summary: BurstSummary, samples: Sequence[BurstSample]) -> None:
        with self.database.write() as session:
            self.fence(session)
            bursts.write(session, listing_id, summary, samples)

    def trouble(self) -> tuple[type[Exception], ...]:
        return _TROUBLE

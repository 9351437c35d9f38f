"""Transactions of the scanner, those that write fenced by the lead."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

import psycopg
import structlog
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.orm import Session

from core.db.engine import Database
from core.market import (
    bursts,
    gaps,
    identity,
    networks,
    onchain,
    outcomes,
    parts,
    queries,
    samples,
    scans,
)
from core.market.bursts import UsualMinute
from core.market.facts import DataSource, ListedMarket, NetworkStatus, VenueNotice
from core.market.identity import CoinGraph
from core.market.onchain import CoinFigures
from core.market.queries import KnownListing
from core.market.rules.research import BurstSample, BurstSummary
from core.market.samples import SampleBatch
from core.market.scans import ScannedMinute, VenueReport
from core.targets import queries as targets
from core.targets import views
from core.targets.rules import TargetLimits
from core.times import start_of_day

TROUBLE: Final = (SQLAlchemyError, psycopg.Error)
"""The errors of a database that may be back in the next minute."""

log = structlog.get_logger("scanner")


@dataclass(frozen=True, slots=True)
class ScannerStore:
    """Transactions of the scan, each fenced."""

    database: Database
    fence: Callable[[Session], None]
    says: Callable[[str], None] = lambda state: None  # what the heartbeat tells until the scan

    def learn_markets(
        self, exchange: str, markets: Sequence[ListedMarket], source: DataSource, now: datetime
    ) -> bool:
        """Whether the answer was whole."""
        with self.database.write() as session:
            self.fence(session)
            learned = queries.learn_markets(session, exchange, markets, source, now)
            outcomes.learn_tags(session, exchange, now)
            queries.see_tags(session, exchange, markets, now)
        if learned.refused:
            log.info("pairs left out", exchange=exchange, count=len(learned.refused))
        return not learned.is_partial

    def learn_networks(
        self, exchange: str, statuses: Sequence[NetworkStatus], now: datetime
    ) -> bool:
        with self.database.write() as session:
            self.fence(session)
            return not networks.learn_networks(session, exchange, statuses, now).is_partial

    def learn_notices(self, notices: Sequence[VenueNotice], now: datetime) -> None:
        with self.database.write() as session:
            self.fence(session)
            outcomes.learn_notices(session, notices, now)

    def listings(self, exchange: str) -> Mapping[str, KnownListing]:
        """By native id."""
        with self.database.read() as session:
            known = queries.known_listings(session, exchange)
        return {one.native_id: one for one in known}

    def sampled_in(self, minute: datetime, ids: Sequence[int]) -> frozenset[int]:
        with self.database.read() as session:
            return samples.sampled_in(session, minute, ids)

    def write_samples(self, batch: SampleBatch, now: datetime) -> int:
        with self.database.write() as session:
            self.fence(session)
            return samples.write(session, batch, now)

    def write_minute(self, run: ScannedMinute, report: VenueReport, now: datetime) -> None:
        with self.database.write() as session:
            self.fence(session)
            scans.write_minute(session, run, report, now)

    def ensure_parts(self, now: datetime) -> None:
        with self.database.write() as session:
            self.fence(session)
            parts.ensure_ahead(session, now)

    def graph(self) -> CoinGraph:
        with self.database.read() as session:
            told = identity.told(session)
        return identity.graph_of(told)

    def write_gaps(
        self, found: tuple[Sequence[gaps.SeenGap], Sequence[gaps.SeenSpread]], now: datetime
    ) -> int:
        with self.database.write() as session:
            self.fence(session)
            return gaps.write(session, found[0], found[1], now)

    def has_onchain(self, day: date) -> bool:
        with self.database.read() as session:
            return onchain.has_day(session, day)

    def write_onchain(self, told: Sequence[CoinFigures], day: date) -> int:
        with self.database.write() as session:
            self.fence(session)
            return onchain.write(session, told, day)


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
        """On how many targets of this listing one was counted; 0: none has one left."""
        with self.database.write() as session:
            self.fence(session)
            ids = views.captured(session, listing_id, now, self.limits)
            return targets.take_captures(session, ids, start_of_day(now).date()) if ids else 0

    def write(self, listing_id: int, summary: BurstSummary, samples: Sequence[BurstSample]) -> None:
        with self.database.write() as session:
            self.fence(session)
            bursts.write(session, listing_id, summary, samples)

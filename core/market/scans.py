"""What the scanner says of itself and of its venues. Nothing here commits."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import case, delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market.facts import DataSource
from core.market.tables import MarketScanRun, MarketVenueState

IMPORTING: Final = "importing"  # the scanner's state while it imports the simulated past


class VenueHealth(StrEnum):
    OK = "ok"
    DEGRADED = "degraded"
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedMinute:
    """A venue's minute (docs/market-store.md#a-minute)."""

    exchange: str
    minute: datetime
    planned: int
    measured: int
    rejected: int
    targets: int
    targets_measured: int
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueReport:
    """How a venue answered in a minute; times are None where it was not asked or did not answer."""

    exchange: str
    source: DataSource
    state: VenueHealth
    reason: str | None
    lag_s: float | None
    skew_ms: int | None
    books_per_minute: int
    listings: int
    capabilities: Mapping[str, Any]
    markets_at: datetime | None
    networks_at: datetime | None
    notices_at: datetime | None
    answered_at: datetime | None


@dataclass(frozen=True, slots=True)
class VenueLine:
    exchange: str
    source: str
    state: str
    reason: str | None
    since: datetime
    lag_s: float | None
    listings: int
    updated_at: datetime


def write_minute(
    session: WriteSession, run: ScannedMinute, report: VenueReport, now: datetime
) -> None:
    """The minute (again, when a spare took it over), and how the venue is."""
    ran = asdict(run)
    add = insert(MarketScanRun).values(**ran)
    counts = ("planned", "measured", "rejected", "targets", "targets_measured")
    session.execute(
        add.on_conflict_do_update(
            index_elements=["exchange", "minute"],
            set_={name: getattr(MarketScanRun, name) + add.excluded[name] for name in counts}
            | {"reason": add.excluded.reason},
        )
    )
    state = asdict(report) | {"since": now, "updated_at": now}
    put = insert(MarketVenueState).values(**state)
    is_same = (MarketVenueState.state == put.excluded.state) & (
        MarketVenueState.reason.is_not_distinct_from(put.excluded.reason)
    )
    moved: dict[str, Any] = {name: put.excluded[name] for name in state if name != "exchange"}
    moved["since"] = case((is_same, MarketVenueState.since), else_=put.excluded.since)
    session.execute(put.on_conflict_do_update(index_elements=["exchange"], set_=moved))


def forget_venues(session: WriteSession, kept: Sequence[str]) -> None:
    """Venues that are not scanned any more say nothing."""
    session.execute(delete(MarketVenueState).where(MarketVenueState.exchange.not_in(kept)))


def prune_runs(session: WriteSession, now: datetime, days: int) -> int:
    old = delete(MarketScanRun).where(MarketScanRun.minute < now - timedelta(days=days))
    return int(session.execute(old).rowcount)  # type: ignore[attr-defined]  # of a CursorResult


def troubled(session: Session) -> list[VenueLine]:
    """Venues that are down."""
    return [one for one in venues(session) if one.state == VenueHealth.DOWN]


def venues(session: Session) -> list[VenueLine]:
    columns = (getattr(MarketVenueState, one.name) for one in fields(VenueLine))
    rows = session.execute(select(*columns).order_by(MarketVenueState.exchange))
    return [VenueLine(*row) for row in rows]

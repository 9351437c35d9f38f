"""What the scanner says of itself and of its venues. Nothing here commits."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import case, delete, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market.facts import DataSource
from core.market.tables import MarketVenueState

IMPORTING: Final = "importing"  # the scanner's state while it imports the simulated past


class VenueHealth(StrEnum):
    OK = "ok"
    DEGRADED = "degraded"
    DOWN = "down"


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueReport:
    """How a venue answered in a minute. `answered_at`: last; None: never."""

    exchange: str
    source: DataSource
    state: VenueHealth
    reason: str | None
    lag_s: float | None
    skew_ms: int | None
    books_per_minute: int
    listings: int
    capabilities: Mapping[str, Any]
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


def report(session: WriteSession, report: VenueReport, now: datetime) -> None:
    """How the venue is, as of its last minute."""
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


def troubled(session: Session) -> list[VenueLine]:
    """Venues that are down."""
    return [one for one in venues(session) if one.state == VenueHealth.DOWN]


def venues(session: Session) -> list[VenueLine]:
    columns = (getattr(MarketVenueState, one.name) for one in fields(VenueLine))
    rows = session.execute(select(*columns).order_by(MarketVenueState.exchange))
    return [VenueLine(*row) for row in rows]

"""Which simulated past was imported (docs/market-store.md#history)."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market.tables import MarketHistory, MarketListingState


@dataclass(frozen=True, slots=True)
class KnownHistory:
    seed: int
    origin: datetime
    size: int


def is_empty(session: Session) -> bool:
    """No venue was ever asked."""
    return session.scalar(select(MarketListingState.listing_id).limit(1)) is None


def known(session: Session) -> KnownHistory | None:
    row = session.get(MarketHistory, 1)
    return None if row is None else KnownHistory(row.seed, row.origin, row.size)


def remember(session: WriteSession, seed: int, origin: datetime, size: int, now: datetime) -> None:
    session.add(MarketHistory(id=1, seed=seed, origin=origin, size=size, imported_at=now))

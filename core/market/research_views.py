"""A pair's two-hour figures, bursts, on-chain figures, and what its venue's other pairs have."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from core.market.bursts import unpacked
from core.market.rules.research import BurstSample
from core.market.scan_tables import MarketBurst, MarketOnchain
from core.market.tables import MarketListingState, MarketRollup


@dataclass(frozen=True, slots=True)
class PeerFigures:
    """What the pairs of one exchange have now."""

    spread_bps: Sequence[float]
    depth_usd: Sequence[float]
    slip_10k_bps: Sequence[float]
    volume_24h_usd: Sequence[float]


def rollups(session: Session, listing_id: int, since: datetime) -> Sequence[Any]:
    """Two-hour rows from the bucket that holds `since` on, in the order of time."""
    query = select(*MarketRollup.__table__.columns).where(
        MarketRollup.listing_id == listing_id, MarketRollup.bucket >= since
    )
    return session.execute(query.order_by(MarketRollup.bucket)).all()


def peers(session: Session, exchange: str) -> PeerFigures:
    columns = (
        MarketListingState.in_spread_bps,
        MarketListingState.in_depth_usd,
        MarketListingState.in_slip_10k_bps,
        MarketListingState.in_volume_24h_usd,
    )
    rows = session.execute(select(*columns).where(MarketListingState.exchange == exchange)).all()

    def known(place: int) -> Sequence[float]:
        return [value for row in rows if (value := row[place]) is not None]

    return PeerFigures(known(0), known(1), known(2), known(3))


def bursts(session: Session, listing_id: int, since: datetime, limit: int) -> Sequence[Any]:
    """Without their samples, the newest first."""
    columns = [one for one in MarketBurst.__table__.columns if one.name != "samples"]
    query = select(*columns).where(
        MarketBurst.listing_id == listing_id, MarketBurst.began_at >= since
    )
    return session.execute(query.order_by(MarketBurst.began_at.desc()).limit(limit)).all()


def burst_seconds(
    session: Session, burst_ids: Collection[int]
) -> Mapping[int, Sequence[BurstSample]]:
    """The samples of these captures, each in the order of time."""
    query = select(MarketBurst.id, MarketBurst.samples).where(MarketBurst.id.in_(burst_ids))
    return {burst_id: unpacked(data) for burst_id, data in session.execute(query)}


def onchain(session: Session, asset_id: int, limit: int) -> Sequence[MarketOnchain]:
    """The newest figures of each chain."""
    query = (
        select(MarketOnchain)
        .where(MarketOnchain.asset_id == asset_id)
        .ext(distinct_on(MarketOnchain.chain))
        .order_by(MarketOnchain.chain, MarketOnchain.day.desc())
    )
    return session.scalars(query.limit(limit)).all()

"""A pair's two-hour figures, bursts, on-chain figures, and what its venue's other pairs have."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, cast, func, select
from sqlalchemy.dialects.postgresql import aggregate_order_by, distinct_on
from sqlalchemy.orm import Session

from core.market.bursts import unpacked
from core.market.rules.research import NO_PEERS, BurstSample, PeerValues
from core.market.scan_tables import MarketBurst, MarketOnchain
from core.market.tables import MarketPeers, MarketRollup


@dataclass(frozen=True, slots=True)
class PeerFigures:
    """What the pairs of one exchange had when they were last graded."""

    spread_bps: PeerValues = NO_PEERS
    depth_usd: PeerValues = NO_PEERS
    slip_10k_bps: PeerValues = NO_PEERS
    volume_24h_usd: PeerValues = NO_PEERS


def rollups(session: Session, listing_id: int, since: datetime) -> Sequence[Any]:
    """Two-hour rows from the bucket that holds `since` on, in the order of time."""
    query = select(*MarketRollup.__table__.columns).where(
        MarketRollup.listing_id == listing_id, MarketRollup.bucket >= since
    )
    return session.execute(query.order_by(MarketRollup.bucket)).all()


FIGURES: Final = (
    "open", "high", "low", "close", "spread_p5_bps", "spread_p50_bps", "spread_p95_bps",
    "depth_1_usd", "depth_2_usd", "slip_1k_bps", "slip_10k_bps", "volume_24h_usd", "rv",
    "deposit_share", "withdraw_share", "coverage",
)  # fmt: skip
COUNTS: Final = ("expected", "n", "rejected", "gaps", "skew_ms")


@dataclass(frozen=True, slots=True)
class RollupColumns:
    """Two-hour figures column by column, in the order of time. `at`: seconds since 1970."""

    at: Sequence[int]
    counts: Mapping[str, Sequence[int | None]]
    figures: Mapping[str, Sequence[float | None]]


def rollup_columns(session: Session, listing_id: int, since: datetime) -> RollupColumns:
    """As `rollups`, for many: a thousand rows of twenty columns are read as twenty JSON lists, a
    fifth of what it costs to read each value by itself.
    """
    bucket = MarketRollup.bucket
    columns = (
        cast(func.extract("epoch", bucket), BigInteger),
        *(getattr(MarketRollup, name) for name in (*COUNTS, *FIGURES)),
    )
    query = select(*(func.json_agg(aggregate_order_by(one, bucket)) for one in columns))
    found = session.execute(
        query.where(MarketRollup.listing_id == listing_id, bucket >= since)
    ).one()
    at, *rest = (one or [] for one in found)
    named = dict(zip((*COUNTS, *FIGURES), rest, strict=True))
    return RollupColumns(
        at, {name: named[name] for name in COUNTS}, {name: named[name] for name in FIGURES}
    )


def peers(session: Session, exchange: str) -> PeerFigures:
    """Four sorted arrays, whatever the number of pairs."""
    row = session.get(MarketPeers, exchange)
    if row is None:
        return PeerFigures()
    return PeerFigures(
        PeerValues(row.spread_bps, row.spread_n),
        PeerValues(row.depth_usd, row.depth_n),
        PeerValues(row.slip_10k_bps, row.slip_n),
        PeerValues(row.volume_24h_usd, row.volume_n),
    )


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

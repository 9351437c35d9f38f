"""A pair's two-hour figures, bursts, on-chain figures, and what its venue's other pairs have."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import inf
from typing import Any, Final

from sqlalchemy import BigInteger, ColumnElement, Float, cast, func, literal, select
from sqlalchemy.dialects.postgresql import aggregate_order_by, distinct_on
from sqlalchemy.orm import Session

from core.market.bursts import unpacked
from core.market.facts import MarketStatus
from core.market.rules.research import BurstSample, middle_rank
from core.market.scan_tables import MarketBurst, MarketOnchain
from core.market.tables import MarketListingState, MarketRollup


@dataclass(frozen=True, slots=True)
class PeerRank:
    """Of a value among `n` pairs, 0 to 100; None: the value is not known, or no pair has one."""

    rank: float | None
    n: int


# A book that ends before 10,000 dollars is dearer than any figure.
_OF_PEERS: Final[Mapping[str, ColumnElement[Any]]] = {
    "spread_bps": MarketListingState.in_spread_bps.expression,
    "depth_usd": MarketListingState.in_depth_usd.expression,
    "slip_10k_bps": func.coalesce(MarketListingState.in_slip_10k_bps, inf),
    "volume_24h_usd": MarketListingState.in_volume_24h_usd.expression,
}


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


def peer_ranks(
    session: Session, exchange: str, values: Mapping[str, float | None]
) -> dict[str, PeerRank]:
    """By figure (spread_bps, depth_usd, slip_10k_bps, volume_24h_usd) among what the exchange's pairs had
    when they were last graded.
    """
    asked = list[ColumnElement[int]]()
    for name, of in _OF_PEERS.items():
        value = literal(values[name], Float(53))
        counted = func.count().filter(of < value), func.count().filter(of == value)
        asked += [*counted, func.count(of)]
    query = select(*asked).where(
        MarketListingState.exchange == exchange,
        MarketListingState.in_hours > 0,
        MarketListingState.status.is_distinct_from(MarketStatus.DELISTED),
    )
    row = session.execute(query).one()
    found = dict[str, PeerRank]()
    for place, name in enumerate(_OF_PEERS):
        below, equal, n = row[3 * place : 3 * place + 3]
        found[name] = PeerRank(None if values[name] is None else middle_rank(below, equal, n), n)
    return found


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

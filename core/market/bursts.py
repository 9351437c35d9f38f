"""Microbursts: what a pair usually is, and its seconds after something unusual
(docs/market-store.md#microbursts). Nothing here commits.
"""

import gzip
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import delete, func, select, text
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market.rules.research import BurstSample, BurstSummary
from core.market.tables import MarketBurst, MarketListingState
from core.times import exact_instant_text

USUAL_OVER: Final = timedelta(hours=24)
LEAST_BUCKETS: Final = 3  # six hours, as of a grade
_USUAL: Final = text("""
select r.listing_id,
       10000 * sqrt(sum(r.rv * r.rv) / nullif(sum((r.n - 1) * 120.0 / r.expected), 0)) as sigma_bps,
       percentile_cont(0.5) within group (order by r.spread_p50_bps) as spread_bps,
       percentile_cont(0.5) within group (order by r.depth_2_usd) as depth_usd
from snap_2h r join listing_state l on l.listing_id = r.listing_id
where l.exchange = :exchange and l.delisted_at is null and r.bucket >= :since and r.bucket <= :until
  and r.n > 1 and r.expected > 0 and r.rv is not null
group by r.listing_id having count(*) >= :least
""")
_BUCKET: Final = timedelta(hours=2)


@dataclass(frozen=True, slots=True)
class UsualMinute:
    """Of the whole two-hour buckets of a day: what `burst_trigger` compares a minute with."""

    sigma_bps: float
    spread_bps: float
    depth_usd: float


def usual(session: Session, exchange: str, now: datetime) -> Mapping[int, UsualMinute]:
    """By listing, of those with at least six hours of figures; the bucket under way is left out, so
    that what is unusual is no part of what is usual.
    """
    named = {
        "exchange": exchange,
        "since": now - USUAL_OVER - _BUCKET,
        "until": now - _BUCKET,
        "least": LEAST_BUCKETS,
    }
    return {
        listing_id: UsualMinute(float(sigma), float(spread), float(depth))
        for listing_id, sigma, spread, depth in session.execute(_USUAL, named)
        if sigma is not None and spread is not None and depth is not None
    }


def begun_since(session: Session, exchange: str, since: datetime) -> Mapping[int, datetime]:
    """By listing, when its newest capture began, of those that began since then."""
    query = (
        select(MarketBurst.listing_id, func.max(MarketBurst.began_at))
        .join(MarketListingState, MarketListingState.listing_id == MarketBurst.listing_id)
        .where(MarketListingState.exchange == exchange, MarketBurst.began_at >= since)
        .group_by(MarketBurst.listing_id)
    )
    return dict(session.execute(query).all())


def write(
    session: WriteSession, listing_id: int, summary: BurstSummary, samples: Sequence[BurstSample]
) -> None:
    session.add(
        MarketBurst(
            listing_id=listing_id,
            trigger=summary.trigger.value,
            began_at=summary.began_at,
            ended_at=samples[-1].at,
            count=summary.samples,
            max_move_bps=summary.max_move_bps,
            max_spread_bps=summary.max_spread_bps,
            min_depth_usd=summary.min_depth_usd,
            recovery_s=summary.recovery_s,
            samples=packed(samples),
        )
    )
    session.flush()


def packed(samples: Sequence[BurstSample]) -> bytes:
    """gzip of a JSON line each."""
    lines = (
        json.dumps([exact_instant_text(one.at), one.mid, one.spread_bps, one.depth_usd])
        for one in samples
    )
    return gzip.compress("\n".join(lines).encode(), mtime=0)


def unpacked(data: bytes) -> tuple[BurstSample, ...]:
    """What `packed` made of them."""
    rows: list[list[Any]] = [json.loads(line) for line in gzip.decompress(data).splitlines()]
    return tuple(BurstSample(datetime.fromisoformat(at), *figures) for at, *figures in rows)


def prune(
    session: WriteSession,
    kept: Collection[int],
    days: int,
    target_days: int,
    now: datetime,
    limit: int,
) -> int:
    """Drop at most `limit` captures older than `days`, those of the listings in `kept` when older
    than `target_days`; the oldest first; how many.
    """
    is_old = MarketBurst.began_at < now - timedelta(days=target_days)
    is_past = (MarketBurst.began_at < now - timedelta(days=days)) & MarketBurst.listing_id.not_in(
        kept
    )
    chosen = (
        select(MarketBurst.id).where(is_old | is_past).order_by(MarketBurst.began_at).limit(limit)
    )
    gone = session.execute(delete(MarketBurst).where(MarketBurst.id.in_(chosen)))
    return int(gone.rowcount)  # type: ignore[attr-defined]  # of a CursorResult

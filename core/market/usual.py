"""What is usual of a listing, after each two hours that are over (docs/market-store.md#what-is-usual).
Nothing here commits.

    snap_2h (the trailing week of all listings, and the first week of new ones) --> market_usual
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import case, select, text
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market.rollups import BUCKET
from core.market.rules.insights import MakerUsual
from core.market.tables import MarketUsual

WEEK: Final = timedelta(days=7)
LEAST_BUCKETS: Final = 12  # a day of them: of fewer nothing is usual to a maker

_WEEKS: Final = text("""
with week as (
    select listing_id, bucket, depth_2_usd as depth, spread_p50_bps as spread from snap_2h
    where bucket > :before and bucket <= :bucket and n > 0
), middle as (
    select listing_id, max(bucket) as bucket, count(spread) as spreads,
           percentile_cont(0.5) within group (order by depth) as depth,
           percentile_cont(array[0.5, 0.95]) within group (order by spread) as spread
    from week group by listing_id
), away as (
    select listing_id, percentile_cont(0.5) within group (order by abs(week.spread - middle.spread[1])) as mad
    from week join middle using (listing_id) group by listing_id
)
insert into market_usual (listing_id, bucket, spreads, depth_usd, spread_bps, spread_mad_bps, spread_p95_bps)
select listing_id, bucket, spreads, depth, spread[1], mad, spread[2]
from middle join away using (listing_id)
where exists (select from listing_state s where s.listing_id = middle.listing_id)
on conflict (listing_id) do update set bucket = excluded.bucket, spreads = excluded.spreads,
    depth_usd = excluded.depth_usd, spread_bps = excluded.spread_bps, spread_mad_bps = excluded.spread_mad_bps,
    spread_p95_bps = excluded.spread_p95_bps
""")
_FIRST_WEEKS: Final = text("""
update market_usual u set first_price_usd = (
    select percentile_cont(0.5) within group (order by close * usd_per_quote) from snap_2h
    where listing_id = u.listing_id and n > 0 and bucket < begun.bucket + interval '7 days'
)
from market_usual v cross join lateral (
    select bucket from snap_2h where listing_id = v.listing_id and n > 0 order by bucket limit 1
) begun
where v.listing_id = u.listing_id and v.first_price_usd is null and begun.bucket <= :ends - interval '7 days'
""")


@dataclass(frozen=True, slots=True)
class UsualFigures:
    """Of seven days; `price_first_7d_usd`: of the first seven. None: not known."""

    depth_7d_usd: float | None
    spread_p95_7d_bps: float | None
    price_first_7d_usd: float | None


def take(session: WriteSession, bucket: datetime) -> int:
    """The figures after a bucket that is over and rolled up; of how many listings."""
    done = session.execute(_WEEKS, {"bucket": bucket, "before": bucket - WEEK})
    session.execute(_FIRST_WEEKS, {"ends": bucket + BUCKET})
    return int(done.rowcount)  # type: ignore[attr-defined]  # of a CursorResult


def known(session: Session, now: datetime) -> Mapping[int, UsualFigures]:
    """By listing."""
    is_new = MarketUsual.bucket >= now - WEEK
    rows = session.execute(
        select(
            MarketUsual.listing_id,
            case((is_new, MarketUsual.depth_usd)),
            case((is_new, MarketUsual.spread_p95_bps)),
            MarketUsual.first_price_usd,
        )
    )
    return {listing_id: UsualFigures(*figures) for listing_id, *figures in rows}


def makers(session: Session, now: datetime) -> Mapping[int, MakerUsual]:
    """By listing, where spread and depth are known and spreads of LEAST_BUCKETS are."""
    columns: list[Any] = [MarketUsual.spread_bps, MarketUsual.spread_mad_bps, MarketUsual.depth_usd]
    rows = session.execute(
        select(MarketUsual.listing_id, *columns).where(
            MarketUsual.bucket >= now - WEEK,
            MarketUsual.spread_bps.is_not(None),
            MarketUsual.depth_usd.is_not(None),
            MarketUsual.spreads >= LEAST_BUCKETS,
        )
    )
    return {listing_id: MakerUsual(*figures) for listing_id, *figures in rows}

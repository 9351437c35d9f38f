"""What is usual of a listing, brought up to date by each two hours that are over
(docs/market-store.md#what-is-usual). Nothing here commits.

    snap_2h (one bucket, each row by its key) --> market_usual: the trailing week's rows of a listing
    in arrays, and what follows from them

Law: a bucket is taken once and when it is whole; it costs the listings that were measured in it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import text
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market.rules.insights import MakerUsual

WEEK: Final = timedelta(days=7)
LEAST_BUCKETS: Final = 12  # a day of them: of fewer nothing is usual to a maker
AT_ONCE: Final = 5_000  # listings of a transaction

_FIGURES: Final = """
cross join lateral (
    select percentile_cont(0.5) within group (order by depth) as depth,
           percentile_cont(array[0.5, 0.95]) within group (order by spread) as spread
    from unnest(k.depths, k.spreads) as x(depth, spread)
) f
cross join lateral (
    select percentile_cont(0.5) within group (order by abs(spread - f.spread[1])) as mad from unnest(k.spreads) as x(spread)
) m
cross join lateral (
    select case when k.first_price is null and k.began <= cast(:bucket as timestamptz) + interval '2 hours' - interval '7 days' then
        (select percentile_cont(0.5) within group (order by price) from unnest(k.firsts) as x(price)) end as price
) p
"""
# A listing that has no row yet begins with what it has, read by its key.
_BEGIN: Final = text(
    f"""
insert into market_usual (listing_id, bucket, began, depth_usd, spread_bps, spread_mad_bps, spread_p95_bps,
    first_price_usd, starts, depths_usd, spreads_bps, first_prices_usd)
select k.listing_id, :bucket, k.began, f.depth, f.spread[1], m.mad, f.spread[2], p.price, k.starts, k.depths, k.spreads,
       case when p.price is null then k.firsts else '{{}}' end
from (
    select l.listing_id, b.bucket as began, cast(null as float8) as first_price, w.starts, w.depths, w.spreads, o.firsts
    from (
        select listing_id from listing_state l
        where not exists (select from market_usual u where u.listing_id = l.listing_id)
          and exists (select from snap_2h r where r.listing_id = l.listing_id and r.bucket = :bucket and r.n > 0)
        limit :most
    ) l
    cross join lateral (
        select bucket from snap_2h where listing_id = l.listing_id and n > 0 order by bucket limit 1
    ) b
    cross join lateral (
        select array_agg(bucket order by bucket) as starts, array_agg(depth_2_usd order by bucket) as depths,
               array_agg(spread_p50_bps order by bucket) as spreads
        from snap_2h where listing_id = l.listing_id and bucket > :before and bucket <= :bucket and n > 0
    ) w
    cross join lateral (
        select array_agg(close * usd_per_quote order by bucket) as firsts
        from snap_2h where listing_id = l.listing_id and bucket >= b.bucket and bucket < b.bucket + interval '7 days'
          and bucket <= :bucket and n > 0
    ) o
) k {_FIGURES}
on conflict (listing_id) do nothing
"""  # noqa: S608 (of constants alone)
)
_FOLD: Final = text(
    f"""
update market_usual u set bucket = :bucket, depth_usd = f.depth, spread_bps = f.spread[1], spread_mad_bps = m.mad,
    spread_p95_bps = f.spread[2], first_price_usd = coalesce(k.first_price, p.price), starts = k.starts,
    depths_usd = k.depths, spreads_bps = k.spreads,
    first_prices_usd = case when coalesce(k.first_price, p.price) is null then k.firsts else '{{}}' end
from (
    select v.listing_id, v.began, v.first_price_usd as first_price, v.starts[o.old + 1:] || r.bucket as starts,
           v.depths_usd[o.old + 1:] || r.depth_2_usd as depths, v.spreads_bps[o.old + 1:] || r.spread_p50_bps as spreads,
           case when r.bucket < v.began + interval '7 days' then v.first_prices_usd || r.close * r.usd_per_quote
                else v.first_prices_usd end as firsts
    from market_usual v
    join lateral (
        select bucket, depth_2_usd, spread_p50_bps, close, usd_per_quote from snap_2h
        where listing_id = v.listing_id and bucket = :bucket and n > 0
        offset 0
    ) r on true
    cross join lateral (select count(*)::int as old from unnest(v.starts) as x(at) where at <= :before) o
    where v.bucket < :bucket
    limit :most
) k {_FIGURES}
where u.listing_id = k.listing_id
"""  # noqa: S608 (of constants alone)
)
_KNOWN: Final = text("""
select listing_id, case when bucket >= :week then depth_usd end, case when bucket >= :week then spread_p95_bps end, first_price_usd
from market_usual
""")
_MAKERS: Final = text("""
select listing_id, spread_bps, spread_mad_bps, depth_usd from market_usual
where bucket >= :week and spread_bps is not null and depth_usd is not null
  and cardinality(array_remove(spreads_bps, null)) >= :least
""")


@dataclass(frozen=True, slots=True)
class UsualFigures:
    """Of seven days; `price_first_7d_usd`: of the first seven. None: not known."""

    depth_7d_usd: float | None
    spread_p95_7d_bps: float | None
    price_first_7d_usd: float | None


def fold(session: WriteSession, bucket: datetime) -> int:
    """Take the bucket, which is over and rolled up, of so many listings; how many have it now that
    had not. 0: all have it.
    """
    named = {"bucket": bucket, "before": bucket - WEEK, "most": AT_ONCE}
    done, begun = session.execute(_FOLD, named), session.execute(_BEGIN, named)
    return int(done.rowcount) + int(begun.rowcount)  # type: ignore[attr-defined]  # of a CursorResult


def known(session: Session, now: datetime) -> Mapping[int, UsualFigures]:
    """By listing."""
    rows = session.execute(_KNOWN, {"week": now - WEEK})
    return {row[0]: UsualFigures(row[1], row[2], row[3]) for row in rows}


def makers(session: Session, now: datetime) -> Mapping[int, MakerUsual]:
    """By listing, where spread and depth are known and spreads of LEAST_BUCKETS are."""
    rows = session.execute(_MAKERS, {"week": now - WEEK, "least": LEAST_BUCKETS})
    return {row[0]: MakerUsual(row[1], row[2], row[3]) for row in rows}

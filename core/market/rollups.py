"""Samples rolled up to two hours (docs/market-store.md#two-hours). The bucket that is under way is
written as far as it is, and again. Nothing here commits.
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from sqlalchemy import text

from core.db.engine import WriteSession

BUCKET: Final = timedelta(hours=2)
WEEK: Final = timedelta(days=7)
CLOSE_EVERY: Final = timedelta(hours=12)
"""Between the closes that a listing's state has of a week."""
BEGINNING: Final = datetime(2000, 1, 1, tzinfo=UTC)

# A side that ends before the amount is dearer than any figure: of a bucket whose middle look has one
# the slip is null, though it was measured (docs/market-store.md#two-hours).
_ROLL: Final = text("""
with looks as (
    select *, least(bid_1_usd, ask_1_usd) as depth_1, least(bid_2_usd, ask_2_usd) as depth_2,
           greatest(coalesce(slip_buy_1k_bps, 'Infinity'), coalesce(slip_sell_1k_bps, 'Infinity')) as slip_1k,
           greatest(coalesce(slip_buy_10k_bps, 'Infinity'), coalesce(slip_sell_10k_bps, 'Infinity')) as slip_10k,
           ln(mid / lag(mid) over w) as move,
           ts - lag(ts) over w > greatest(interval '3 minutes', every_s * interval '3 seconds') as is_gap
    from snap_1m where ts >= :bucket and ts < :ends and fault is null
    window w as (partition by listing_id order by ts)
), rejected as (
    select listing_id, count(*) as n, max(every_s) as every_s from snap_1m
    where ts >= :bucket and ts < :ends and fault is not null group by listing_id
), rolled as (
    select listing_id, count(*) as n, max(every_s) as every_s,
           count(*) filter (where is_gap) as gaps,
           percentile_disc(0.5) within group (order by extract(epoch from received_at - venue_at) * 1000) as skew_ms,
           (array_agg(mid order by ts))[1] as open, max(mid) as high, min(mid) as low,
           (array_agg(mid order by ts desc))[1] as close,
           (array_agg(usd_per_quote order by ts desc))[1] as usd_per_quote,
           percentile_cont(array[0.05, 0.5, 0.95]) within group (order by spread_bps) as spread,
           percentile_cont(0.5) within group (order by depth_1) as depth_1,
           percentile_cont(0.5) within group (order by depth_2) as depth_2,
           percentile_cont(0.5) within group (order by slip_1k) as slip_1k,
           percentile_cont(0.5) within group (order by slip_10k) as slip_10k,
           percentile_cont(0.5) within group (order by volume_24h_usd) as volume,
           sqrt(sum(move * move)) as rv,
           avg(can_deposit::int) as deposit, avg(can_withdraw::int) as withdraw, avg(is_truncated::int) as truncated
    from looks group by listing_id
)
insert into snap_2h (listing_id, bucket, expected, n, rejected, gaps, skew_ms, open, high, low, close,
    usd_per_quote, spread_p5_bps, spread_p50_bps, spread_p95_bps, depth_1_usd, depth_2_usd, slip_1k_bps,
    slip_10k_bps, volume_24h_usd, rv, deposit_share, withdraw_share, truncated_share, coverage)
select coalesce(r.listing_id, f.listing_id), :bucket, e.expected, coalesce(r.n, 0), coalesce(f.n, 0),
       coalesce(r.gaps, 0), r.skew_ms::int, r.open, r.high, r.low, r.close, r.usd_per_quote,
       r.spread[1], r.spread[2], r.spread[3], r.depth_1, r.depth_2,
       case when r.slip_1k < 'Infinity' then r.slip_1k end, case when r.slip_10k < 'Infinity' then r.slip_10k end,
       r.volume, r.rv,
       r.deposit, r.withdraw, r.truncated, least(coalesce(r.n, 0) / e.expected::float8, 1)
from rolled r full join rejected f on f.listing_id = r.listing_id
cross join lateral (
    select greatest(ceil(:seconds / coalesce(r.every_s, f.every_s)), 1)::int as expected
) e
on conflict (listing_id, bucket) do update set
    expected = excluded.expected, n = excluded.n, rejected = excluded.rejected, gaps = excluded.gaps,
    skew_ms = excluded.skew_ms, open = excluded.open, high = excluded.high, low = excluded.low,
    close = excluded.close, usd_per_quote = excluded.usd_per_quote,
    spread_p5_bps = excluded.spread_p5_bps, spread_p50_bps = excluded.spread_p50_bps,
    spread_p95_bps = excluded.spread_p95_bps, depth_1_usd = excluded.depth_1_usd,
    depth_2_usd = excluded.depth_2_usd, slip_1k_bps = excluded.slip_1k_bps,
    slip_10k_bps = excluded.slip_10k_bps, volume_24h_usd = excluded.volume_24h_usd, rv = excluded.rv,
    deposit_share = excluded.deposit_share, withdraw_share = excluded.withdraw_share,
    truncated_share = excluded.truncated_share, coverage = excluded.coverage
""")


def bucket_of(at: datetime) -> datetime:
    return at - (at - BEGINNING) % BUCKET


def close_buckets(hour: datetime) -> list[datetime]:
    """The buckets whose closes a listing's state has with the grade of `hour`: of a week, the oldest
    first; the last one ends within an hour of it.
    """
    last = bucket_of(hour - timedelta(seconds=1))
    return [last - WEEK + CLOSE_EVERY * n for n in range(WEEK // CLOSE_EVERY + 1)]


def roll(session: WriteSession, bucket: datetime, now: datetime) -> int:
    """Write the bucket from its samples so far; how many listings have any."""
    seconds = min((now - bucket).total_seconds(), BUCKET.total_seconds())
    named = {"bucket": bucket, "ends": bucket + BUCKET, "seconds": max(seconds, 60.0)}
    return int(session.execute(_ROLL, named).rowcount)  # type: ignore[attr-defined]  # of a CursorResult

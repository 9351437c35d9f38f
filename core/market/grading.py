"""Grades of an hour: of listings by the samples of the trailing 24 hours, of assets by their venues
(docs/market-store.md#grades). Nothing here commits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
from sqlalchemy import Row, text
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market import copying, states
from core.market.rollups import WEEK, close_buckets
from core.market.rules import grade
from core.market.rules.grade import GRADE_VERSION, LETTERS, GradeColumns
from core.market.tables import MarketGrade

DAY: Final = timedelta(hours=24)
PARTS: Final = ("part_depth", "part_spread", "part_slippage", "part_volume", "part_uptime")
# A side that ends before 10,000 dollars is dearer than any figure.
_WINDOWS: Final = text("""
with looks as (
    select listing_id,
           (array_agg(slip order by slip) filter (where fault is null))[count(*) filter (where fault is null) / 2 + 1] as slip,
           percentile_cont(0.5) within group (order by least(bid_2_usd, ask_2_usd)) as depth,
           percentile_cont(0.5) within group (order by spread_bps) as spread,
           percentile_cont(0.5) within group (order by volume_24h_usd) filter (where fault is null) as volume,
           coalesce(sum(every_s) filter (where fault is null), 0)::float8 as valid_s, sum(every_s)::float8 as seen_s,
           min(ts) filter (where fault is null) as first, min(ts) as first_look, max(every_s) as every_s,
           2 * count(*) filter (where is_truncated) > count(*) filter (where fault is null) as is_truncated
    from (
        select *, greatest(coalesce(slip_buy_10k_bps, 'Infinity'), coalesce(slip_sell_10k_bps, 'Infinity')) as slip
        from snap_1m where ts >= :since and ts < :hour
    ) s group by listing_id
), months as (
    select listing_id, avg(volume_24h_usd) as volume from snap_2h
    where bucket >= :month and bucket < :hour group by listing_id
)
select s.listing_id, s.grade, s.grade_streak, l.depth, l.spread, l.slip, l.volume, m.volume as volume_30d,
       l.valid_s, l.seen_s, l.first, l.first_look, l.every_s, l.is_truncated
from listing_state s
left join looks l on l.listing_id = s.listing_id
left join months m on m.listing_id = s.listing_id
where s.status is distinct from 'delisted' or l.listing_id is not null
order by s.listing_id
""")
_SHOW: Final = text("""
update listing_state s set grade = x.grade, grade_streak = x.streak, score = x.score, is_provisional = x.provisional,
    gates = string_to_array(x.gates, ','), part_depth = x.part_depth, part_spread = x.part_spread,
    part_slippage = x.part_slippage, part_volume = x.part_volume, part_uptime = x.part_uptime,
    in_depth_usd = x.depth_usd, in_spread_bps = x.spread_bps, in_slip_10k_bps = x.slip_10k_bps,
    in_volume_24h_usd = x.volume_24h_usd, in_volume_30d_usd = x.volume_30d_mean_usd, in_uptime = x.uptime,
    in_hours = x.hours, in_coverage = x.coverage, gpa_7d = g.gpa, best_24h = g.best, graded_at = :hour, grade_version = :version,
    week_closes = w.closes,
    order_usd = coalesce(x.volume_24h_usd, s.order_usd), updated_at = greatest(s.updated_at, :now)
from unnest(:ids, :grade, :streak, :score, :provisional, :gates, :part_depth, :part_spread, :part_slippage,
            :part_volume, :part_uptime, :depth_usd, :spread_bps, :slip_10k_bps, :volume_24h_usd,
            :volume_30d_mean_usd, :uptime, :hours, :coverage)
    as x(id, grade, streak, score, provisional, gates, part_depth, part_spread, part_slippage, part_volume,
         part_uptime, depth_usd, spread_bps, slip_10k_bps, volume_24h_usd, volume_30d_mean_usd, uptime, hours, coverage)
left join (
    select listing_id, avg(array_position(array['F', 'D', 'C', 'B', 'A'], letter) - 1)::float8 as gpa,
           min(letter) filter (where hour > :day) as best
    from grade_hour where hour > :week and hour <= :hour and letter is not null group by listing_id
) g on g.listing_id = x.id
left join (
    select l.id, array_agg(r.close order by m.bucket) as closes
    from unnest(:ids) as l(id) cross join unnest(cast(:marks as timestamptz[])) as m(bucket)
    left join snap_2h r on r.listing_id = l.id and r.bucket = m.bucket and r.bucket = any(cast(:marks as timestamptz[]))
    group by l.id
) w on w.id = x.id
where s.listing_id = x.id
""")
_ASSETS: Final = text("""
with venues as (
    select distinct on (asset_id, exchange) asset_id, exchange, grade, gpa_7d
    from listing_state where grade is not null and status is distinct from 'delisted'
    order by asset_id, exchange, order_usd desc, listing_id
), graded as (
    select asset_id, min(grade) as grade, max(grade) as worst, avg(gpa_7d) as gpa, count(*) as n from venues group by asset_id
)
update asset_state a set grade = g.grade, grade_worst = g.worst, gpa_7d = g.gpa, graded_venues = coalesce(g.n, 0),
    graded_at = :hour, updated_at = :now
from asset_state b left join graded g on g.asset_id = b.asset_id
where a.asset_id = b.asset_id
  and (a.grade, a.grade_worst, a.gpa_7d, a.graded_venues)
      is distinct from (g.grade, g.worst, g.gpa, coalesce(g.n, 0)::int)
""")


@dataclass(frozen=True, slots=True)
class GradedHour:
    """`body`: the hour's rows; `shown`: columns of the states of their listings."""

    body: Mapping[str, copying.CopyColumn]
    shown: Mapping[str, Any]


def rows(session: Session, hour: datetime) -> Sequence[Row[Any]]:
    """Of each listing what the window that ends at `hour` says; none where it was graded before."""
    is_done = session.scalar(
        text("select exists (select from listing_state where graded_at >= :hour)"), {"hour": hour}
    )
    if is_done:
        return ()
    named = {"since": hour - DAY, "hour": hour, "month": hour - timedelta(days=30)}
    return session.execute(_WINDOWS, named).all()


def grade_hour(session: WriteSession, hour: datetime, now: datetime) -> int:
    """Grade an hour in one transaction, once; how many listings."""
    found = rows(session, hour)
    if found:
        write(session, graded(found, hour), hour, now)
    return len(found)


def graded(rows: Sequence[Row[Any]], hour: datetime) -> GradedHour:
    inputs = _inputs(rows, hour)
    truncated = np.array([bool(row.is_truncated) for row in rows])
    scored = grade.grade_many(GradeColumns(**inputs, is_truncated=truncated))
    before = grade.StateColumns(
        np.array([-1 if r.grade is None else LETTERS.index(r.grade) for r in rows], dtype=np.int8),
        np.array([r.grade_streak for r in rows], dtype=np.int8),
    )
    after = grade.step_many(before, scored)
    is_none = after.letter < 0
    score = np.where(is_none, np.nan, scored.score)
    parts = np.where(is_none[:, None], np.nan, scored.parts)
    ids = np.array([row.listing_id for row in rows], dtype=np.int64)
    body: dict[str, copying.CopyColumn] = {
        "listing_id": copying.integers(ids),
        "hour": copying.times(np.full(len(ids), copying.unix_us(hour))),
        **grade_columns(after.letter, score, parts, scored.is_provisional),
    }
    shown: dict[str, Any] = {
        "ids": ids.tolist(),
        "grade": [None if one < 0 else str(LETTERS[one]) for one in after.letter],
        "streak": after.streak.astype(int).tolist(),
        "score": _optional(score),
        "provisional": scored.is_provisional.tolist(),
        "gates": [
            ",".join(scored.gates_at(at)) if hours else ""
            for at, hours in enumerate(inputs["hours"])
        ],
        **{name: _optional(parts[:, at]) for at, name in enumerate(PARTS)},
        **{name: _optional(column) for name, column in inputs.items()},
    }
    return GradedHour(body, shown)


def grade_columns(
    letter: np.ndarray[Any, np.dtype[np.int8]],
    score: np.ndarray[Any, np.dtype[np.float64]],
    parts: np.ndarray[Any, np.dtype[np.float64]],
    is_provisional: np.ndarray[Any, np.dtype[np.bool_]],
) -> dict[str, copying.CopyColumn]:
    """Of `grade_hour`, but for listing and hour. `letter`: places in LETTERS, -1: none."""
    return {
        "letter": copying.CopyColumn(
            letter.astype(np.int64), letter < 0, tuple(one.encode() for one in LETTERS)
        ),
        "score": copying.floats(score),
        **{name: copying.floats(parts[:, at]) for at, name in enumerate(PARTS)},
        "is_provisional": copying.flags(is_provisional),
        "version": copying.words([GRADE_VERSION] * len(letter)),
    }


def write(session: WriteSession, graded: GradedHour, hour: datetime, now: datetime) -> None:
    session.execute(text("delete from grade_hour where hour = :hour"), {"hour": hour})
    copying.copy_columns(session, MarketGrade.__tablename__, graded.body)
    shown = dict(graded.shown)
    typed = {**dict.fromkeys(shown, "float8[]"), "ids": "bigint[]", "grade": "text[]"}
    typed |= {"streak": "smallint[]", "provisional": "boolean[]", "gates": "text[]"}
    statement = _SHOW.text
    for name, kind in typed.items():
        statement = statement.replace(f":{name},", f"cast(:{name} as {kind}),")
        statement = statement.replace(f":{name})", f"cast(:{name} as {kind}))")
    turn = states.take_turn(session, now)
    beside: dict[str, Any] = {"hour": hour, "now": turn, "version": GRADE_VERSION}
    beside |= {"day": hour - DAY, "week": hour - WEEK, "marks": close_buckets(hour)}
    session.execute(text(statement), shown | beside)
    session.execute(_ASSETS, {"hour": hour, "now": now})


def _inputs(
    rows: Sequence[Row[Any]], hour: datetime
) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    """GradeColumns, but whether books were cut off; a listing without a valid sample has no hours, and so no grade. What is
    expected begins with the first look, whatever it found: hours of refused books are no uptime.
    """

    def column(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        return np.array([_number(getattr(row, name)) for row in rows])

    def since_s(name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
        found = (getattr(row, name) for row in rows)
        return np.array([0.0 if at is None else (hour - at).total_seconds() for at in found])

    age_s = since_s("first")
    looked_s = np.maximum(since_s("first_look"), column("every_s"))
    whole_s = np.clip(looked_s, 1.0, DAY.total_seconds())
    whole_s = np.nan_to_num(whole_s, nan=1.0)
    slip = column("slip")
    return {
        "depth_usd": np.nan_to_num(column("depth")),
        "spread_bps": np.nan_to_num(column("spread")),
        "slip_10k_bps": np.where(np.isinf(slip), np.nan, slip),
        "volume_24h_usd": column("volume"),
        "volume_30d_mean_usd": column("volume_30d"),
        "uptime": np.clip(np.nan_to_num(column("valid_s")) / whole_s, 0, 1),
        "hours": np.clip(age_s / 3_600, 0, 24),
        "coverage": np.clip(np.nan_to_num(column("seen_s")) / whole_s, 0, 1),
    }


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _optional(values: Any) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]

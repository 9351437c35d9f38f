"""What is usual of a listing, bucket by bucket, is what its rows come to when all are read."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pytest
from sqlalchemy import event, text

from core.db.engine import Database
from core.market import parts, usual
from core.market.rollups import BUCKET
from core.market.tables import MarketRollup, MarketUsual
from core.market.usual import WEEK, UsualFigures
from tests.integration.core.market.conftest import NOON, Listed

BEGINS = NOON - timedelta(days=12)
OTHERS = """
insert into snap_2h (listing_id, bucket, expected, n, rejected, gaps, coverage)
select 1000000 + l, cast(:begins as timestamptz) + b * interval '2 hours', 120, 120, 0, 0, 1
from generate_series(1, 500) l, generate_series(0, 129) b
"""


def rows_of(listing_id: int, seed: int, count: int) -> list[MarketRollup]:
    random = Random(seed)
    found = []
    for number in range(count):
        n = 0 if random.random() < 0.1 else 120
        known = [random.uniform(1, 9) if n else None for _ in range(4)]
        found.append(
            MarketRollup(
                listing_id=listing_id,
                bucket=BEGINS + number * BUCKET,
                expected=120,
                n=n,
                rejected=0,
                gaps=0,
                close=known[0],
                usd_per_quote=known[1],
                depth_2_usd=known[2],
                spread_p50_bps=known[3],
                coverage=1.0 if n else 0.0,
            )
        )
    return found


def expected(rows: Sequence[MarketRollup], until: datetime) -> UsualFigures | None:
    """As the rows say when each is read: `until` is the newest bucket."""
    measured = [one for one in rows if one.n and one.bucket <= until]
    if not measured:
        return None
    now, began = until + BUCKET, measured[0].bucket
    week = [one for one in measured if one.bucket >= now - WEEK]
    first = [one for one in measured if one.bucket < began + WEEK]
    prices = [(one.close or 0) * (one.usd_per_quote or 0) for one in first]
    return UsualFigures(
        _quantile([one.depth_2_usd or 0 for one in week], 0.5),
        _quantile([one.spread_p50_bps or 0 for one in week], 0.95),
        _quantile(prices, 0.5) if began <= now - WEEK else None,
    )


def _quantile(values: Sequence[float], share: float) -> float:
    return float(np.quantile(values, share))


@pytest.mark.parametrize("begins", [0, 30, 100])
def test_bucket_by_bucket__it_is_what_all_rows_say(
    database: Database, listed: Listed, begins: int
) -> None:
    """`begins`: how many buckets there are before the first is taken."""
    one, other = (rows_of(id_, seed, 130) for seed, id_ in enumerate(listed.ids))
    with database.write() as session:
        parts.ensure(session, parts.ROLLUPS, BEGINS, NOON)
        session.add_all([*one, *other])
    for number in range(begins, 130):
        bucket = BEGINS + number * BUCKET
        with database.write() as session:
            usual.fold(session, bucket)
            assert usual.fold(session, bucket) == 0
            known = usual.known(session, bucket + BUCKET)
        for id_, rows in zip(listed.ids, (one, other), strict=True):
            if rows[number].n:
                assert figures(known[id_]) == pytest.approx(figures(expected(rows, bucket)))


def figures(one: UsualFigures | None) -> list[float]:
    assert one is not None
    price = one.price_first_7d_usd
    return [one.depth_7d_usd or 0, one.spread_p95_7d_bps or 0, -1.0 if price is None else price]


def test_what_was_not_measured_for_a_week__is_not_known__but_its_first_price(
    database: Database, listed: Listed
) -> None:
    rows = rows_of(listed.ids[0], 0, 100)
    with database.write() as session:
        parts.ensure(session, parts.ROLLUPS, BEGINS, NOON)
        session.add_all(rows)
        newest = max(one.bucket for one in rows if one.n)
        for number in range(100):
            usual.fold(session, BEGINS + number * BUCKET)
        [last] = usual.known(session, newest + WEEK).values()
        [later] = usual.known(session, newest + WEEK + timedelta(microseconds=1)).values()
        makers = usual.makers(session, newest + WEEK + timedelta(microseconds=1))
    assert last.depth_7d_usd is not None
    assert (later.depth_7d_usd, later.spread_p95_7d_bps, makers) == (None, None, {})
    assert later.price_first_7d_usd == last.price_first_7d_usd is not None


def test_first_prices__are_let_go_when_their_median_is_known(
    database: Database, listed: Listed
) -> None:
    rows = rows_of(listed.ids[0], 3, 100)
    with database.write() as session:
        parts.ensure(session, parts.ROLLUPS, BEGINS, NOON)
        session.add_all(rows)
        for number in range(100):
            usual.fold(session, BEGINS + number * BUCKET)
        row = session.get_one(MarketUsual, listed.ids[0])
    assert (row.first_prices_usd, len(row.starts) <= 84) == ([], True)
    assert len(row.starts) == len(row.depths_usd) == len(row.spreads_bps)


def test_a_bucket__reads_its_own_rows_by_their_keys(database: Database, listed: Listed) -> None:
    """Whatever there is of the past: the plan has no whole partition in it."""
    with database.write() as session:
        parts.ensure(session, parts.ROLLUPS, BEGINS, NOON)
        session.add_all([one for id_ in listed.ids for one in rows_of(id_, id_, 130)])
        usual.fold(session, BEGINS + 100 * BUCKET)
        session.execute(text(OTHERS), {"begins": BEGINS})
        session.execute(text("analyze snap_2h"))
    plans = list[str]()
    with database.write() as session:
        connection = session.connection()

        def hear(*told: Any) -> None:
            statement = f"explain {told[2]}"
            if "snap_2h" in told[2] and not told[2].startswith("explain"):
                rows = connection.exec_driver_sql(statement, told[3])
                plans.append("\n".join(str(row[0]) for row in rows))

        event.listen(connection, "before_cursor_execute", hear)
        usual.fold(session, BEGINS + 101 * BUCKET)
        event.remove(connection, "before_cursor_execute", hear)
    assert len(plans) == 2
    assert [one for one in plans if "Seq Scan on snap_2h" in one] == []

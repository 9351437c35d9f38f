"""What is usual of a listing, bucket by bucket, is what its rows come to when all are read."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random

import numpy as np
import pytest

from core.db.engine import Database
from core.market import parts, usual
from core.market.rollups import BUCKET
from core.market.tables import MarketRollup
from core.market.usual import WEEK, UsualFigures
from tests.integration.core.market.conftest import NOON, Listed

BEGINS = NOON - timedelta(days=12)


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


def test_bucket_by_bucket__it_is_what_all_rows_say(database: Database, listed: Listed) -> None:
    one, other = (rows_of(id_, seed, 130) for seed, id_ in enumerate(listed.ids))
    with database.write() as session:
        parts.ensure(session, parts.ROLLUPS, BEGINS, NOON)
        session.add_all([*one, *other])
    for number in range(130):
        bucket = BEGINS + number * BUCKET
        with database.write() as session:
            usual.take(session, bucket)
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
            usual.take(session, BEGINS + number * BUCKET)
        [last] = usual.known(session, newest + WEEK).values()
        [later] = usual.known(session, newest + WEEK + timedelta(microseconds=1)).values()
        makers = usual.makers(session, newest + WEEK + timedelta(microseconds=1))
    assert last.depth_7d_usd is not None
    assert (later.depth_7d_usd, later.spread_p95_7d_bps, makers) == (None, None, {})
    assert later.price_first_7d_usd == last.price_first_7d_usd is not None

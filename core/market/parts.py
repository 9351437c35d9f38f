"""Partitions of the time series: made ahead, dropped whole (docs/market-store.md#partitions)."""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import BigInteger, cast, func, select
from sqlalchemy.dialects.postgresql import ARRAY

from core.db.engine import WriteSession
from core.market.tables import MarketGrade, MarketRollup, MarketSample

AHEAD: Final = timedelta(days=2)  # a day on which nobody makes partitions is no outage
SAMPLES: Final = MarketSample.__tablename__
ROLLUPS: Final = MarketRollup.__tablename__
GRADES: Final = MarketGrade.__tablename__
# Days that samples, those of priority targets, and roll-ups and grades are kept.
SAMPLE_DAYS, TARGET_DAYS, ROLLUP_DAYS = 7, 90, 400


def ensure(session: WriteSession, table: str, first: datetime, last: datetime) -> int:
    """Have a partition for each moment from `first` to `last`; how many were made."""
    return int(session.scalar(select(func.market_ensure_parts(table, first, last))) or 0)


def ensure_ahead(session: WriteSession, now: datetime) -> int:
    """From three hours ago until AHEAD; how many were made."""
    since = now - timedelta(hours=3)
    return sum(ensure(session, table, since, now + AHEAD) for table in (SAMPLES, ROLLUPS, GRADES))


def thin_past(session: WriteSession, days: int, kept: Collection[int], now: datetime) -> int:
    """Keep of samples older than that only those of these listings; how many partitions were
    thinned.
    """
    before = now - timedelta(days=days)
    keep = cast(sorted(kept), ARRAY(BigInteger))
    return int(session.scalar(select(func.market_thin_parts(SAMPLES, before, keep))) or 0)


def drop_past(session: WriteSession, kept: Mapping[str, int], now: datetime) -> int:
    """Drop partitions that end `kept[table]` days ago or earlier; how many."""
    return sum(
        int(session.scalar(select(func.market_drop_parts(table, now - timedelta(days=days)))) or 0)
        for table, days in kept.items()
    )

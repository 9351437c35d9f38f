"""What partitions cost does not follow how many pairs there are."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

import pytest
from sqlalchemy import event, select, text

from core.db.engine import Database
from core.market import parts
from core.market.tables import MarketSample
from tests.integration.core.market.conftest import NOON

MANY: Final = 100_000


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """The statements that are sent meanwhile."""
    said = list[str]()

    def hear(*told: Any) -> None:
        said.append(told[2])

    event.listen(database.engine, "before_cursor_execute", hear)
    try:
        yield said
    finally:
        event.remove(database.engine, "before_cursor_execute", hear)


@pytest.fixture
def origin(template: str) -> str:
    """Without any partition."""
    return template


@pytest.fixture
def many(database: Database) -> None:
    """A look at each of 100,000 pairs in one minute."""
    with database.write() as session:
        parts.ensure_ahead(session, NOON)
        session.execute(
            text(
                "insert into snap_1m (listing_id, ts, every_s, fault) select n, :at, 60, 'empty' from generate_series(1, :n) n"
            ),
            {"at": NOON, "n": MANY},
        )
        session.execute(text("analyze snap_1m"))


def test_partitions__of_a_hundred_thousand_pairs__are_made_thinned_and_dropped_in_a_statement_a_table(
    database: Database, many: None
) -> None:
    with counted(database) as made, database.write() as session:
        parts.ensure_ahead(session, NOON + timedelta(days=2))
    with counted(database) as thinned, database.write() as session:
        assert parts.thin_past(session, 7, [1, MANY], NOON + timedelta(days=9)) >= 1
        left = session.scalars(select(MarketSample.listing_id).order_by(MarketSample.listing_id))
        assert left.all() == [1, MANY]
    with counted(database) as dropped, database.write() as session:
        kept = {parts.SAMPLES: 90, parts.ROLLUPS: 400, parts.GRADES: 400}
        assert parts.drop_past(session, kept, NOON + timedelta(days=92)) >= 1

    assert (len(made), len(thinned), len(dropped)) == (3, 2, 3)


@pytest.mark.parametrize(
    ("what", "where"),
    [
        ("thinning reads what it keeps", "listing_id = any('{1,50000}')"),
        ("a spare asks for its pairs", "ts = '2026-11-24 12:00+00' and listing_id = any('{1,2}')"),
    ],
)
def test_of_a_hundred_thousand_rows__those_are_read_that_are_asked_for(
    database: Database, many: None, what: str, where: str
) -> None:
    table = f"market_parts.snap_1m_{NOON:%Y%m%d}"
    with database.write() as session:
        plan = session.scalar(
            text(f"explain (analyze, buffers, format json) select * from {table} where {where}")
        )
    read = plan[0]["Plan"]

    assert read["Actual Rows"] == 2, what
    assert read["Shared Hit Blocks"] + read["Shared Read Blocks"] < 20, what

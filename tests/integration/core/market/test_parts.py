"""What partitions cost does not follow how many pairs there are."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from sqlalchemy import event, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

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


GRADED: Final = (
    "insert into {} (listing_id, hour, is_provisional, version) values (1, :hour, true, 'v')"
)


def test_a_loose_partition__has_its_rows_and_its_parents_indexes_once_it_is_attached(
    database: Database,
) -> None:
    with database.write() as session:
        parts.ensure(session, parts.GRADES, NOON, NOON)
    with database.write() as session:
        loose = parts.loose(session, parts.GRADES, NOON - timedelta(days=40), NOON)
        assert [(part.since, part.ends) for part in loose] == [
            (datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC))
        ]  # November's was there
        for hour in (0, 1):
            at = {"hour": loose[0].since + timedelta(hours=hour)}
            session.execute(text(GRADED.format(loose[0].table)), at)
        assert session.scalar(text("select count(*) from grade_hour")) == 0
        parts.attach(session, loose[0])
    with database.read() as session:
        assert session.scalar(text("select count(*) from grade_hour")) == 2
        made, ensured = (
            session.scalar(
                text(
                    "select array_agg(split_part(indexdef, ' USING ', 2) order by indexdef) from pg_indexes"
                    f" where tablename = 'grade_hour_2026{month}'"
                )
            )
            for month in (10, 11)
        )
    assert sorted(made) == sorted(ensured)
    with pytest.raises(IntegrityError), database.write() as session:
        session.execute(text(GRADED.format("grade_hour")), at)


def test_a_row_of_another_month__keeps_a_loose_partition_out(database: Database) -> None:
    def fill() -> None:
        with database.write() as session:
            (loose,) = parts.loose(session, parts.GRADES, NOON, NOON)
            session.execute(text(GRADED.format(loose.table)), {"hour": loose.ends})
            parts.attach(session, loose)

    with pytest.raises(IntegrityError):
        fill()
    with database.read() as session:
        assert session.scalar(text("select to_regclass('market_parts.grade_hour_202611')")) is None


@pytest.mark.parametrize("table", ["snap_1m", "accounts"])
def test_no_other_table__has_loose_partitions(database: Database, table: str) -> None:
    with pytest.raises(DBAPIError, match="is not filled so"), database.write() as session:
        parts.loose(session, table, NOON, NOON)

"""The statement that a note's facts are read by (api/areas/notes/views.py)."""

from sqlalchemy import text

from api.areas.notes import views
from core.db.engine import Bounds, Database
from tests.integration.core.rows import NOW
from tests.market_rows import add_market

READS = 15
BEFORE = 10  # psycopg prepares a statement after five runs; Postgres plans it anew for five more


def test_columns__are_named_in_the_order_that_they_are_read_in(database: Database) -> None:
    with database.read() as session:
        found = session.execute(views._PAGE, {"tokens": ["BTC"], **views._since(NOW)})
        assert tuple(found.keys()) == views._Row._fields


def test_many_notes__are_planned_once(database_url: str) -> None:
    database = Database(database_url, bounds=Bounds(pool_size=1, overflow=0))
    try:
        with database.write() as session:
            add_market(session, NOW)
        for number in range(READS):
            with database.read() as session:
                assert views.facts_of(session, ("BTC", "NOBODY")[number % 2], NOW).is_known is (
                    number % 2 == 0
                )
        with database.read() as session:
            plans = session.execute(
                text(
                    "select generic_plans, custom_plans from pg_prepared_statements "
                    "where statement like '%asset_state a%'"
                )
            ).all()
        assert [tuple(one) for one in plans] == [(READS - BEFORE, 5)]
    finally:
        database.close()

"""The database itself refuses to change a ledger, even where no row would be touched, and grants
the application less.
"""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from core.db import migrate
from core.db.base import Base
from core.db.engine import Database, WriteSession
from core.mandate.ledger import writer as mandate_ledger
from tests.append_only import append_only
from tests.each import each
from tests.integration.core.rows import NOW, add_mandate, note


@pytest.mark.row("6 append-only")
@each("ledger", append_only())
@each("statement", ["update {} set {} = default", "delete from {}", "truncate {} cascade"])
def test_ledger__changed_in_place__raises(write: WriteSession, ledger: str, statement: str) -> None:
    key = next(iter(Base.metadata.tables[ledger].primary_key)).name
    refused = f"on {ledger} is refused: the table is append-only"
    with pytest.raises(ProgrammingError, match=refused), write.begin_nested():
        write.execute(text(statement.format(ledger, key)))


@pytest.mark.row("6 append-only")
@pytest.mark.parametrize(
    "statement", ["update {} set kind = 'stop'", "delete from {}", "truncate {} cascade"]
)
def test_ledger__with_a_row__keeps_it(database: Database, statement: str) -> None:
    with database.write() as session:
        mandate_id = add_mandate(session)
        mandate_ledger.append(session, mandate_id, note(1), NOW)
    with pytest.raises(ProgrammingError), database.write() as session:
        session.execute(text(statement.format("mandate_event")))
    with database.read() as session:
        assert len(mandate_ledger.load_rows(session, mandate_id)) == 1
        assert mandate_ledger.verify(session, mandate_id) == []


def add_application_role(database: Database) -> None:
    with database.write() as session:
        session.execute(
            text(
                "do $$ begin create role mandate_app; exception when duplicate_object then "
                "null; end $$"
            )
        )


def test_application_role__may_append_to_a_ledger_and_change_other_tables_only(
    database: Database, database_url: str
) -> None:
    add_application_role(database)
    migrate.upgrade(database_url)
    privilege = text("select has_table_privilege('mandate_app', :of, :what)")
    with database.read() as session:
        allowed = {
            (of, what): session.scalar(privilege, {"of": of, "what": what})
            for of in (*append_only(), "mandate")
            for what in ("select", "insert", "update", "delete", "truncate")
        }
    for ledger in append_only():
        assert [
            allowed[ledger, what] for what in ("select", "insert", "update", "delete", "truncate")
        ] == [True, True, False, False, False]
    assert allowed["mandate", "update"]


def test_read_session__that_writes__is_refused_by_the_database(database: Database) -> None:
    with database.read() as session, pytest.raises(Exception, match="read-only transaction"):
        session.execute(text("update mandate set purpose = purpose"))

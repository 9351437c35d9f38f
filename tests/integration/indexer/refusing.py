"""A database that refuses chosen rows of the ledgers, by triggers that only the test's database
has.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from sqlalchemy import event, select, text

from core.db.engine import Database
from core.quarantine import queries as quarantine
from core.quarantine.tables import QuarantinedFact

SETUP = """
create table refused (base_key text primary key, state text not null);
create function refuse() returns trigger language plpgsql as $$
declare wanted text;
begin
    select state into wanted from refused where base_key = new.base_key;
    if wanted is not null then
        raise exception using errcode = wanted, message = 'refused by the test: ' || new.base_key;
    end if;
    return new;
end $$;
create trigger refuse before insert on mandate_event for each row execute function refuse();
create trigger refuse before insert on transfer_entry for each row execute function refuse()
"""
CHECK, TOO_LARGE, DISK_FULL = "23514", "22003", "53100"


class Refusals:
    """Which facts the database refuses now."""

    def __init__(self, database: Database) -> None:
        self._database = database
        with database.write() as session:
            session.execute(text(SETUP))

    def add(self, base_key: str, state: str = CHECK) -> None:
        with self._database.write() as session:
            session.execute(
                text("insert into refused values (:key, :state)"), {"key": base_key, "state": state}
            )

    def drop(self, *base_keys: str) -> None:
        """All of them, when none is named."""
        with self._database.write() as session:
            if not base_keys:
                session.execute(text("delete from refused"))
            for key in base_keys:
                session.execute(text("delete from refused where base_key = :key"), {"key": key})


def held(database: Database, mandate_id: int) -> list[QuarantinedFact]:
    with database.read() as session:
        return list(quarantine.held_facts(session, quarantine.MANDATE, mandate_id, 1_000))


def facts(database: Database) -> list[QuarantinedFact]:
    """Every fact that was ever held, in order."""
    with database.read() as session:
        return list(session.scalars(select(QuarantinedFact).order_by(QuarantinedFact.id)))


@contextmanager
def counted(database: Database) -> Iterator[list[str]]:
    """The statements that the database is sent meanwhile."""
    sent: list[str] = []

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        sent.append(statement)

    def noted(name: str) -> Callable[..., None]:
        return lambda connection, point, *rest: sent.append(name)

    listeners = {"before_cursor_execute": note} | {
        name: noted(name) for name in ("savepoint", "release_savepoint", "rollback_savepoint")
    }
    for name, listener in listeners.items():
        event.listen(database.engine, name, listener)
    try:
        yield sent
    finally:
        for name, listener in listeners.items():
            event.remove(database.engine, name, listener)

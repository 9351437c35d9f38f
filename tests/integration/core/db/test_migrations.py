"""The migrated database is the one that core.db.metadata describes, down to every index and
constraint.
"""

from sqlalchemy import text

from core.db import migrate, revisions
from core.db.base import Base
from core.db.engine import Database
from core.db.metadata import import_tables

CATALOGUE = """
select 'column ' || table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable || ' ' || is_identity
       || ' ' || coalesce(identity_start, '') || ' ' || coalesce(column_default, '') || coalesce(numeric_precision::text, '')
  from information_schema.columns where table_schema = current_schema()
union all
select 'index ' || replace(indexdef, current_schema() || '.', '') from pg_indexes where schemaname = current_schema()
union all
select 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint
 where connamespace = current_schema()::regnamespace
"""


def test_tables__compared_by_alembic__equal_the_migrations(database_url: str) -> None:
    assert migrate.differences(database_url) == []


def test_tables__compared_with_the_catalogue__equal_the_migrations(database: Database) -> None:
    with database.engine.connect() as connection:
        migrated = set(connection.scalars(text(CATALOGUE)))
        connection.execute(text("create schema from_tables"))
        connection.execute(text("set search_path to from_tables"))
        import_tables()
        Base.metadata.create_all(connection)
        described = set(connection.scalars(text(CATALOGUE)))
    migrated = {line for line in migrated if "alembic_version" not in line}
    assert sorted(described - migrated) == []
    assert sorted(migrated - described) == []


def test_upgrade__of_a_migrated_database__changes_nothing(database_url: str) -> None:
    assert migrate.current(database_url) == revisions.newest()
    migrate.upgrade(database_url)
    assert migrate.current(database_url) == revisions.newest()

"""The migrated database is the one that core.db.metadata describes, down to every index and
constraint.
"""

from collections.abc import Iterator

import pytest
from sqlalchemy import text

from api.tables import import_tables
from core.db import migrate, revisions
from core.db.base import Base
from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database
from tests.integration.databases import execute, url_of

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
PAIRS_AT_0100 = """
insert into market_asset (ticker) values ('BTC');
insert into listing (token_id, exchange, base, quote, is_simulated, created_at)
select 'kraken_btc_' || lower(quote), 'kraken', 'BTC', quote, false, '2026-03-01' from unnest(array['USD', 'EUR', 'KRW']) quote;
insert into market_listing (listing_id, asset_id, exchange, native_id, native_base, native_quote, base, quote, status,
    min_size_quote, listed_at, first_seen_at, seen_at, delisted_at)
select id, 1, exchange, 'XXBTZ' || quote, 'XXBT', 'Z' || quote, base, quote,
    case quote when 'EUR' then 'delisted' else 'trading' end, case quote when 'USD' then 5 end,
    case quote when 'USD' then '2020-01-01'::timestamptz end, created_at, created_at,
    case quote when 'EUR' then '2026-03-02'::timestamptz end from listing where quote <> 'KRW';
insert into listing_state (listing_id, asset_id, exchange, token, symbol, token_id, source, is_simulated, status,
    first_seen_at, order_usd, updated_at)
select id, 1, exchange, base, base || '/' || quote, token_id, 'live', false,
    case quote when 'EUR' then 'delisted' else 'trading' end, created_at, 7, created_at from listing where quote <> 'KRW';
insert into market_usual (listing_id, bucket, began, starts, depths_usd, spreads_bps, first_prices_usd)
values (1, '2026-03-01', '2026-02-01', '{}', '{}', '{}', '{}')
"""
PAIRS = """
select token_id, native_id, native_base, status, min_size_quote, listed_at::date::text, delisted_at::date::text,
    order_usd from listing_state order by listing_id
"""


@pytest.fixture
def of_0100(postgres: EmbeddedPostgres) -> Iterator[str]:
    """A database at the first migration of 0.1.0, with three pairs, two of which an exchange told of."""
    execute(postgres, "create database {}", "of_0100")
    url = url_of(postgres, "of_0100")
    migrate.upgrade(url, "0100")
    database = Database(url)
    with database.write() as session:
        for statement in PAIRS_AT_0100.split(";\n"):
            session.execute(text(statement))
    database.close()
    yield url
    execute(postgres, "drop database {} with (force)", "of_0100")


def test_pairs_of_a_database_at_0100__are_in_their_states_and_referred_to(of_0100: str) -> None:
    migrate.upgrade(of_0100)
    assert migrate.differences(of_0100) == []
    database = Database(of_0100)
    with database.read() as session:
        assert [tuple(row) for row in session.execute(text(PAIRS))] == [
            ("kraken_btc_usd", "XXBTZUSD", "XXBT", "trading", 5.0, "2020-01-01", None, 7.0),
            ("kraken_btc_eur", "XXBTZEUR", "XXBT", "delisted", None, None, "2026-03-02", 7.0),
        ]
        assert session.scalar(text("select count(*) from listing")) == 3
        assert session.scalar(text("select count(*) from market_usual")) == 1
    database.close()


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

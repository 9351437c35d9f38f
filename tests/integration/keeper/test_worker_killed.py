"""A worker that is killed in the middle of each job that is registered: before its first write, and when
all of its work is written and the end of its run is not.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import psycopg
import pytest
from sqlalchemy import text

from api.areas.earn.ledger.awards import Source, award
from api.areas.earn.rules.payout import PayoutLimits
from api.areas.rooms.writes import posts
from api.kernel.jobs import area_jobs
from api.kernel.tokens import token_hash
from api.main import create_app
from core.anchors.chain import CONTRACT
from core.credits.ledger import writer as credit_ledger
from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database
from core.identity.queries import set_operator_key
from core.jobs import queries as job_runs
from tests.integration.api.conftest import BASE_URL, KEY, Clock, FewAnswersChain, deps_of
from tests.integration.api.in_process import AppClient
from tests.integration.api.rooms.conftest import SUMMARY, TOKEN, Stage, agent_of
from tests.integration.api.tasks.conftest import TRANSLATION
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.databases import clone, url_of
from tests.integration.keeper import conftest
from tests.integration.keeper.processes import Start, environment_of, starting
from tests.integration.keeper.test_market_jobs import list_and_close
from tests.integration.scenes import Scenes

JOBS = {job.name for job in area_jobs()}
# of the jobs those that write, since something is due (`due`)
WRITING = (
    "coins", "fund_indices", "grades", "hall", "insights", "market_prune", "notes", "payouts", "perps",
    "prune", "reports", "rollups", "rooms", "shadow", "summary", "superseded", "tasks", "wci",
)  # fmt: skip
# rows of an hour or a day, which may end meanwhile
OF_A_TIME = {"earn_day", "fund_index", "grade_hour", "market_summary", "published_day"}
WITHIN_S = 60.0
OPERATOR_KEY = "op_local_test"
HELD = """
select count(*) from pg_stat_activity
where datname = current_database() and wait_event_type = 'Lock'
"""
OTHERS = """
select count(*) from pg_stat_activity
where datname = current_database() and application_name = 'worker'
"""
UNDER_WAY = "outcome is null"
TABLES = """
select relname from pg_class
where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace and not relispartition
    and relname <> 'job_run'
"""


def due(database: Database) -> int:
    """Ten days ago: a bond, an award above the caps of a day, a claim without a proof, a text that
    nobody signed, and coins that an exchange closed. The author's id.
    """
    clock = Clock(datetime.now(UTC) - timedelta(days=10))
    deps = deps_of(database, clock, FewAnswersChain())
    with AppClient(create_app(deps), base_url=BASE_URL) as client:
        author = agent_of(client)
        with database.write() as session:
            set_operator_key(session, token_hash(deps.pepper, OPERATOR_KEY), clock.now)
            room = posts.open_room(session, TOKEN, clock.now)
            posts.post_summary(session, room, author.user_id, SUMMARY, 1, clock.now)
        stage = Stage(client, database, clock, room, 1, author)
        stage.posted(author)
        stage.earn(author, 100)
        stage.defend(2)
        assert stage.posted(author)["bond_credits"] == 20
        stage.defend(0)
        with database.write() as session:
            few = PayoutLimits(person=10, new_account=10)
            made = award(
                session, author.user_id, Source.MINING, "mining:entry:1", 30, few, clock.now
            )
        assert made.queued_credits > 0
        task = client.post("/admin/tasks", json=TRANSLATION, headers={KEY: OPERATOR_KEY}).json()
        taken = client.post(f"/tasks/{task['id']}/claim", headers=author.key)
        assert taken.status_code == 201, taken.text
        sign_in = {"wallet_address": "0x" + "11" * 20, "purpose": "login"}
        assert client.post("/auth/wallet/nonce", json=sign_in).status_code == 200
    list_and_close(database)
    return author.user_id


@dataclass
class Worked:
    """A database that workers work on, each a process of its own."""

    url: str
    start: Start
    database: Database

    def scalar(self, query: str) -> Any:
        with self.database.read() as session:
            return session.scalar(text(query))

    def tables(self) -> list[str]:
        """All but that of the runs."""
        with self.database.read() as session:
            return list(session.scalars(text(TABLES)))

    def counts(self) -> dict[str, int]:
        """Rows of each table."""
        of_each = (f"select '{name}', count(*) from \"{name}\"" for name in self.tables())
        with self.database.read() as session:
            return {name: rows for name, rows in session.execute(text(" union all ".join(of_each)))}  # noqa: C416 (rows are no tuples)

    def under_way(self) -> set[str]:
        with self.database.read() as session:
            query = text(f"select name from job_run where {UNDER_WAY}")
            return set(session.scalars(query))

    def runs(self) -> dict[str, list[tuple[str, str | None]]]:
        """What each job's runs came to, in order."""
        found: dict[str, list[tuple[str, str | None]]] = {}
        with self.database.read() as session:
            query = text("select name, outcome, error from job_run order by id")
            for name, outcome, error in session.execute(query):
                found.setdefault(name, []).append((outcome, error))
        return found

    def begun(self, since: int) -> set[str]:
        with self.database.read() as session:
            query = text("select name from job_run where id > :since")
            return set(session.scalars(query, {"since": since}))

    def newest(self) -> int:
        return self.scalar("select coalesce(max(id), 0) from job_run") or 0

    def note_runs(self) -> None:
        """As if each job had just run."""
        with self.database.write() as session:
            for job in area_jobs():
                now = datetime.now(UTC)
                run = job_runs.begin(session, job.name, job.every_s, "test", now)
                job_runs.end(session, run, "ok", None, {}, now)

    def let_be_due(self, *names: str) -> None:
        """These, and no other."""
        due = "case when name = any(:names) then now() - interval '3 days' else now() end"
        with self.database.write() as session:
            query = text(f"update job_run set started_at = {due}")
            session.execute(query, {"names": list(names)})

    @contextmanager
    def locked(self, *statements: str) -> Iterator[psycopg.Connection[Any]]:
        """A transaction that holds locks until the block ends."""
        plain = self.url.replace("+psycopg", "")
        with psycopg.connect(plain, application_name="test") as holder:
            for one in statements:
                holder.execute(one)
            yield holder
            holder.rollback()

    def tables_locked(self, mode: str) -> Any:
        names = ", ".join(f'"{name}"' for name in self.tables())
        return self.locked(f"lock table {names} in {mode} mode")

    def await_gone(self) -> None:
        """Until the server has noticed that a killed worker's connections are gone."""
        wait_until(lambda: self.scalar(OTHERS) == 0)

    def work_once(self) -> None:
        """A worker, undisturbed, until each job has run once more."""
        since = self.newest()
        process = self.start("work")
        wait_until(lambda: self.begun(since) == JOBS and not self.under_way())
        process.kill()
        self.await_gone()


def wait_until(is_true: Callable[[], bool]) -> None:
    until = time.monotonic() + WITHIN_S
    while not is_true():
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.05)


def kill_in_the_middle(worked: Worked, name: str) -> None:
    """Of the job: before its first write, or its first read where it has nothing to write here."""
    worked.let_be_due(name)
    with worked.tables_locked("share" if name in WRITING else "access exclusive"):
        process = worked.start("work")
        wait_until(lambda: name in worked.under_way() and worked.scalar(HELD) > 0)
        process.kill()
    worked.await_gone()


def kill_at_the_end(worked: Worked, name: str) -> None:
    """When all that the job does is written, and that its run ended is not."""
    worked.let_be_due(name)
    with ExitStack() as locks:
        with worked.tables_locked("access exclusive"):
            process = worked.start("work")
            wait_until(lambda: name in worked.under_way())
            locks.enter_context(
                worked.locked(f"select id from job_run where {UNDER_WAY} for update")
            )
        wait_until(lambda: worked.scalar(HELD) > 0)
        process.kill()
    worked.await_gone()


@pytest.fixture
def worked_of(
    postgres: EmbeddedPostgres,
    scenes: Scenes,
    template: str,
    deployed: DeployedChain,
    tmp_path: Path,
) -> Iterator[Callable[[], Worked]]:
    """Databases that begin alike, with something due."""
    played = scenes.play("jobs that are due", template, due)
    deployed.contracts["reserve_token"] = "0x" + "22" * 20
    deployed.contracts[CONTRACT] = deployed.deploy("RecordAnchor", deployed.contracts["factory"])
    with ExitStack() as open_ones:

        def build() -> Worked:
            url = url_of(postgres, clone(postgres, played.database))
            stage = cast("conftest.Stage", SimpleNamespace(chain=deployed, url=url))
            told = environment_of(stage, tmp_path) | {"HL_URL": "http://127.0.0.1:9"}
            database = Database(url, application_name="test")
            open_ones.callback(database.close)
            return Worked(url, open_ones.enter_context(starting(told)), database)

        yield build


@pytest.mark.slow
def test_killed_in_the_middle_of_each_job__the_next_worker_does_it_once(
    worked_of: Callable[[], Worked],
) -> None:
    twin, worked = worked_of(), worked_of()
    before = twin.counts()
    twin.work_once()
    once = twin.counts()
    worked.note_runs()
    for name in sorted(JOBS):
        kill_in_the_middle(worked, name)
    assert worked.counts() == before
    for name in sorted(JOBS):
        kill_at_the_end(worked, name)
    worked.let_be_due(*JOBS)
    worked.work_once()

    after = worked.counts()
    assert {name: after[name] for name in once if name not in OF_A_TIME} == {
        name: rows for name, rows in once.items() if name not in OF_A_TIME
    }
    for name, runs in worked.runs().items():
        # more than twice where its period is shorter than all of this takes
        assert runs.count(("failed", "ended with its process")) >= 2, name
        assert runs[-1][0] in ("ok", "skipped"), name
        assert None not in [outcome for outcome, _ in runs], name
    with worked.database.read() as session:
        assert sum(credit_ledger.trial_balance(session).values()) == 0

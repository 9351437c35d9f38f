"""`python -m api.worker` as people run it: what it runs without a key, what a killed one leaves, and what
ends one that hangs. As a supervisor, a bare loop is enough.
"""

import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select

from api.kernel.jobs import area_jobs
from core.db.engine import Database
from core.jobs import queries as jobs
from core.jobs.rules import LastRun
from core.jobs.tables import JobRun
from core.watchdog import EXIT_CODE
from tests.integration.keeper.conftest import Stage
from tests.integration.keeper.processes import WITHIN_S, Start, environment_of, starting, wait_until

ROOT = Path(__file__).parents[3]
JOBS = {job.name for job in area_jobs()}
PIPE_BYTES = 4_096
WORKS_S = 4
SCRIPT = """
import sys, time, threading
from datetime import UTC, datetime
from core.db.engine import Database
from core.jobs.schedule import Job, Schedule

def fail(database, now):
    raise ValueError("this is logged")

jobs = {{
    "sleeps": Job("sleeps", 60, 0.5, lambda database, now: time.sleep(600)),
    "fails": Job("fails", 60, 0.5, fail),
    "works": Job("works", 1, 60, lambda database, now: {{}}),
}}
Schedule(
    database=Database({url!r}),
    jobs=[jobs[name] for name in sys.argv[1:]],
    place=lambda of_run: of_run,
    holder="test",
    clock=lambda: datetime.now(UTC),
    ends_process=True,
).start()
threading.Event().wait({within_s})
"""


@pytest.fixture
def start(stage: Stage, tmp_path: Path) -> Iterator[Start]:
    with starting(environment_of(stage, tmp_path)) as found:
        yield found


def last_runs(database: Database) -> dict[str, LastRun]:
    with database.read() as session:
        return {run.name: run for run in jobs.last_runs(session)}


def ended(stage: Stage) -> dict[str, LastRun]:
    """The last run of each job that has ended."""
    return {name: run for name, run in last_runs(stage.database).items() if run.outcome is not None}


@pytest.mark.slow
def test_it_runs_the_jobs_of_the_areas_without_a_key_and_forgets_others(
    stage: Stage, start: Start
) -> None:
    with stage.database.write() as session:
        jobs.begin(session, "of an older version", 3_600, "a process that was killed", stage.now())
    process = start("work", is_real=True)
    wait_until(lambda: bool(ended(stage)))  # an interpreter of its own takes a while
    wait_until(lambda: ended(stage).keys() == JOBS)
    assert {name: run.error for name, run in ended(stage).items() if run.outcome != "ok"} == {
        "anchors": "the deployment has no contract for anchors",
        "perps": "HL_URL is not set: the perpetuals leg is off",
        "reserve": "no reserve token is deployed",
    }
    process.terminate()
    said = process.said(WITHIN_S)
    assert process.returncode == 0, said


@pytest.mark.slow
def test_beside_another_worker__each_job_runs_once_and_goes_on_when_one_is_killed(
    stage: Stage, start: Start
) -> None:
    first, _ = start("work"), start("work")
    wait_until(lambda: ended(stage).keys() == JOBS)
    with stage.database.read() as session:
        of_a_minute = select(JobRun.name).where(JobRun.every_s >= 60)
        names = session.scalars(of_a_minute).all()
    assert sorted(names) == sorted(set(names))
    first.kill()
    killed_at = stage.now()
    wait_until(lambda: ended(stage)["reports"].started_at > killed_at)


@pytest.mark.slow
def test_killed_while_a_job_is_under_way__the_next_process_records_it_as_failed(
    stage: Stage, start: Start
) -> None:
    with stage.database.write() as session:
        jobs.begin(session, "prune", 3_600, "a process that was killed", stage.now())
    start("work")
    wait_until(lambda: "settlements" in ended(stage) and "prune" in ended(stage))
    run = ended(stage)["prune"]
    assert (run.outcome, run.error) == ("failed", "ended with its process")


def run(url: str, *names: str, out: int = subprocess.DEVNULL) -> int:
    """The exit code of a process with these jobs, which ends by itself after a while."""
    command = [sys.executable, "-c", SCRIPT.format(url=url, within_s=WORKS_S), *names]
    done = subprocess.run(command, cwd=ROOT, stdout=out, stderr=out, timeout=3 * WITHIN_S)
    return done.returncode


@pytest.mark.slow
def test_under_a_bare_loop__a_job_that_sleeps_for_ever_ends_the_process_once_a_period(
    database: Database, database_url: str
) -> None:
    assert run(database_url, "sleeps", "works") == EXIT_CODE
    before = last_runs(database)["works"].started_at
    assert run(database_url, "sleeps", "works") == 0
    runs = last_runs(database)
    assert (runs["sleeps"].outcome, runs["sleeps"].error) == ("failed", "ended with its process")
    assert (runs["works"].outcome, before < runs["works"].started_at) == ("ok", True)


@pytest.mark.slow
def test_a_full_log_pipe__ends_the_process_when_a_job_has_something_to_log(
    database_url: str,
) -> None:
    read, full = os.pipe()
    fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    os.write(full, b"." * PIPE_BYTES)
    try:
        assert run(database_url, "fails", out=full) == EXIT_CODE
    finally:
        os.close(read)
        os.close(full)

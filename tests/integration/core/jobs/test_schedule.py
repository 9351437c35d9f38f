"""Slow jobs on a real scheduler and a real database: their rows, their failures, what a killed process
leaves, and two workers side by side.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import DisconnectionError, OperationalError

from core.chain.errors import RpcRefusedError, RpcUnreachableError
from core.db.engine import Database
from core.jobs import queries as rows
from core.jobs.rules import LastRun
from core.jobs.schedule import Job, JobDatabase, JobSkippedError, Schedule
from core.jobs.tables import JobRun

WITHIN_S = 10.0
LIMIT_S = 60
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
Run = Callable[[JobDatabase, datetime], Mapping[str, Any]]
Workers = Callable[..., Schedule[JobDatabase]]


def job_of(
    every_s: int, run: Run, *, name: str = "job", limit_s: int = LIMIT_S
) -> Job[JobDatabase]:
    return Job(name, every_s, limit_s, run)


@pytest.fixture
def worker(database: Database) -> Iterator[Workers]:
    """Each call is another process's schedule."""
    made: list[Schedule[JobDatabase]] = []

    def build(
        *jobs: Job[JobDatabase], clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> Schedule[JobDatabase]:
        one = Schedule[JobDatabase](
            database=database,
            jobs=jobs,
            place=lambda of_run: of_run,
            holder=f"test {len(made)}",
            clock=clock,
            ends_process=False,
        )
        made.append(one)
        return one

    yield build
    for one in made:
        # a run that goes on would take a connection after the test has closed them
        if one._scheduler.running:
            one._scheduler.shutdown(wait=True)


def runs(database: Database) -> list[JobRun]:
    with database.read() as session:
        return list(session.scalars(select(JobRun).order_by(JobRun.id)))


def outcomes(database: Database) -> list[str | None]:
    return [run.outcome for run in runs(database)]


def last(database: Database, name: str = "job") -> LastRun:
    with database.read() as session:
        return next(run for run in rows.last_runs(session) if run.name == name)


def wait_until(is_true: Callable[[], bool]) -> None:
    until = time.monotonic() + WITHIN_S
    while not is_true():
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.02)


def doing(**did: Any) -> Run:
    return lambda database, now: did


def failing(error: Exception) -> Run:
    def fail(database: JobDatabase, now: datetime) -> Mapping[str, Any]:
        raise error

    return fail


def end_lock(database: Database) -> None:
    """The connection that holds the job's lock ends, as that of a process that was killed."""
    with database.write() as session:
        held = "select pid from pg_locks where locktype = 'advisory' and pid <> pg_backend_pid()"
        session.execute(text(f"select pg_terminate_backend(pid, 500) from ({held}) x"))


# One run


def test_run__a_good_one__is_recorded_with_what_it_did(database: Database, worker: Workers) -> None:
    seen = iter([NOW, NOW + timedelta(milliseconds=250)])
    job = job_of(60, lambda database, now: {"at": str(now)})
    worker(job, clock=lambda: next(seen)).run(job)
    (run,) = runs(database)
    assert (run.outcome, run.error, run.did, run.every_s) == ("ok", None, {"at": str(NOW)}, 60)
    assert run.holder == "test 0"
    assert last(database).duration_ms == 250


def test_run__while_it_goes_on__has_no_outcome(database: Database, worker: Workers) -> None:
    seen: list[str | None] = []

    def look(of_run: JobDatabase, now: datetime) -> Mapping[str, Any]:
        seen.append(last(database).outcome)
        return {}

    job = job_of(60, look)
    worker(job).run(job)
    assert seen == [None]


def test_run__a_failed_one__keeps_our_own_sentence_or_the_errors_type(
    database: Database, worker: Workers
) -> None:
    """A node words its refusal with a NUL, which neither text nor JSON of the database takes."""
    for number, (error, kept) in enumerate(
        [
            (RpcUnreachableError("eth_call", ["timeout"]), "eth_call: no node answered (timeout)"),
            (ValueError("password=hunter2"), "ValueError"),
            (RpcUnreachableError("x" * 400, []), "x" * 300),
            (RpcRefusedError("eth_call", -32000, "a \0 b"), "eth_call: a \\x00 b (code -32000)"),
        ]
    ):
        job = job_of(60, failing(error), name=str(number))
        with pytest.raises(type(error)):
            worker(job).run(job)
        assert (last(database, job.name).outcome, last(database, job.name).error) == (
            "failed",
            kept,
        )


def test_run__nothing_to_do_here__is_skipped_and_no_failure(
    database: Database, worker: Workers
) -> None:
    job = job_of(60, failing(JobSkippedError("a dry run has no accounts")))
    worker(job).run(job)
    assert (last(database).outcome, last(database).error, last(database).failures) == (
        "skipped",
        "a dry run has no accounts",
        0,
    )


def test_run__the_lock_is_lost_meanwhile__commits_nothing_more(
    database: Database, worker: Workers
) -> None:
    """Not even what it retries: SQLAlchemy connects again by itself, without the lock."""
    refused: list[type[Exception]] = []

    def lose(of_run: JobDatabase, now: datetime) -> Mapping[str, Any]:
        with of_run.write() as session:
            rows.begin(session, "before", 60, "test", now)
        end_lock(database)
        for _ in range(3):
            try:
                with of_run.write() as session:
                    rows.begin(session, "after", 60, "test", now)
            except (OperationalError, DisconnectionError) as error:
                refused.append(type(error))
        return {}

    job = job_of(60, lose)
    with pytest.raises(DisconnectionError):
        worker(job).run(job)
    assert refused[1:] == [DisconnectionError] * 2
    assert [(run.name, run.outcome) for run in runs(database)] == [("job", None), ("before", None)]


def test_run__the_lock_is_lost_within_a_write__rolls_it_back(
    database: Database, worker: Workers
) -> None:
    def lose(of_run: JobDatabase, now: datetime) -> Mapping[str, Any]:
        with of_run.write() as session:
            rows.begin(session, "within", 60, "test", now)
            end_lock(database)
        return {}

    job = job_of(60, lose)
    with pytest.raises((OperationalError, DisconnectionError)):
        worker(job).run(job)
    assert [run.name for run in runs(database)] == ["job"]


def test_run__what_its_process_left_under_way__is_marked_as_failed_by_the_next_one(
    database: Database, worker: Workers
) -> None:
    with database.write() as session:
        rows.begin(session, "job", 3_600, "killed", datetime.now(UTC))
    job = job_of(3_600, doing())
    worker(job).run(job)
    (run,) = runs(database)  # it is due an hour after the start of the one that was killed
    assert (run.outcome, run.error) == ("failed", "ended with its process")
    assert run.ended_at is not None


# Two workers


def test_run__another_worker_runs_the_job__leaves_it_alone(
    database: Database, worker: Workers
) -> None:
    done: list[datetime] = []

    def meanwhile(of_run: JobDatabase, now: datetime) -> Mapping[str, Any]:
        other = job_of(60, lambda database, now: done.append(now) or {})
        worker(other).run(other)
        return {}

    job = job_of(60, meanwhile)
    worker(job).run(job)
    assert (outcomes(database), done) == (["ok"], [])


def test_run__by_a_clock_that_is_behind_the_other_workers__waits_for_its_period(
    database: Database, worker: Workers
) -> None:
    job = job_of(60, doing())
    for later_s in (0, -0.01, -58, 58, 59):
        worker(job, clock=lambda now=NOW + timedelta(seconds=later_s): now).run(job)  # type: ignore[misc]
    assert [run.started_at - NOW for run in runs(database)] == [
        timedelta(0),
        timedelta(seconds=59),
    ]


def test_two_workers__run_each_job_once_in_its_period__and_the_other_goes_on_alone(
    database: Database, worker: Workers
) -> None:
    jobs = [job_of(2, doing(), name=name) for name in ("a", "b", "c")]
    first, second = worker(*jobs), worker(*jobs)
    first.start()
    second.start()
    time.sleep(3.5)
    starts = [(run.name, run.started_at) for run in runs(database)]
    assert sorted(name for name, _ in starts) == ["a", "a", "b", "b", "c", "c"]
    first._scheduler.shutdown(wait=True)
    wait_until(lambda: len(runs(database)) >= 9)
    assert {run.holder for run in runs(database)[6:]} == {"test 1"}
    assert set(outcomes(database)) <= {"ok", None}


@pytest.mark.parametrize(
    ("limit_s", "outcomes_then"), [(1, ["failed", "ok"]), (60, [None])], ids=["silent", "not yet"]
)
def test_run__a_holder_that_is_frozen__loses_the_lock_after_twice_the_limit(
    database: Database, worker: Workers, limit_s: int, outcomes_then: list[str | None]
) -> None:
    frozen, begun = threading.Event(), threading.Event()

    def hang(of_run: JobDatabase, now: datetime) -> Mapping[str, Any]:
        begun.set()
        frozen.wait(WITHIN_S)
        return {}

    def hold() -> None:
        job = job_of(1, hang, limit_s=limit_s)
        with suppress(OperationalError, DisconnectionError):
            worker(job).run(job)

    thread = threading.Thread(target=hold)
    thread.start()
    assert begun.wait(WITHIN_S)
    time.sleep(2.5)
    job = job_of(1, doing())
    worker(job).run(job)
    assert outcomes(database) == outcomes_then
    frozen.set()
    thread.join(WITHIN_S)


# The schedule


def test_start__a_job_that_never_ran__runs_at_once(database: Database, worker: Workers) -> None:
    worker(job_of(3_600, doing(n=1))).start()
    wait_until(lambda: outcomes(database) == ["ok"])


def test_start__missed_many_times__runs_once(database: Database, worker: Workers) -> None:
    job = job_of(3_600, doing())
    worker(job, clock=lambda: datetime.now(UTC) - timedelta(days=2)).run(job)
    worker(job).start()
    wait_until(lambda: len(runs(database)) == 2)
    time.sleep(0.3)
    assert len(runs(database)) == 2


def test_start__not_due_yet__waits_until_it_is(database: Database, worker: Workers) -> None:
    job = job_of(10, doing())
    worker(job, clock=lambda: datetime.now(UTC) - timedelta(seconds=8)).run(job)
    worker(job).start()
    time.sleep(0.3)
    assert len(runs(database)) == 1
    wait_until(lambda: len(runs(database)) == 2)


def test_start__after_the_clock_was_set_back__runs(database: Database, worker: Workers) -> None:
    job = job_of(3_600, doing())
    worker(job, clock=lambda: datetime.now(UTC) + timedelta(days=2)).run(job)
    worker(job).run(job)
    assert outcomes(database) == ["ok", "ok"]


def test_start__after_a_failure__the_next_run_still_happens(
    database: Database, worker: Workers
) -> None:
    errors = iter([ValueError("x")])

    def fail_first(of_run: JobDatabase, now: datetime) -> Mapping[str, Any]:
        for error in errors:
            raise error
        return {}

    worker(job_of(1, fail_first)).start()
    wait_until(lambda: outcomes(database)[:2] == ["failed", "ok"])


@pytest.mark.parametrize(
    ("error", "of_the_scheduler"),
    [
        (RpcUnreachableError("eth_call", ["timeout"]), 0),
        (OperationalError("", None, ValueError()), 0),
        (ValueError("x"), 1),
    ],
)
def test_start__a_failure__is_left_to_the_schedulers_log_only_when_it_is_a_defect(
    database: Database,
    worker: Workers,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    of_the_scheduler: int,
) -> None:
    worker(job_of(3_600, failing(error))).start()
    wait_until(lambda: outcomes(database) == ["failed"])
    wait_until(lambda: len(caplog.records) >= of_the_scheduler)
    assert [record.levelname for record in caplog.records] == ["ERROR"] * of_the_scheduler


def test_start__a_run_longer_than_its_period__is_never_doubled(
    database: Database, worker: Workers
) -> None:
    under_way, most, release = threading.Semaphore(1), [0], threading.Event()

    def long(of_run: JobDatabase, now: datetime) -> Mapping[str, Any]:
        most[0] += not under_way.acquire(blocking=False)
        release.wait(2.5)
        under_way.release()
        return {}

    job = job_of(1, long)
    worker(job).start()
    worker(job).start()
    time.sleep(2.2)
    assert len(runs(database)) == 1
    release.set()
    wait_until(lambda: len(runs(database)) >= 2)
    assert most == [0]


# The rows


def add(database: Database, *outcomes: str | None) -> None:
    with database.write() as session:
        for outcome in outcomes:
            run_id = rows.begin(session, "job", 60, "test", NOW)
            if outcome is not None:
                rows.end(session, run_id, outcome, outcome, {"n": outcome}, NOW)


@pytest.mark.parametrize(
    ("outcomes", "failures"),
    [
        (["ok"], 0),
        (["failed"], 1),
        (["ok", "failed", "failed", "failed"], 3),
        (["failed", "failed", "ok", "failed"], 1),
        (["failed", "skipped"], 0),
        (["failed", "failed", None], 2),
    ],
)
def test_last_runs__counts_failures_since_the_last_good_run(
    database: Database, outcomes: list[str | None], failures: int
) -> None:
    add(database, *outcomes)
    assert last(database).failures == failures


def test_last_runs__while_one_is_under_way__shows_what_the_one_before_did(
    database: Database,
) -> None:
    add(database, "ok", None)
    assert (last(database).outcome, last(database).did) == (None, {"n": "ok"})


def test_end__twice__changes_nothing(database: Database) -> None:
    add(database, "ok")
    with database.write() as session:
        assert not rows.end(session, runs(database)[0].id, "failed", "late", {}, NOW)
    assert last(database).outcome == "ok"


def test_drop_old_runs__keeps_the_newest_of_each_job_and_holds_to_the_limit(
    database: Database,
) -> None:
    add(database, "ok", "ok", "ok", "failed")
    with database.write() as session:
        assert rows.drop_old_runs(session, NOW, 10) == 0
        assert rows.drop_old_runs(session, NOW + timedelta(seconds=1), 2) == 2
        assert rows.drop_old_runs(session, NOW + timedelta(seconds=1), 2) == 1
    assert [run.outcome for run in runs(database)] == ["failed"]


def test_a_row__says_when_it_ended_exactly_if_it_has_an_outcome(database: Database) -> None:
    add(database, "ok")
    with pytest.raises(Exception, match="ck_job_run_ended"), database.write() as session:
        session.execute(text("update job_run set ended_at = null"))

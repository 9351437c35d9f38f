"""Slow jobs on a real scheduler and a real database: their rows, their failures, and what a killed
process leaves.
"""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, text
from sqlalchemy.exc import OperationalError

from core.chain.errors import RpcRefusedError, RpcUnreachableError
from core.db.engine import Database
from core.db.leadership import Leadership, LeadershipLostError, leader_row
from core.jobs import queries as rows
from core.jobs.rules import LastRun
from core.jobs.tables import JobRun
from keeper.schedule import Job, JobSkippedError, Schedule

WITHIN_S = 10.0
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
Lead = Callable[[], Leadership]


@pytest.fixture
def lead(database_url: str) -> Iterator[Lead]:
    """Each call is another process that takes the lead; the one before it is killed."""
    made: list[Leadership] = []

    def take() -> Leadership:
        for earlier in made:
            earlier.release()
        made.append(Leadership(database_url, "keeper", f"test {len(made)}"))
        # the lock of the one before goes with its backend, which ends a moment later
        assert made[-1].take_within(WITHIN_S, lambda: datetime.now(UTC), threading.Event().wait)
        return made[-1]

    yield take
    for one in made:
        one.release()


@pytest.fixture
def schedule(database: Database) -> Iterator[Callable[..., Schedule]]:
    made: list[Schedule] = []

    def build(
        leadership: Leadership,
        *jobs: Job,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> Schedule:
        epoch = leadership.epoch
        one = Schedule(
            database=database,
            jobs=jobs,
            fence=leadership.fence_beside,
            epoch=lambda: epoch,
            holder=leadership.holder,
            clock=clock,
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


def last(database: Database, name: str = "job") -> LastRun:
    with database.read() as session:
        return next(run for run in rows.last_runs(session) if run.name == name)


def wait_until(is_true: Callable[[], bool]) -> None:
    until = time.monotonic() + WITHIN_S
    while not is_true():
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.02)


def doing(**did: Any) -> Callable[[datetime], Mapping[str, Any]]:
    return lambda now: did


# One run


def test_run__a_good_one__is_recorded_with_what_it_did(
    database: Database, lead: Lead, schedule: Callable[..., Schedule]
) -> None:
    job, seen = (
        Job("job", 60, lambda now: {"at": str(now)}),
        iter([NOW, NOW + timedelta(milliseconds=250)]),
    )
    leadership = lead()
    schedule(leadership, job, clock=lambda: next(seen)).run(job)
    (run,) = runs(database)
    assert (run.outcome, run.error, run.did, run.every_s) == ("ok", None, {"at": str(NOW)}, 60)
    assert (run.epoch, run.holder) == (leadership.epoch, "test 0")
    assert last(database).duration_ms == 250


def test_run__while_it_goes_on__has_no_outcome(
    database: Database, lead: Lead, schedule: Callable[..., Schedule]
) -> None:
    seen: list[str | None] = []

    def look(now: datetime) -> Mapping[str, Any]:
        seen.append(last(database).outcome)
        return {}

    job = Job("job", 60, look)
    schedule(lead(), job).run(job)
    assert seen == [None]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RpcUnreachableError("eth_call", ["timeout"]), "eth_call: no node answered (timeout)"),
        (ValueError("password=hunter2"), "ValueError"),
        (RpcUnreachableError("x" * 400, []), "x" * 300),
    ],
)
def test_run__a_failed_one__keeps_our_own_sentence_or_the_errors_type(
    database: Database, lead: Lead, schedule: Callable[..., Schedule], error: Exception, told: str
) -> None:
    def fail(now: datetime) -> Mapping[str, Any]:
        raise error

    job = Job("job", 60, fail)
    with pytest.raises(type(error)):
        schedule(lead(), job).run(job)
    (run,) = runs(database)
    assert (run.outcome, run.error, run.did) == ("failed", told, {})


def test_run__one_whose_error_quotes_a_nul__ends_as_failed(
    database: Database, lead: Lead, schedule: Callable[..., Schedule]
) -> None:
    """A node words its refusal so, and neither text nor JSON of the database takes it."""

    def refused(now: datetime) -> Mapping[str, Any]:
        raise RpcRefusedError("eth_getBalance", -32000, "a \0 b")

    job = Job("balances", 30, refused)
    with pytest.raises(RpcRefusedError):
        schedule(lead(), job).run(job)
    with database.read() as session:
        (run,) = rows.last_runs(session)
    assert (run.outcome, run.error) == ("failed", "eth_getBalance: a \\x00 b (code -32000)")


def test_a_heartbeat_that_the_database_refuses__is_no_lost_lead(
    database: Database, lead: Lead
) -> None:
    leader = lead()
    leader.beat({"error": "a \0 b"})
    leader.beat({"error": "none"})
    with database.read() as session:
        row = leader_row(session, "keeper")
    assert row is not None
    assert row.status["error"] == "none"


def test_run__nothing_to_do_here__is_skipped_and_no_failure(
    database: Database, lead: Lead, schedule: Callable[..., Schedule]
) -> None:
    def skip(now: datetime) -> Mapping[str, Any]:
        raise JobSkippedError("a dry run has no accounts")

    job = Job("job", 60, skip)
    schedule(lead(), job).run(job)
    assert (last(database).outcome, last(database).error, last(database).failures) == (
        "skipped",
        "a dry run has no accounts",
        0,
    )


def test_run__after_the_lead_went__writes_nothing(
    database: Database, lead: Lead, schedule: Callable[..., Schedule]
) -> None:
    did: list[datetime] = []

    def note(now: datetime) -> Mapping[str, Any]:
        did.append(now)
        return {}

    job = Job("job", 60, note)
    old = schedule(lead(), job)
    lead()
    with pytest.raises(LeadershipLostError):
        old.run(job)
    assert (did, runs(database)) == ([], [])


def test_run__the_lead_goes_meanwhile__its_end_is_written_by_the_next_leader(
    database: Database, lead: Lead, schedule: Callable[..., Schedule]
) -> None:
    def lose_it(now: datetime) -> Mapping[str, Any]:
        lead()
        return {}

    job = Job("job", 3_600, lose_it)
    with pytest.raises(LeadershipLostError):
        schedule(lead(), job).run(job)
    assert runs(database)[0].outcome is None
    schedule(lead(), job).start()
    (run,) = runs(database)
    assert (run.outcome, run.error) == ("failed", "ended with its process")
    assert run.ended_at is not None


# The schedule


def test_start__a_job_that_never_ran__runs_at_once(
    database: Database, lead: Lead, schedule: Callable[..., Schedule]
) -> None:
    schedule(lead(), Job("job", 3_600, doing(n=1))).start()
    wait_until(lambda: len(runs(database)) == 1 and runs(database)[0].outcome == "ok")


def test_start__missed_many_times__runs_once(
    database: Database, lead: Lead, schedule: Callable[..., Schedule]
) -> None:
    job, leadership = Job("job", 3_600, doing()), lead()
    schedule(leadership, job, clock=lambda: datetime.now(UTC) - timedelta(days=2)).run(job)
    schedule(leadership, job).start()
    wait_until(lambda: len(runs(database)) == 2)
    time.sleep(0.3)
    assert len(runs(database)) == 2


def test_start__not_due_yet__waits(
    database: Database, lead: Lead, schedule: Callable[..., Schedule]
) -> None:
    job, leadership = Job("job", 3_600, doing()), lead()
    schedule(leadership, job).run(job)
    schedule(leadership, job).start()
    time.sleep(0.3)
    assert len(runs(database)) == 1


def test_start__after_a_failure__the_next_run_still_happens(
    database: Database, lead: Lead, schedule: Callable[..., Schedule]
) -> None:
    outcomes = iter([ValueError("x"), None])

    def fail_first(now: datetime) -> Mapping[str, Any]:
        error = next(outcomes, None)
        if error is not None:
            raise error
        return {}

    schedule(lead(), Job("job", 1, fail_first)).start()
    wait_until(lambda: [run.outcome for run in runs(database)][:2] == ["failed", "ok"])


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
    lead: Lead,
    schedule: Callable[..., Schedule],
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    of_the_scheduler: int,
) -> None:
    def fail(now: datetime) -> Mapping[str, Any]:
        raise error

    begun = schedule(lead(), Job("job", 3_600, fail))
    begun.start()
    wait_until(lambda: [run.outcome for run in runs(database)] == ["failed"])
    begun.stop()
    wait_until(lambda: len(caplog.records) >= of_the_scheduler)
    assert [record.levelname for record in caplog.records] == ["ERROR"] * of_the_scheduler


def test_start__a_run_longer_than_its_period__is_never_doubled(
    database: Database, lead: Lead, schedule: Callable[..., Schedule]
) -> None:
    under_way, most, release = threading.Semaphore(1), [0], threading.Event()

    def long(now: datetime) -> Mapping[str, Any]:
        most[0] += not under_way.acquire(blocking=False)
        release.wait(2.5)
        under_way.release()
        return {}

    schedule(lead(), Job("job", 1, long)).start()
    time.sleep(2.2)
    assert len(runs(database)) == 1
    release.set()
    wait_until(lambda: len(runs(database)) >= 2)
    assert most == [0]


def test_a_run_is_no_sign_of_the_tick(
    database: Database, lead: Lead, schedule: Callable[..., Schedule]
) -> None:
    leadership, job = lead(), Job("job", 60, doing())
    before = leadership._sign_at
    schedule(leadership, job).run(job)
    assert leadership._sign_at == before


# The rows


def add(database: Database, *outcomes: str | None) -> None:
    with database.write() as session:
        for outcome in outcomes:
            run_id = rows.begin(session, "job", 60, 1, "test", NOW)
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

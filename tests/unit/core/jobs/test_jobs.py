"""When a slow job is late, failing, or asks for somebody."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.jobs.rules import ATTENTION, LastRun, troubles

START = datetime(2026, 11, 21, 12, tzinfo=UTC)


def run(**changes: Any) -> LastRun:
    given: dict[str, Any] = {
        "name": "prune",
        "every_s": 60,
        "started_at": START,
        "ended_at": START + timedelta(milliseconds=1_250),
        "outcome": "ok",
        "error": None,
        "failures": 0,
        "did": {},
    }
    return LastRun(**given | changes)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def test_a_run__tells_duration_age_and_when_it_is_due() -> None:
    assert (run().duration_ms, run().age_s(after(59.9)), run().due_at) == (1_250, 59, after(60))


def test_a_run_under_way__has_no_duration() -> None:
    assert run(ended_at=None, outcome=None).duration_ms is None


@pytest.mark.parametrize(("age_s", "is_late"), [(179, False), (180, True)])
def test_trouble__three_periods_without_a_run__is_late(age_s: int, is_late: bool) -> None:
    expected = (
        "The job prune has not run for 180 s, it is due every 60 s; see that `python -m "
        "api.worker` runs, and its log."
    )
    assert run().trouble(after(age_s)) == (expected if is_late else None)


def test_trouble__a_run_that_never_ends__says_so() -> None:
    told = run(ended_at=None, outcome=None).trouble(after(180))
    assert told is not None
    assert told.startswith("The job prune was started and has not ended for 180 s")


@pytest.mark.parametrize(("failures", "is_trouble"), [(2, False), (3, True)])
def test_trouble__three_failures_in_a_row(failures: int, is_trouble: bool) -> None:
    told = run(outcome="failed", failures=failures, error="no node answered").trouble(after(1))
    assert told == (
        "The job prune failed its last 3 runs (no node answered); the worker's log says more."
        if is_trouble
        else None
    )


def test_trouble__what_a_run_asks_of_somebody__is_passed_on() -> None:
    assert run(did={ATTENTION: "Send 1 ETH."}).trouble(after(1)) == "Send 1 ETH."


def test_troubles__names_only_jobs_that_need_somebody() -> None:
    assert troubles([run(), run(name="b", did={ATTENTION: "Act."})], after(1)) == ["Act."]

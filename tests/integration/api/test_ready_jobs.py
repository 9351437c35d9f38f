"""/health/ready on the keeper's slow jobs: the last run of each, and what makes the part
degraded.
"""

from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from core.db.engine import Database
from core.jobs import queries as rows
from core.jobs.rules import ATTENTION
from tests.integration.api.conftest import Clock, ask_anew


@pytest.fixture(autouse=True)
def beating(database: Database, clock: Clock) -> None:
    beat(database, clock)


def beat(database: Database, clock: Clock, state: str = "watching") -> None:
    with database.write() as session:
        session.execute(text("delete from leader"))
        said = text(
            "insert into leader values ('keeper', 1, 'x', 1, :now, :now, "
            "jsonb_build_object('state', cast(:state as text)))"
        )
        session.execute(said, {"now": clock.now, "state": state})


def record(
    database: Database,
    clock: Clock,
    *outcomes: str | None,
    name: str = "prune",
    did: dict[str, Any] | None = None,
) -> None:
    """Runs that start now and take 1.5 s; outcome None: under way."""
    with database.write() as session:
        for outcome in outcomes:
            run_id = rows.begin(session, name, 60, "test", clock.now)
            if outcome is not None:
                error = "no node answered" if outcome == "failed" else None
                rows.end(
                    session, run_id, outcome, error, did or {}, clock.now + timedelta(seconds=1.5)
                )


def keeper(client: TestClient) -> dict[str, Any]:
    part: dict[str, Any] = ask_anew(client).json()["parts"]["keeper"]
    return part


def test_the_last_run_of_each_job__is_shown(
    client: TestClient, database: Database, clock: Clock
) -> None:
    record(database, clock, "failed", "ok")
    record(database, clock, None, name="balances")
    clock.pass_(seconds=5)
    beat(database, clock)
    part = keeper(client)
    assert (part["status"], part["note"]) == ("ok", None)
    shown = {
        "last_start": "2026-11-21T12:00:00Z",
        "age_s": 5,
        "next_due": "2026-11-21T12:01:00Z",
        "note": None,
    }
    assert part["jobs"] == [
        {"name": "balances", "outcome": None, **shown},
        {"name": "prune", "outcome": "ok", **shown},
    ]


def test_other_parts__have_no_jobs(client: TestClient) -> None:
    parts = ask_anew(client).json()["parts"]
    assert [name for name, part in parts.items() if part.get("jobs") is not None] == ["keeper"]


@pytest.mark.parametrize(("age_s", "status"), [(179, "ok"), (180, "degraded")])
def test_a_job_that_has_not_run_for_three_periods__makes_it_degraded(
    client: TestClient, database: Database, clock: Clock, age_s: int, status: str
) -> None:
    record(database, clock, "ok")
    clock.pass_(seconds=age_s)
    beat(database, clock)
    part = keeper(client)
    assert part["status"] == status
    if status == "degraded":
        assert part["note"] == part["jobs"][0]["note"]
        assert part["note"].startswith("The job prune has not run for 180 s")


@pytest.mark.parametrize(("failures", "status"), [(2, "ok"), (3, "degraded")])
def test_a_job_that_failed_its_last_three_runs__makes_it_degraded(
    client: TestClient, database: Database, clock: Clock, failures: int, status: str
) -> None:
    record(database, clock, "ok", *["failed"] * failures)
    part = keeper(client)
    assert part["status"] == status
    if status == "degraded":
        assert part["note"] == (
            "The job prune failed its last 3 runs (no node answered); the worker's log says more."
        )


def test_a_balance_that_is_too_low__makes_it_degraded_and_says_what_to_send(
    client: TestClient, database: Database, clock: Clock
) -> None:
    record(
        database,
        clock,
        "ok",
        name="balances",
        did={ATTENTION: "Send at least 1.000000 ETH to 0x1."},
    )
    part = keeper(client)
    assert (part["status"], part["note"]) == ("degraded", "Send at least 1.000000 ETH to 0x1.")


def test_a_degraded_tick_and_a_job_in_trouble__both_stand_in_the_note(
    client: TestClient, database: Database, clock: Clock
) -> None:
    beat(database, clock, "degraded")
    record(database, clock, "failed", "failed", "failed")
    note = keeper(client)["note"]
    assert note.startswith("Its last round failed and it is retrying")
    assert "The job prune failed its last 3 runs" in note


def test_a_keeper_that_is_down__stays_down_and_shows_its_jobs(
    client: TestClient, database: Database, clock: Clock
) -> None:
    record(database, clock, "ok")
    clock.pass_(seconds=600)
    part = keeper(client)
    assert (part["status"], len(part["jobs"])) == ("down", 1)
    assert part["note"].startswith("No heartbeat for 600 s")

"""`retry`, `acknowledge` and `status` as processes: the answer on stdout, everything else on
stderr, an exit code that says which it is.
"""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.indexer.conftest import Follower, Issued
from tests.integration.indexer.refusing import Refusals
from tests.integration.indexer.test_quarantine import buy
from tests.integration.nursery import ran

NOWHERE = "postgresql+psycopg://127.0.0.1:1/none"
NO_DATABASE = (
    "The database does not answer; check DATABASE_URL and that it is migrated (OperationalError)."
)

Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def run(follower: Follower, database_url: str, tmp_path: Path) -> Run:
    """`run(*arguments, **changed_variables)`."""
    follower.deployed.write_record(tmp_path)
    settings = {
        "DATABASE_URL": database_url,
        "RPC_URLS": follower.deployed.anvil.url,
        "DEPLOYMENT_FILE": str(tmp_path / "deployment.json"),
        "LOG_FORMAT": "json",
    }

    def start(
        *arguments: str, is_real: bool = False, **changes: str
    ) -> "subprocess.CompletedProcess[str]":
        environment = os.environ | settings | changes
        return ran("indexer.main", *arguments, env=environment, is_real=is_real)

    return start


@pytest.fixture
def held(follower: Follower) -> tuple[Issued, Refusals]:
    """A mandate whose ledger lacks two facts."""
    mandate = follower.issue()
    ledger = mandate, follower.deployed.create_vault(mandate.terms)
    follower.catch_up()
    refusals = Refusals(follower.database)
    refusals.add(buy(follower, ledger))
    buy(follower, ledger)
    follower.catch_up()
    return mandate, refusals


def is_silent(done: "subprocess.CompletedProcess[str]") -> bool:
    """No traceback, no SQL, no value."""
    return not any(
        word in done.stdout + done.stderr for word in ("Traceback", "SELECT", "psycopg.")
    )


def test_without_a_database__each_says_so_in_a_line(run: Run) -> None:
    closed, shown = (
        run(*command, DATABASE_URL=NOWHERE) for command in (("acknowledge", "1"), ("status",))
    )
    assert [(done.returncode, done.stdout, done.stderr) for done in (closed, shown)] == [
        (2, "", f"Nothing was closed. {NO_DATABASE}\n"),
        (1, "", f"{NO_DATABASE}\n"),
    ]


def test_settings_that_cannot_work__end_every_command_with_one_line_and_two(run: Run) -> None:
    for command in (("run",), ("status",), ("acknowledge", "1"), ()):
        done = run(*command, INDEXER_WATCHDOG_S="inf")
        [line] = (done.stdout + done.stderr).splitlines()
        assert (done.returncode, json.loads(line)["event"]) == (2, "configuration refused")
        assert json.loads(line)["error"].startswith("INDEXER_WATCHDOG_S: ")


def test_acknowledge__an_id_that_no_table_has__is_refused(run: Run) -> None:
    done = run("acknowledge", "9" * 30)
    assert done.returncode == 2
    assert is_silent(done)
    assert run("acknowledge", "7").returncode == 1


def test_status__of_another_chain_or_without_a_node__is_not_healthy(
    run: Run, follower: Follower
) -> None:
    follower.catch_up()
    follower.leadership.beat({"state": "following"})
    other = run("status", CHAIN_ID="1")
    assert (other.returncode, "CHAIN_ID: it is 1, the record" in other.stderr) == (2, True)
    done = run("status", "--json", RPC_URLS="http://127.0.0.1:1")
    said = json.loads(done.stdout)
    assert (done.returncode, said["status"]) == (1, "degraded")
    assert "No node in RPC_URLS answered" in said["note"]

"""The simulated past is imported by a process of its own, under the scanner's lead."""

import os
import subprocess
import sys

import pytest

from core.db.engine import Database
from core.db.leadership import Leadership
from indexer.main import now_utc
from indexer.venues import chosen
from indexer.venues.scanner import NAME
from indexer.venues.store import ScannerStore


@pytest.fixture
def store(database: Database) -> ScannerStore:
    return ScannerStore(database, lambda session: None)


def run_import(database_url: str, epoch: int) -> int:
    command = [sys.executable, "-m", "indexer.main", "import-past", str(epoch)]
    own = {
        "DATABASE_URL": database_url,
        "SIM_LISTINGS": "60",
        "RPC_URLS": "http://127.0.0.1:9",  # never asked: the scanner needs no chain
        "DEPLOYMENT_FILE": "none",
    }
    return subprocess.run(command, env={**os.environ, **own}).returncode


def test_the_import__brings_the_past_of_the_simulated_venues(
    store: ScannerStore, database_url: str
) -> None:
    leadership = Leadership(database_url, NAME, "test")
    assert leadership.try_take(now_utc())
    try:
        assert run_import(database_url, leadership.epoch) == 0
    finally:
        leadership.release()
    assert chosen.has_past(store)


def test_an_import_under_a_lead_that_is_over__writes_nothing(
    store: ScannerStore, database_url: str
) -> None:
    leadership = Leadership(database_url, NAME, "test")
    assert leadership.try_take(now_utc())
    epoch = leadership.epoch
    leadership.release()
    assert run_import(database_url, epoch - 1) == 1
    assert not chosen.has_past(store)

"""A Postgres that takes connections and never answers holds up no stop."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database
from tests.integration.chaos.postgres import cloned, crashable_server, url_of
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, Stage
from tests.integration.keeper.processes import environment_of, starting, wait_until
from tests.integration.keeper.test_keeper_process import state_of_leader
from tests.personas import KEEPER

WATCHDOG_S = 4.0
HANGS_S = 2 * WATCHDOG_S


@pytest.fixture
def postgres_apart() -> Iterator[EmbeddedPostgres]:
    with crashable_server("keeper-hangs", "select 1") as server:
        yield server


@pytest.fixture
def database_url(postgres_apart: EmbeddedPostgres) -> Iterator[str]:
    with cloned(postgres_apart) as name:
        yield url_of(postgres_apart, name)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    opened = Database(database_url)
    yield opened
    opened.close()


@contextmanager
def hanging(server: EmbeddedPostgres) -> Iterator[None]:
    """All processes of the server stand still."""
    assert server.pid is not None
    children = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text()
    pids = [server.pid, *map(int, children.split())]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.slow
def test_postgres_hangs_for_longer_than_a_tick_may__a_vault_that_falls_is_stopped_and_written_once(
    stage: Stage, postgres_apart: EmbeddedPostgres, tmp_path: Path
) -> None:
    keys = {
        "KEEPER_PRIVATE_KEY": KEEPER.private_key,
        "KEEPER_TICK_S": "0.5",
        "KEEPER_WATCHDOG_S": str(WATCHDOG_S),
    }
    with starting({**environment_of(stage, tmp_path), **keys}) as start_keeper:
        process = start_keeper("run")
        wait_until(lambda: state_of_leader(stage) == "watching")
        stage.chain.rpc.call("evm_setIntervalMining", [1])
        with hanging(postgres_apart):
            time.sleep(HANGS_S)
            stage.set_price(PRICE_AT_FLOOR)
            fell = stage.chain.reader.block_number()
            wait_until(lambda: stage.status() == "stopped")
            assert stage.chain.reader.block_number() - fell <= 3
            assert process.poll() is None
        wait_until(lambda: stage.states() == [("stop", "mined")])
        assert (stage.keeper_nonce(), len(stage.txs())) == (1, 1)

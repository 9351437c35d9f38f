"""A tick that hangs ends the real process, so that a supervisor or a spare takes over."""

import fcntl
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from core.db.leadership import leader_row
from core.watchdog import EXIT_CODE
from tests.integration.chaos.server import Answer, Server, ok
from tests.integration.keeper.conftest import PRICE_AT_FLOOR, Stage
from tests.integration.keeper.processes import environment_of, starting, wait_until
from tests.integration.nursery import ran
from tests.personas import KEEPER

ROOT = Path(__file__).parents[3]
WITHIN_S = 20.0
HANGS = (
    "import time\nfrom core.watchdog import Watchdog\ndog = Watchdog(0.5)\ndog.start()\n{loop}\n"
)


def run(loop: str) -> tuple[subprocess.CompletedProcess[str], float]:
    begun = time.monotonic()
    script = HANGS.format(loop=loop)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    return done, time.monotonic() - begun


def test_a_loop_that_hangs__ends_its_process_and_says_why() -> None:
    done, _ = run("time.sleep(15)")
    assert done.returncode == EXIT_CODE
    assert "the loop hangs, the process ends" in done.stdout


def test_a_loop_that_hangs_holding_a_thread_that_never_ends__ends_all_the_same() -> None:
    done, took_s = run("import threading\nthreading.Thread(target=time.sleep, args=(15,)).start()")
    assert (done.returncode, took_s < 10) == (EXIT_CODE, True)


def test_a_loop_that_gets_on__is_left_alone() -> None:
    done, _ = run("for _ in range(12):\n    time.sleep(0.1)\n    dog.sign()")
    assert (done.returncode, done.stdout) == (0, "")


@pytest.fixture
def silent_node() -> Iterator[str]:
    """Accepts every connection and never answers."""
    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            while True:
                try:
                    kept.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    for connection in kept:
        connection.close()


def test_a_keeper_whose_node_never_answers__ends_before_the_nodes_own_time_is_up(
    silent_node: str, database_url: str, tmp_path: Path
) -> None:
    deployment = tmp_path / "deployment.json"
    lens = {"name": "vault_lens", "address": KEEPER.address}
    deployment.write_text(
        json.dumps({"chain_id": 84532, "block": 1, "commit": "test", "contracts": [lens]})
    )
    environment = {
        **{
            name: os.environ[name]
            for name in ("PATH", "HOME", "PYTHONPYCACHEPREFIX")
            if name in os.environ
        },
        "DATABASE_URL": database_url,
        "RPC_URLS": silent_node,
        "DEPLOYMENT_FILE": str(deployment),
        "KEEPER_PRIVATE_KEY": KEEPER.private_key,
        "KEEPER_WATCHDOG_S": "3",
    }
    done = ran("keeper.main", "run", env=environment)
    assert done.returncode == EXIT_CODE, done.stdout
    assert "the loop hangs, the process ends" in done.stdout
    assert KEEPER.private_key[2:] not in done.stdout + done.stderr


# Under a bare loop that restarts what exits


class Hanging:
    """Anvil, until it answers no more."""

    def __init__(self, stage: Stage) -> None:
        self.upstream_port = int(stage.chain.anvil.url.rsplit(":", 1)[1])
        self.answers = threading.Event()
        self.answers.set()

    def answer(self, raw: bytes, ask: Callable[[Any], Any]) -> Answer:
        self.answers.wait(WITHIN_S)
        return ok(ask(json.loads(raw)))


@pytest.fixture
def keeper(stage: Stage, tmp_path: Path) -> dict[str, str]:
    """Its settings."""
    key = {"KEEPER_PRIVATE_KEY": KEEPER.private_key, "KEEPER_WATCHDOG_S": "3"}
    return environment_of(stage, tmp_path) | key


@pytest.mark.slow
def test_a_node_that_stops_answering__delays_a_stop_until_it_answers_and_no_longer(
    stage: Stage, keeper: dict[str, str]
) -> None:
    """The keeper waits for it, or its watchdog ends it and the loop starts the next one."""
    node, is_over = Hanging(stage), threading.Event()
    server = Server(node)
    with starting(keeper | {"RPC_URLS": server.url}) as start:

        def restart_what_exits() -> None:
            while not is_over.is_set():
                process = start("run")
                while process.poll() is None and not is_over.wait(0.1):
                    pass

        loop = threading.Thread(target=restart_what_exits)
        loop.start()
        wait_until(lambda: state_of(stage) == "watching")
        node.answers.clear()
        stage.set_price(PRICE_AT_FLOOR)
        time.sleep(5)
        assert stage.status() != "stopped"
        node.answers.set()
        try:
            wait_until(lambda: stage.status() == "stopped")
        finally:
            is_over.set()
            loop.join(WITHIN_S)
    server.stop()


@pytest.mark.slow
def test_a_full_log_pipe__ends_the_keeper_and_the_next_one_stops_the_vault(
    stage: Stage, keeper: dict[str, str]
) -> None:
    read, full = os.pipe()
    fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4_096)
    os.write(full, b"." * 4_096)
    command = [sys.executable, "-m", "keeper.main", "run"]
    first = subprocess.Popen(command, cwd=ROOT, env=keeper, stdout=full)
    try:
        assert first.wait(3 * WITHIN_S) == EXIT_CODE
    finally:
        first.kill()
        first.wait()
        os.close(read)
        os.close(full)
    stage.set_price(PRICE_AT_FLOOR)
    with starting(keeper) as start:
        start("run")
        wait_until(lambda: stage.status() == "stopped")


def state_of(stage: Stage) -> str | None:
    with stage.database.read() as session:
        row = leader_row(session, "keeper")
    return None if row is None else row.status.get("state")

"""`keeper.main`, and the worker beside it, as processes of their own, on the stage's chain and database."""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.integration.keeper.conftest import Stage
from tests.integration.nursery import Process, piped

WITHIN_S = 20.0
Start = Callable[..., Process]


def environment_of(stage: Stage, folder: Path) -> dict[str, str]:
    """What a keeper without a key is told; the deployment's record is written into the folder."""
    deployment = folder / "deployment.json"
    contracts = [
        {"name": name, "address": address} for name, address in stage.chain.contracts.items()
    ]
    deployment.write_text(
        json.dumps(
            {"chain_id": stage.chain.chain_id, "block": 1, "commit": "test", "contracts": contracts}
        )
    )
    return {
        **{
            name: os.environ[name]
            for name in ("PATH", "HOME", "PYTHONPYCACHEPREFIX")
            if name in os.environ
        },
        "DATABASE_URL": stage.url,
        "RPC_URLS": stage.chain.anvil.url,
        "DEPLOYMENT_FILE": str(deployment),
        "KEEPER_TICK_S": "0.2",
        "KEEPER_MAX_HEAD_AGE_S": "60",
    }


@contextmanager
def starting(environment: Mapping[str, str]) -> Iterator[Start]:
    """`start(command, **changed_variables)`; what still runs at the end is killed. "work" is the
    worker.
    """
    started: list[Process] = []

    def start(command: str, *, is_real: bool = False, **changes: str) -> Process:
        run = ("api.worker",) if command == "work" else ("keeper.main", command)
        process = piped(*run, env={**environment, **changes}, is_real=is_real)
        started.append(process)
        return process

    yield start
    for process in started:
        process.close(WITHIN_S)


def wait_until(is_true: Callable[[], bool]) -> None:
    until = time.monotonic() + WITHIN_S
    while not is_true():
        assert time.monotonic() < until, "it did not come true in time"
        time.sleep(0.05)

"""The release before this one, taken from the history, goes on on this one's schema and beside its
processes, under calls and events: nothing is lost, and no call fails but by a refusal that is safe to
repeat. Until there is a second migration, that release is the first commit of 0.1.0, whose schema is
today's.
"""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from core.db import migrate, revisions
from core.db.embedded import EmbeddedPostgres
from scripts._ports import free_port
from scripts.demo import Story, sign_and_fund, sign_in
from tests.bench.lost import lost_events
from tests.bench.soak import OUT_OF_THE_WAY, Trading, profile
from tests.bench.traffic import Tally, Traffic
from tests.deep.releases import git, path_of, tree_of
from tests.integration.chain_fixtures import (
    CHAIN_ID,
    USDC,
    DeployedChain,
    deploy_contracts,
    start_anvil,
)
from tests.integration.databases import execute, url_of
from tests.personas import KEEPER, OWNER, PERSONAS

ROOT = Path(__file__).resolve().parents[2]
VERSIONS = "core/db/migrations/versions"
WITHIN_S = 600.0  # whatever else the machine does
CALLS_A_S = 20
MOST_IN_FLIGHT = 6
ENOUGH_CALLS = 60
SAFE_TO_REPEAT = ("503 ",)
PROCESSES = {
    "indexer": ("indexer.main", "run"),
    "keeper": ("keeper.main", "run"),
    "worker": ("api.worker",),
    "api": ("api.main",),
}


def migrations_of(commit: str) -> set[str]:
    """Each file with its content's name."""
    listed = git("ls-tree", commit, f"{VERSIONS}/").decode().splitlines()
    return {line.split(maxsplit=2)[2] for line in listed if line.rpartition("/")[2][:1].isdigit()}


def release_before() -> str:
    """The newest commit of the main line whose migrations are today's without the newest; where there
    is only one migration, the first commit that has it.
    """
    today = migrations_of("HEAD")
    first = "HEAD"
    for commit in git("rev-list", "--first-parent", "HEAD").decode().split():
        then = migrations_of(commit)
        if then < today and then:
            return commit
        if then != today:
            return first
        first = commit
    raise AssertionError(
        "the history does not reach back to the release before this one; a shallow clone gets it by "
        "`git fetch --unshallow`"
    )


@pytest.fixture
def old_tree(tmp_path: Path) -> Path:
    return tree_of(release_before(), tmp_path / "old")


@pytest.fixture
def chain() -> Iterator[DeployedChain]:
    """With a block each second, and blocks final soon, as `make up` has it."""
    anvil = start_anvil("--block-time", "1", "--mixed-mining", "--slots-in-an-epoch", "1")
    yield deploy_contracts(anvil)
    anvil.stop()


@pytest.fixture
def url(postgres: EmbeddedPostgres) -> Iterator[str]:
    execute(postgres, "create database {}", "rolling")
    yield url_of(postgres, "rolling")
    execute(postgres, "drop database {} with (force)", "rolling")


class Release:
    """The processes of one tree."""

    def __init__(self, tree: Path, settings: dict[str, str], logs: Path) -> None:
        self.tree, self.port = tree, free_port()
        self._settings = settings | {"PYTHONPATH": path_of(tree), "PORT": str(self.port)}
        self._logs = logs
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def start(self) -> None:
        for name, module in PROCESSES.items():
            with (self._logs / f"{self.tree.name}-{name}.log").open("wb") as log:
                self.processes[name] = subprocess.Popen(
                    [sys.executable, "-m", *module],
                    cwd=self.tree, env=os.environ | self._settings, stdout=log, stderr=log,
                )  # fmt: skip
        self.until(self._answers)

    def _answers(self) -> bool:
        try:
            live = httpx.get(
                f"http://127.0.0.1:{self.port}/health/live", timeout=5, trust_env=False
            )
        except httpx.HTTPError:
            return False
        return live.status_code == 200

    def until(self, is_true: Callable[[], bool]) -> None:
        end = time.monotonic() + WITHIN_S
        while not is_true():
            for name, process in self.processes.items():
                assert process.poll() is None, f"{name}: {self.said(name)}"
            assert time.monotonic() < end, "it did not come true in time"
            time.sleep(0.2)

    def said(self, name: str) -> str:
        return (self._logs / f"{self.tree.name}-{name}.log").read_text()[-3_000:]

    def end(self) -> dict[str, int]:
        """As an upgrade does, the API first; their exit codes."""
        for name in ("api", "indexer", "keeper", "worker"):
            self.processes[name].send_signal(signal.SIGTERM)
        return {name: process.wait(WITHIN_S) for name, process in self.processes.items()}

    def kill(self) -> None:
        for process in self.processes.values():
            process.kill()
            process.wait(WITHIN_S)


@contextmanager
def calling(story: Story, ports: list[int]) -> Iterator[Traffic]:
    calls = profile(story, [str(story.agent_api.key)])
    traffic = Traffic(ports, calls, most_in_flight=MOST_IN_FLIGHT, is_patient=True)

    async def run() -> None:
        await traffic.run(CALLS_A_S, 3 * WITHIN_S)
        traffic.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    try:
        yield traffic
    finally:
        traffic.is_over = True
        thread.join(120)


def leads(url: str, name: str, release: Release) -> bool:
    with psycopg.connect(url.replace("+psycopg", "")) as connection:
        query = "select holder from leader where name = %s"
        row = connection.execute(query, (name,)).fetchone()
    return row is not None and row[0].endswith(f":{release.processes[name].pid}")


@contextmanager
def telling(chain: DeployedChain, port: int) -> Iterator[Story]:
    """A mandate at work, by the API at this port."""
    chain.mint(OWNER.address, 10_000 * USDC)
    accounts = {
        one.name: {"address": one.address, "private_key": one.private_key} for one in PERSONAS
    }
    stack = {
        "base_url": f"http://127.0.0.1:{port}",
        "rpc_url": chain.anvil.url,
        "contracts": chain.contracts,
        "accounts": accounts,
    }
    with closing(Story(stack, timeout_s=120)) as story:
        sign_in(story)
        sign_and_fund(story)
        story.agent_api.mandates.accept(story.id)
        yield story


def settings_of(chain: DeployedChain, url: str, folder: Path) -> dict[str, str]:
    record: dict[str, Any] = {"chain_id": CHAIN_ID, "block": chain.start_block, "commit": "0" * 40}
    record["contracts"] = [{"name": name, "address": at} for name, at in chain.contracts.items()]
    (folder / "deployment.json").write_text(json.dumps(record))
    return OUT_OF_THE_WAY | {
        "DATABASE_URL": url,
        "RPC_URLS": chain.anvil.url,
        "DEPLOYMENT_FILE": str(folder / "deployment.json"),
        "KEY_PEPPER": "p" * 32,
        "KEEPER_PRIVATE_KEY": KEEPER.private_key,
        "LOG_FORMAT": "json",
    }


def test_old_and_new__side_by_side_on_the_new_schema(
    old_tree: Path, chain: DeployedChain, url: str, tmp_path: Path
) -> None:
    settings, seen = settings_of(chain, url, tmp_path), Tally()
    old, new = (Release(tree, settings, tmp_path) for tree in (old_tree, ROOT))
    upgrade = [sys.executable, "-m", "core.db.migrate", "upgrade", url]
    subprocess.run(
        upgrade, cwd=old_tree, env=os.environ | {"PYTHONPATH": path_of(old_tree)}, check=True
    )
    assert migrate.current(url) is not None
    try:
        old.start()
        with telling(chain, old.port) as story:
            with calling(story, [old.port]) as traffic:
                trading = Trading(story)
                trading.start()

                def answered(release: Release, calls: int = ENOUGH_CALLS) -> None:
                    seen.add(traffic.take())
                    release.until(lambda: traffic.now.answered >= calls)

                answered(old)
                migrate.upgrade(url)  # under load, as the recipe has it
                assert migrate.current(url) == revisions.newest()
                answered(old)
                new.start()
                traffic.ports = [old.port, new.port]
                answered(new, 2 * ENOUGH_CALLS)
                traffic.ports = [new.port]
                assert old.end() == {"indexer": 0, "keeper": 0, "worker": 0, "api": 0}
                for name in ("indexer", "keeper"):  # workers share the jobs, none leads
                    new.until(lambda name=name: leads(url, name, new))  # type: ignore[misc]
                answered(new)
                sent = trading.sent
                new.until(lambda: trading.sent >= sent + 2)
                trading.end()
            seen.add(traffic.take())
            assert lost_events(url.replace("+psycopg", ""), story) == 0
            assert trading.sent >= 4
            assert dict(seen.errors) == {}
            assert [one for one in seen.refused if not one.startswith(SAFE_TO_REPEAT)] == []
            assert seen.served >= 5 * ENOUGH_CALLS
    finally:
        old.kill()
        new.kill()

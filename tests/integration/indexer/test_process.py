"""The indexer as a process, with nothing but its environment."""

import os
import random
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, select

from core.chain.abi import call_by_signature
from core.db import leadership as leader
from core.db.engine import Database
from core.db.leadership import Leadership
from core.hexes import bytes_of
from core.identity.tables import Account
from core.mandate.tables import MandateEvent
from core.transfers import queries as transfers_repository
from core.transfers import reports as transfer_reports
from core.transfers.reports import Claim
from core.transfers.rules import Direction
from tests.integration import nursery
from tests.integration.chain_fixtures import CHAIN_ID, USDC, DeployedChain
from tests.integration.indexer.conftest import Follower, now_utc
from tests.integration.nursery import Process
from tests.personas import AGENT, DEPLOYER

START_S = 60.0  # a busy machine
SAMPLES = 15

Start = Callable[[], Process]


@pytest.fixture
def start(deployed: DeployedChain, database_url: str, tmp_path: Path) -> Iterator[Start]:
    """Start a process; whatever still runs at the end is killed."""
    deployed.write_record(tmp_path)
    settings = {
        "DATABASE_URL": database_url,
        "RPC_URLS": deployed.anvil.url,
        "DEPLOYMENT_FILE": str(tmp_path / "deployment.json"),
        "LOG_FORMAT": "json",
    }
    started: list[Process] = []

    def run() -> Process:
        with (tmp_path / f"{len(started)}.log").open("wb") as log:
            started.append(
                nursery.start("indexer.main", env=os.environ | settings, out=log, err=log)
            )
        return started[-1]

    yield run
    for process in started:
        process.kill()
        process.wait(timeout=START_S)


def until(condition: Callable[[], bool], seconds: float = START_S) -> float:
    """Wait for something; seconds that it took."""
    begun = time.monotonic()
    while not condition():
        assert time.monotonic() - begun < seconds, "it did not happen in time"
        time.sleep(0.005)
    return time.monotonic() - begun


def status_of(database: Database) -> leader.LeaderRow | None:
    with database.read() as session:
        return leader.leader_row(session, "indexer")


def test_from_a_mined_block_to_its_row__at_most_one_second(
    follower: Follower, leadership: Leadership, start: Start
) -> None:
    mandate = follower.issue(daily_cap=1_000 * USDC)
    vault = follower.deployed.create_vault(mandate.terms)
    follower.catch_up()
    leadership.release()
    start()
    until(
        lambda: (
            (row := status_of(follower.database)) is not None
            and row.status.get("state") == "following"
        )
    )
    taken, chance = [], random.Random(1)
    for count in range(1, SAMPLES + 1):
        time.sleep(chance.uniform(0, 0.3))
        follower.deployed.buy(vault, USDC)
        taken.append(until(lambda count=count: _moves(follower.database) == count, seconds=5))
    p95 = statistics.quantiles(taken, n=20)[-1]
    print(
        f"mined to committed: median {statistics.median(taken) * 1000:.0f} ms, p95 "
        f"{p95 * 1000:.0f} ms, max {max(taken) * 1000:.0f} ms"
    )
    assert max(taken) <= 1.0


def _moves(database: Database) -> int:
    with database.read() as session:
        return (
            session.scalar(
                select(func.count()).select_from(MandateEvent).where(MandateEvent.kind == "move")
            )
            or 0
        )


@pytest.mark.slow
def test_asked_to_end__it_ends_cleanly_and_the_spare_takes_over(
    deployed: DeployedChain, database: Database, start: Start
) -> None:
    first = start()
    until(
        lambda: (row := status_of(database)) is not None and row.status.get("state") == "following"
    )
    second = start()
    first.send_signal(signal.SIGTERM)
    assert first.wait(timeout=5) == 0
    until(
        lambda: (
            (row := status_of(database)) is not None
            and row.epoch == 2
            and row.status.get("state") == "following"
        ),
        seconds=10,
    )
    assert second.poll() is None


def test_a_node_that_is_away__is_waited_for(
    deployed: DeployedChain, database: Database, start: Start
) -> None:
    os.kill(deployed.anvil.process.pid, signal.SIGSTOP)
    try:
        process = start()
        time.sleep(2)
        assert process.poll() is None
    finally:
        os.kill(deployed.anvil.process.pid, signal.SIGCONT)
    until(
        lambda: (row := status_of(database)) is not None and row.status.get("state") == "following",
        seconds=20,
    )
    assert deployed.reader.transaction_count(AGENT.address) == 0


@pytest.mark.slow
def test_a_reported_transfer__is_confirmed_while_the_chain_is_followed(
    deployed: DeployedChain, database: Database, start: Start
) -> None:
    mint = call_by_signature("mint(address,uint256)", [AGENT.address, 5 * USDC])
    tx_hash = deployed.succeed(DEPLOYER, deployed.contracts["usdc"], mint).tx_hash
    deployed.anvil.mine(32)  # anvil's safe block is the head minus 32
    with database.write() as session:
        agent = Account(
            kind="agent", name="agent", wallet_address=bytes_of(AGENT.address), created_at=now_utc()
        )
        session.add(agent)
        session.flush()
        claim = Claim(
            chain_id=CHAIN_ID,
            asset="USDC",
            direction=Direction.IN,
            amount_e6=5 * USDC,
            tx_hash=tx_hash,
        )
        transfer_reports.report(session, agent.id, claim, None, now_utc())
    start()

    def is_confirmed() -> bool:
        with database.read() as session:
            return [one.state for one in transfers_repository.reports_of(session, agent.id)] == [
                "confirmed"
            ]

    until(is_confirmed)
    with database.read() as session:
        assert transfer_reports.verify(session, agent.id) == []

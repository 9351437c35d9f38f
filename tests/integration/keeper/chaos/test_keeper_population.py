"""The crash of a market: most of very many vaults fall in one block, and nodes take small batches
only.
"""

import os
import random
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from core.db.embedded import EmbeddedPostgres
from core.db.engine import Bounds, Database
from core.db.leadership import leader_row
from tests.integration.chain_fixtures import DeployedChain, deploy_contracts, start_anvil
from tests.integration.chaos.crew import Crew, until
from tests.integration.chaos.postgres import dsn_of, url_of
from tests.integration.chaos.server import Server
from tests.integration.chaos.traps import TEST
from tests.integration.keeper.chaos.conftest import POPULATIONS
from tests.integration.keeper.chaos.mempool import Mempool
from tests.integration.keeper.chaos.node import BadNode, Ill
from tests.integration.keeper.chaos.oracle import Oracle, happened
from tests.integration.keeper.chaos.population import Population, quick
from tests.integration.keeper.chaos.test_keeper_chaos import Committed, settings_of
from tests.personas import KEEPER, STRANGER

# vaults, how many of them fall, calls that a node takes in a batch
SMALL, LARGE = (60, 40, 20), (2_000, 1_200, 100)
BLOCK_S = 1.0
FIRST_LOOK_S, PATIENCE_S = 60.0, 30.0
FALLEN_A_SECOND = 5  # how many stops are asked for in a second, on a machine that does much else
SIGNERS = (KEEPER, STRANGER)


def sizes() -> list[tuple[int, int, int]]:
    """The large one is for `make test-deep`, unless it passed at this very state of the code."""
    if "SEEDS" in os.environ:
        return [SMALL, LARGE]
    return (
        [SMALL, LARGE]
        if "RESUME" in os.environ and str(LARGE[0]) not in POPULATIONS.load()
        else [SMALL]
    )


@pytest.mark.slow
@pytest.mark.parametrize(("count", "due", "limit"), sizes())
def test_a_crash__stops_each_fallen_vault_once_and_no_other(
    count: int,
    due: int,
    limit: int,
    crashable: EmbeddedPostgres,
    chaos_database: str,
    tmp_path: Path,
) -> None:
    begun = time.monotonic()
    with ExitStack() as stack:
        anvil = start_anvil("--order", "fifo", "--gas-limit", "900000000")
        stack.callback(anvil.stop)
        database = Database(
            url_of(crashable, chaos_database), application_name=TEST, bounds=Bounds(lock_s=20)
        )
        stack.callback(database.close)
        chain = deploy_contracts(anvil)
        anvil.rpc.close()
        anvil.rpc = quick(chain)
        world = _settled(chain, database, count, due)
        print(f"{count} vaults after {time.monotonic() - begun:.1f} s")
        port, committed = (
            int(anvil.url.rpartition(":")[2]),
            Committed(dsn_of(crashable, chaos_database)),
        )
        nodes = [
            BadNode(name, 1, port, world.pool, committed, Ill.SMALL_BATCHES, limit, is_faulty=False)
            for name in ("first", "second")
        ]
        servers = [Server(node) for node in nodes]
        for server in servers:
            stack.callback(server.stop)
        settings = settings_of(chain, url_of(crashable, chaos_database), servers, tmp_path, SIGNERS)
        crew = Crew(
            "keeper.main",
            settings | {"RPC_REQUESTS_PER_S": "100000", "KEEPER_MAX_HEAD_AGE_S": "3600"},
            tmp_path,
            size=1,
        )
        stack.callback(crew.end)
        crew.tend()
        assert until(lambda: _judged(database) == count, FIRST_LOOK_S), (
            f"{_judged(database)} of {count} vaults are looked at"
        )
        world.crash()
        fallen_at = time.monotonic()
        while (
            world.stops() < due
            and time.monotonic() < fallen_at + PATIENCE_S + due / FALLEN_A_SECOND
        ):
            crew.tend()
            time.sleep(BLOCK_S)
            world.mine()
        took_s = time.monotonic() - fallen_at
        crew.end()
        oracle = Oracle(
            world, database, nodes, crew, frozenset(signer.address for signer in SIGNERS)
        )
        print(
            f"{world.stops()} of {due} stopped after {took_s:.1f} s and "
            f"{world.head.number - world.floor} blocks"
        )
        print(
            f"{oracle.counts()}\n"
            f"{happened(crew)}; faults of the nodes: {[node.faults for node in nodes]}"
        )
        found = [*crew.faults, *oracle.of_stops()]
    assert not found, "\n".join(found[:20])
    POPULATIONS.remember(count, [])


def _settled(chain: DeployedChain, database: Database, count: int, due: int) -> Population:
    world = Population(chain, random.Random(count), Mempool(chain.rpc))
    world.settle(database, count, due)
    looks = world.look(world.head.hash)
    assert {(status, worth) for status, worth in looks} == {("working", 1_000_000_000)}
    return world


def _judged(database: Database) -> int:
    """How many vaults the keeper looked at in its last tick."""
    with database.read() as session:
        row = leader_row(session, "keeper")
    return 0 if row is None else int(row.status.get("vaults", 0))

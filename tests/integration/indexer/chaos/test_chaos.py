"""Whatever chain, nodes, processes and database do, the tables end as the canonical chain says.

`SEEDS=a..b` chooses seeds (tests/integration/chaos/seeds.py); a failing one prints its steps, the
first differing rows and the command that repeats it.
"""

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from eth_utils.address import to_checksum_address

from core.db.embedded import EmbeddedPostgres
from core.db.engine import Bounds, Database
from core.hexes import bytes_of
from core.identity.tables import Account
from tests.integration.chain_fixtures import DeployedChain, deploy_contracts, start_anvil
from tests.integration.chaos.crew import Crew
from tests.integration.chaos.postgres import dsn_of, url_of
from tests.integration.chaos.server import Server
from tests.integration.chaos.traps import TEST, Traps
from tests.integration.indexer.chaos.conftest import SEEDS
from tests.integration.indexer.chaos.habits import HabitualNode, due_habit
from tests.integration.indexer.chaos.lies import due_lies
from tests.integration.indexer.chaos.people import MIMIC, Crowd
from tests.integration.indexer.chaos.provider import FaultyNode
from tests.integration.indexer.chaos.story import Story, due
from tests.integration.indexer.chaos.strangers import WALLET, Strangers, deploy_bad_adapters
from tests.integration.indexer.chaos.traps import Point
from tests.integration.indexer.chaos.world import World
from tests.integration.indexer.conftest import issue
from tests.personas import STRANGER

ANSWER_S = 0.4
POLL_MS = 20
SHORT, STEPS, DEEP_STEPS = range(1, 5), 7, 20  # the seeds of every run have short stories
POPULOUS, POPULATION = 10, 300  # each tenth seed has as many mandates more
LINKED_AT = datetime(2026, 1, 1, tzinfo=UTC)
HOUR_S = 3_600  # a chain that is this much behind the clock is all backlog


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS.chosen())
def test_after_any_story__the_tables_are_those_of_the_canonical_chain(
    seed: int, crashable: EmbeddedPostgres, chaos_database: str, tmp_path: Path
) -> None:
    begun, repeat = (
        time.monotonic(),
        f"SEEDS={seed}..{seed} make test T=tests/integration/indexer/chaos",
    )
    with staged(seed, crashable, chaos_database, tmp_path) as story:
        try:
            found = story.tell(STEPS if seed in SHORT else DEEP_STEPS)
        finally:
            faults = {node.name: node.faults for node in story.world.nodes}
            print(
                f"seed {seed}: {time.monotonic() - begun:.1f} s",
                *story.steps,
                f"faults of the nodes: {faults}",
                repeat,
                sep=("\n  "),
            )
    assert not found, "\n".join([f"seed {seed}; repeat it with: {repeat}", *found])
    SEEDS.remember(seed, sorted(story.killed))


@contextmanager
def staged(seed: int, server: EmbeddedPostgres, name: str, folder: Path) -> Iterator[Story]:
    """A chain with the contracts and two mandates, three bad nodes in front of it, and a crew that
    is still to start.
    """
    luck = random.Random(seed)
    genesis = int(time.time()) - luck.choice((0, HOUR_S))
    with ExitStack() as stack:
        anvil = start_anvil(
            "--order", "fifo", "--gas-limit", "900000000", "--timestamp", str(genesis)
        )
        stack.callback(anvil.stop)
        database = Database(url_of(server, name), application_name=TEST, bounds=Bounds(lock_s=20))
        stack.callback(database.close)
        chain = deploy_contracts(anvil)
        mimic = _mimic(chain)
        another = chain.deploy(
            "TestVenueAdapter", chain.contracts["usdc"], chain.contracts["test_venue"]
        )
        strangers = Strangers(chain, deploy_bad_adapters(chain), {WALLET: link(database, WALLET)})
        anvil.rpc.call("evm_setAutomine", [False])
        port = int(anvil.url.rpartition(":")[2])
        nodes = [
            FaultyNode(which, seed, port, silence_s=1.5 * ANSWER_S) for which in ("first", "second")
        ]
        nodes[liar(seed)].lies = due_lies(seed)
        for node in nodes:
            node.endless = strangers.endless
        habitual = HabitualNode("habitual", due_habit(seed), port)
        servers = [Server(node) for node in (habitual, *nodes)]
        for one in servers:
            stack.callback(one.stop)
        crew = Crew("indexer.main", _settings(chain, url_of(server, name), servers, folder), folder)
        stack.callback(crew.end)
        crowd = Crowd(
            chain,
            lambda terms: issue(chain, database, terms),
            mimic,
            (another, mimic, chain.contracts["usdc"], chain.contracts["x402_adapter"]),
        )
        world = World(
            chain, luck, crowd, strangers, nodes, floor=int(anvil.rpc.call("eth_blockNumber"), 16)
        )
        for _ in range(2):
            world.mine_deeds(crowd.open(luck))
        if seed % POPULOUS == 0:
            world.mine_deeds(crowd.populate(luck, POPULATION))
        yield Story(
            seed,
            luck,
            world,
            crew,
            database,
            server,
            Traps(dsn_of(server, name), "indexer", tuple(Point)),
            due(seed),
        )


def liar(seed: int) -> int:
    """Which node lies in the whole of a story: mostly the one that is asked first.

    The other one is bad, and honest.
    """
    return int(seed // 4 % 4 == 3)


def link(database: Database, wallet: str) -> int:
    """An agent's account with that wallet, linked long ago; its id."""
    with database.write() as session:
        account = Account(
            kind="agent",
            name="payee",
            wallet_address=bytes_of(wallet),
            wallet_linked_at=LINKED_AT,
            created_at=LINKED_AT,
        )
        session.add(account)
        session.flush()
        return account.id


def _mimic(chain: DeployedChain) -> str:
    receipt = chain.succeed(STRANGER, None, MIMIC)
    return to_checksum_address(
        chain.rpc.call("eth_getTransactionReceipt", [receipt.tx_hash])["contractAddress"]
    )


def _settings(
    chain: DeployedChain, database_url: str, servers: list[Server], folder: Path
) -> dict[str, str]:
    chain.write_record(folder)
    return {
        "DATABASE_URL": database_url,
        "RPC_URLS": ",".join(server.url for server in servers),
        "RPC_ANSWER_S": str(ANSWER_S),
        "POLL_INTERVAL_MS": str(POLL_MS),
        "DEPLOYMENT_FILE": str(folder / "deployment.json"),
        "LOG_FORMAT": "json",
    }

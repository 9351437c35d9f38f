"""Whatever chain, nodes, processes and database do, each vault at its floor is stopped once, and
nothing is left behind.

`SEEDS=a..b` chooses seeds (tests/integration/chaos/seeds.py); a failing one prints its steps, what
is wrong and the command that repeats it.
"""

import random
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psycopg
import pytest

from core.db.embedded import EmbeddedPostgres
from core.db.engine import Bounds, Database
from keeper.stop_rows import UNWANTED_S
from tests.integration.chain_fixtures import DeployedChain, deploy_contracts, start_anvil
from tests.integration.chaos.crew import Crew
from tests.integration.chaos.postgres import dsn_of, url_of
from tests.integration.chaos.server import Server
from tests.integration.chaos.traps import TEST, Traps
from tests.integration.keeper.chaos.conftest import SEEDS
from tests.integration.keeper.chaos.mempool import Mempool
from tests.integration.keeper.chaos.node import BadNode, Ill
from tests.integration.keeper.chaos.oracle import Oracle, happened
from tests.integration.keeper.chaos.record import Record
from tests.integration.keeper.chaos.seeds import due_ill
from tests.integration.keeper.chaos.story import Story
from tests.integration.keeper.chaos.traps import Point
from tests.integration.keeper.chaos.world import World
from tests.personas import KEEPER, STRANGER, Persona

SHORT, STEPS, DEEP_STEPS = range(1, 2), 6, 14  # the seeds of every run have short stories
CALM_BLOCKS = 12  # the most that may pass until nothing of the keeper waits any more
BESIDE_AN_HONEST_ONE = (Ill.SWALLOWS, Ill.ABSURD_FEES)
SAFE_BLOCKS = 34  # anvil calls what is 32 blocks below the head safe


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS.chosen())
def test_after_any_story__each_fallen_vault_is_stopped_once_and_no_nonce_is_stuck(
    seed: int, crashable: EmbeddedPostgres, chaos_database: str, tmp_path: Path
) -> None:
    begun, repeat = (
        time.monotonic(),
        f"SEEDS={seed}..{seed} make test T=tests/integration/keeper/chaos",
    )
    with staged(seed, crashable, chaos_database, tmp_path) as story:
        oracle = Oracle(
            story.world,
            story.database,
            story.nodes,
            story.crew,
            frozenset(signer.address for signer in story.signers),
        )
        try:
            story.tell(STEPS if seed in SHORT else DEEP_STEPS)
            come_to_rest(story)
            found = [*story.faults, *story.crew.faults, *oracle.faults()]
        finally:
            faults = {node.name: node.faults for node in story.nodes}
            print(
                f"seed {seed}: {time.monotonic() - begun:.1f} s",
                *story.steps,
                f"faults of the nodes: {faults}",
                sep=("\n  "),
            )
        print(f"  {oracle.counts()}\n  logs: {happened(story.crew)}\n  {repeat}")
    assert not found, "\n".join([f"seed {seed}; repeat it with: {repeat}", *found])
    SEEDS.remember(seed, sorted(story.killed))


def come_to_rest(story: Story) -> None:
    """Calm: blocks until nothing of ours waits and nothing is to stop, then until all of it is safe
    and recorded.
    """
    story.calm()
    blocks = 0
    while blocks < CALM_BLOCKS and not is_quiet(story):
        story.see_block()
        blocks += 1
    quiet = is_quiet(story)
    for _ in range(SAFE_BLOCKS):
        story.world.mine()
    story.see_block()
    more, until = 0, time.monotonic() + 2 * UNWANTED_S  # a stop that nobody wants ends by the clock
    while story.is_under_way() and (more < CALM_BLOCKS or time.monotonic() < until):
        story.see_block()
        more += 1
    story.crew.end()
    story.steps.append(
        f"quiet after {blocks} calm blocks" if quiet else f"not quiet after {blocks} calm blocks"
    )


def is_quiet(story: Story) -> bool:
    return (
        not story.world.unstopped()
        and not story.world.pool.waiting
        and not story.is_under_way(("planned", "signed", "broadcast"))
    )


@contextmanager
def staged(seed: int, server: EmbeddedPostgres, name: str, folder: Path) -> Iterator[Story]:
    """A chain with vaults, one or two bad nodes before it, and a crew of one or two keepers that is
    still to start.
    """
    luck = random.Random(seed)
    with ExitStack() as stack:
        anvil = start_anvil("--order", luck.choice(("fifo", "fees")), "--gas-limit", "900000000")
        stack.callback(anvil.stop)
        database = Database(url_of(server, name), application_name=TEST, bounds=Bounds(lock_s=20))
        stack.callback(database.close)
        chain, pool = deploy_contracts(anvil), Mempool(anvil.rpc)
        world = World(chain, luck, pool)
        world.build(database, luck.randint(3, 8))
        port, is_committed = int(anvil.url.rpartition(":")[2]), Committed(dsn_of(server, name))
        names: tuple[str, ...] = luck.choice((("only",), ("first", "second"), ("first", "second")))
        ill = due_ill(seed)
        nodes = [
            BadNode(which, seed, port, pool, is_committed)
            for which in (("first", "second") if ill in BESIDE_AN_HONEST_ONE else names)
        ]
        for node in nodes if ill is Ill.SMALL_BATCHES else nodes[:1]:
            node.ill = ill
        servers = [Server(node) for node in nodes]
        for one in servers:
            stack.callback(one.stop)
        signers = (KEEPER, STRANGER) if luck.random() < 0.5 else (KEEPER,)
        if luck.random() < 0.2:
            anvil.rpc.call("anvil_setBalance", [STRANGER.address, "0x0"])
        settings = settings_of(
            chain, url_of(server, name), servers, folder, signers
        ) | _drawn_settings(luck)
        crew = Crew("keeper.main", settings, folder, size=luck.choice((1, 2, 2)))
        stack.callback(crew.end)
        record = Record(chain, database, url_of(server, name))
        stack.callback(record.close)
        traps = Traps(dsn_of(server, name), "keeper", tuple(Point))
        yield Story(seed, luck, world, nodes, crew, record, database, server, traps, signers)


class Committed:
    """Whether signed bytes stand in the keeper's rows; None while the database is away."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn

    def __call__(self, raw: str) -> bool | None:
        try:
            with psycopg.connect(self._dsn, autocommit=True, connect_timeout=5) as connection:
                return (
                    connection.execute(
                        "select 1 from keeper_tx where raw = %s", [bytes.fromhex(raw[2:])]
                    ).fetchone()
                    is not None
                )
        except psycopg.OperationalError:
            return None


def settings_of(
    chain: DeployedChain,
    database_url: str,
    servers: list[Server],
    folder: Path,
    signers: tuple[Persona, ...],
) -> dict[str, str]:
    """The environment of a keeper before these nodes, with these keys."""
    chain.write_record(folder)
    return {
        "DATABASE_URL": database_url,
        "RPC_URLS": ",".join(server.url for server in servers),
        "DEPLOYMENT_FILE": str(folder / "deployment.json"),
        "KEEPER_PRIVATE_KEY": KEEPER.private_key,
        **({"KEEPER_STOP_PRIVATE_KEY": STRANGER.private_key} if STRANGER in signers else {}),
        "KEEPER_TICK_S": "0.1",
        "LOG_FORMAT": "json",
    }


def _drawn_settings(luck: random.Random) -> dict[str, str]:
    cap, stop_cap = luck.choice(((3, 20), (50, 500), (50, 500)))
    return {
        "KEEPER_MAX_HEAD_AGE_S": luck.choice(("60", "60", "3")),
        "KEEPER_MAX_FEE_GWEI": str(cap),
        "KEEPER_STOP_MAX_FEE_GWEI": str(stop_cap),
    }

"""The simulator itself: its nodes are as bad as they should be, and its comparison finds what is
wrong.
"""

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database
from core.db.leadership import Leadership
from core.mandate.chain import calldata
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.chaos.postgres import dsn_of, url_of
from tests.integration.chaos.server import DropError
from tests.integration.indexer.chaos.compare import differences
from tests.integration.indexer.chaos.fold import fold
from tests.integration.indexer.chaos.people import Place
from tests.integration.indexer.chaos.provider import FaultyNode
from tests.integration.indexer.chaos.story import due
from tests.integration.indexer.chaos.traps import Point
from tests.integration.indexer.chaos.views import Branch
from tests.integration.indexer.conftest import Follower, Issued, now_utc
from tests.personas import DEPLOYER, OWNER, STRANGER

HEAD = 100


def block(number: int, branch: str = "a") -> dict[str, Any]:
    return {"number": hex(number), "hash": f"0x{branch}{number}", "transactions": ["0x1"]}


def ask(body: Any) -> Any:
    """A chain of a hundred blocks."""
    if isinstance(body, list):
        return [ask(call) for call in body]
    parameter = body["params"][0] if body["params"] else None
    match body["method"]:
        case "eth_blockNumber":
            result: Any = hex(HEAD)
        case "eth_getBlockByNumber":
            number = HEAD if parameter == "latest" else int(parameter, 16)
            result = block(number) if number <= HEAD else None
        case "eth_getBlockByHash":
            result = block(int(parameter[3:])) if parameter.startswith("0xa") else None
        case _:
            result = [{"blockNumber": hex(7), "logs": []}, {"blockNumber": hex(7), "logs": []}]
    return {"jsonrpc": "2.0", "id": body["id"], "result": result}


def request(method: str, *params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}


OLD = Branch(
    ancestor=97,
    head=99,
    blocks={98: block(98, "b"), 99: block(99, "b")},
    receipts={"0xb98": [], "0xb99": []},
    transactions={},
)


def told(node: FaultyNode, count: int = 2_000) -> list[str]:
    """What a node answers to the same requests."""
    answers = []
    for _ in range(count):
        for body in (
            [request("eth_getBlockByNumber", hex(n)) for n in (1, 2, 3)],
            request("eth_getBlockReceipts", "0xa7"),
        ):
            with contextlib.suppress(DropError):
                answer = node.answer(json.dumps(body).encode(), ask)
                answers.append(f"{answer.status} {answer.cut} {answer.body!r}")
    return answers


def test_a_bad_node__has_every_fault_and_repeats_itself() -> None:
    nodes = [FaultyNode("first", seed, 0, silence_s=0, branch=OLD) for seed in (1, 1, 2)]
    first, again, other = map(told, nodes)
    assert first == again != other
    transport = {
        "dropped",
        "silent",
        "429",
        "500",
        "truncated",
        "shortened",
        "internal",
        "unordered",
        "left out",
    }
    chains = {"lag", "old", "flip"}
    assert nodes[0].faults.keys() == transport | chains | {
        f"receipts {what}" for what in ("null", "other block", "doubled", "cut")
    }


def test_sixteen_seeds_in_a_row__kill_at_every_commit_point_both_ways() -> None:
    assert {due(seed) for seed in range(17, 33)} == {
        (point, commits) for point in Point for commits in (True, False)
    }


@pytest.fixture
def watched(
    crashable: EmbeddedPostgres, chaos_database: str, deployed: DeployedChain
) -> Iterator[Follower]:
    """An indexer of one process on a database with the simulator's triggers."""
    url = url_of(crashable, chaos_database)
    database, leadership = (
        Database(url, application_name="test"),
        Leadership(url, "indexer", "test"),
    )
    assert leadership.try_take(now_utc())
    yield Follower(deployed, database, leadership)
    leadership.release()
    database.close()


def lived(follower: Follower) -> Issued:
    """A mandate with a bit of everything on the chain."""
    chain, mandate = follower.deployed, follower.issue()
    vault = chain.create_vault(mandate.terms)
    chain.buy(vault, 40 * USDC)
    chain.buy(vault, 101 * USDC)
    chain.succeed(OWNER, vault, calldata.set_agent(STRANGER.address))
    chain.succeed(DEPLOYER, chain.contracts["factory"], calldata.propose_keeper(STRANGER.address))
    follower.catch_up()
    chain.anvil.reorg(1)
    follower.catch_up()
    return mandate


TAMPERED = {
    "update reorg set rows_reversed = rows_reversed + 1": "a reorg that counted reversals",
    "delete from raw_log where address = (select address from vault)": "raw_log: missing",
    "update reverted_tx set reason = 'unknown'": "reverted_tx: too much",
    "delete from vault_agent": "vault_agent: missing",
    "update vault set mandate_id = null": "vault: too much",
    "update adapter set delisted_block_hash = listed_block_hash": "adapter: too much",
    "update chain_block set canonical = false where number = 3": "a break in the chain of blocks",
    "update chain_cursor set number = number - 1": "cursor:",
    "update mandate_head set spent_usdc_e6 = 0": "head of",
    "delete from mandate_event where kind = 'move'": "mandate_event of 1: missing",
    "delete from mandate_event where reverses_id is not null": "a row of an orphaned block that stands",
    "insert into chaos_violation values ('an old epoch')": "a write that the fence let through",
}


@pytest.mark.slow
def test_tables_that_say_otherwise_than_the_chain__are_found(
    watched: Follower, crashable: EmbeddedPostgres, chaos_database: str
) -> None:
    mandate, chain = lived(watched), watched.deployed
    digest = chain.digest(mandate.terms)
    expected = fold(
        chain, [Place(mandate.terms, chain.reader.predict_vault(digest), digest, mandate)], {}
    )
    assert differences(watched.database, chain, expected) == []
    assert min(len(rows) for rows in expected.tables.values()) > 0
    for statement, word in TAMPERED.items():
        with psycopg.connect(dsn_of(crashable, chaos_database)) as connection:
            connection.execute("set session_replication_role = replica")  # no trigger refuses
            before = differences(watched.database, chain, expected)
            connection.execute(statement)  # type: ignore[arg-type]  # a literal above
            connection.commit()
        fresh = set(differences(watched.database, chain, expected)) - set(before)
        assert any(line.startswith(word) for line in fresh), (statement, fresh)

"""The simulator's sick nodes, moody adapters, dry keys, rotated keepers and crowds: each happens,
and the oracle sees who falls for it.
"""

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from core.chain import results
from core.chain.abi import call_by_signature
from core.chain.errors import RpcRevertedError
from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database
from core.mandate.chain import calldata
from tests.integration.chain_fixtures import (
    CHAIN_ID,
    USDC,
    DeployedChain,
    deploy_contracts,
    start_anvil,
)
from tests.integration.chaos.crew import Crew
from tests.integration.chaos.postgres import cloned, url_of
from tests.integration.chaos.server import DropError
from tests.integration.chaos.traps import TEST
from tests.integration.keeper.chaos.mempool import Mempool, tx_hash_of
from tests.integration.keeper.chaos.node import ABSURD_FEE_WEI, BadNode, Ill
from tests.integration.keeper.chaos.oracle import Oracle
from tests.integration.keeper.chaos.population import Population
from tests.integration.keeper.chaos.seeds import Trouble, due_ill, due_trouble
from tests.integration.keeper.chaos.world import FALLEN, GWEI, MOODS, MOODY, World
from tests.personas import AGENT, KEEPER, STRANGER

STOP_GAS = 500_000
ENFORCE = call_by_signature("enforceStopLine()", [])


def test_a_few_seeds_in_a_row__have_every_illness_and_every_trouble() -> None:
    for first in range(1, 20):
        assert {due_ill(seed) for seed in range(first, first + 4)} == set(Ill)
        assert {due_trouble(seed) for seed in range(first, first + 5)} == set(Trouble)


@pytest.fixture(scope="module")
def built(crashable: EmbeddedPostgres) -> Iterator[tuple[World, Database]]:
    """Three vaults and the moody ones; every test finds them as they were made."""
    anvil = start_anvil()
    with cloned(crashable) as name:
        database = Database(url_of(crashable, name), application_name=TEST)
        chain = deploy_contracts(anvil)
        world = World(chain, random.Random(1), Mempool(anvil.rpc))
        world.build(database, 3)
        yield world, database
        database.close()
    anvil.stop()


@pytest.fixture
def world(built: tuple[World, Database]) -> Iterator[World]:
    world, _ = built
    snapshot = world.chain.anvil.snapshot()
    yield world
    world.chain.anvil.revert(snapshot)
    world.chain.rpc.call("anvil_dropAllTransactions", [])
    world.pool.waiting.clear()
    world.dry.clear()
    world.mood, world._next_at = None, 0


@pytest.fixture
def oracle(world: World, built: tuple[World, Database], tmp_path: Path) -> Oracle:
    return Oracle(
        world, built[1], [], Crew("keeper.main", {}, tmp_path), frozenset({KEEPER.address})
    )


def signed(
    world: World, to: str, data: str, *, fee_wei: int = 10 * GWEI, tip_wei: int = GWEI
) -> str:
    """The keeper's next transaction."""
    fields = {
        "to": to,
        "data": data,
        "value": 0,
        "gas": STOP_GAS,
        "maxFeePerGas": fee_wei,
        "maxPriorityFeePerGas": tip_wei,
    }
    nonce = world.chain.reader.transaction_count(KEEPER.address)
    return (
        "0x" + KEEPER.signer.sign_transaction({"chainId": CHAIN_ID, "nonce": nonce, **fields}).hex()
    )


def asked(world: World, node: BadNode, *calls: tuple[str, list[Any]]) -> Any:
    """What the node answers to a batch."""
    bodies = [
        {"jsonrpc": "2.0", "id": number, "method": name, "params": params}
        for number, (name, params) in enumerate(calls)
    ]

    def pass_on(body: list[dict[str, Any]]) -> Any:
        results = world.chain.rpc.batch([(call["method"], call["params"]) for call in body])
        return [
            {"jsonrpc": "2.0", "id": call["id"], "result": result}
            for call, result in zip(body, results, strict=True)
        ]

    return json.loads(node.answer(json.dumps(bodies).encode(), pass_on).body)


def node_of(world: World, ill: Ill, name: str = "first", *, is_faulty: bool = False) -> BadNode:
    return BadNode(name, 7, 0, world.pool, lambda _: True, ill, is_faulty=is_faulty)


# The nodes


@pytest.mark.slow
def test_a_node_that_swallows__says_that_it_has_it__and_nothing_is_ever_mined(
    world: World, oracle: Oracle
) -> None:
    world.mine([world.price(0, FALLEN)])
    vault = world.unstopped()[0]
    raw, node = signed(world, vault, ENFORCE), node_of(world, Ill.SWALLOWS)
    assert asked(world, node, ("eth_sendRawTransaction", [raw]))[0]["result"] == tx_hash_of(raw)
    told = asked(world, node, ("eth_getTransactionByHash", [tx_hash_of(raw)]))[0]["result"]
    assert (told["blockHash"], told["from"], told["to"]) == (None, KEEPER.address, vault.lower())
    assert results.transaction(json.dumps(told).encode()) is not None
    world.mine()
    assert world.chain.reader.receipt(tx_hash_of(raw)) is None
    assert any("and it is not stopped" in line for line in oracle.of_stops())


def test_absurd_fees__are_told_in_calm_too__and_who_pays_them_is_seen(
    world: World, oracle: Oracle
) -> None:
    node = node_of(world, Ill.ABSURD_FEES)
    requests = [
        ("eth_maxPriorityFeePerGas", list[Any]()),
        *[("eth_getBlockByNumber", ["latest", False])] * 20,
    ]
    tip, *blocks = (answer["result"] for answer in asked(world, node, *requests))
    assert int(tip, 16) == ABSURD_FEE_WEI
    assert {block["baseFeePerGas"] == "0x0" for block in blocks} == {True, False}
    world.mine([world.price(0, FALLEN)])
    world.pool.offer(
        signed(world, world.unstopped()[0], ENFORCE, fee_wei=500 * GWEI, tip_wei=500 * GWEI)
    )
    world.mine()
    assert any("gwei at a base fee of" in line for line in oracle.of_stops())


def test_large_batches__are_refused_as_a_whole__in_the_words_of_two_kinds_of_nodes(
    world: World,
) -> None:
    call = ("eth_blockNumber", list[Any]())
    for name in ("first", "second"):
        node = node_of(world, Ill.SMALL_BATCHES, name)
        assert len(asked(world, node, *[call] * node.batch_limit)) == node.batch_limit
        refused = asked(world, node, *[call] * (node.batch_limit + 1))
        refusal = refused[0] if name == "first" else refused
        assert refusal["error"]["message"] == "batch too large"


def test_garbage__takes_the_place_of_one_answer__and_ends_in_calm(world: World) -> None:
    node, floor = node_of(world, Ill.GARBAGE), call_by_signature("stopFloor()", [])
    calls: list[tuple[str, list[Any]]] = [
        ("eth_call", [{"to": site.address, "data": floor}, "latest"]) for site in world.sites
    ]
    honest = asked(world, node, *calls)
    node.is_faulty, garbled = True, 0
    for _ in range(200):
        with suppress(DropError, json.JSONDecodeError):
            answers = asked(world, node, *calls)
            garbled += 1 if _differing(answers, honest) == 1 else 0
    assert 5 <= garbled <= 60
    node.is_faulty = False
    assert [asked(world, node, *calls) for _ in range(20)] == [honest] * 20


def _differing(answers: list[dict[str, Any]], honest: list[dict[str, Any]]) -> int:
    return sum(
        answer["result"] != true["result"] for answer, true in zip(answers, honest, strict=True)
    )


# Adapters, keys and the factory


def test_a_moody_adapter__makes_its_own_vaults_unreadable__and_only_as_long_as_it_lasts(
    world: World,
) -> None:
    moody = {site.address for site in world.sites if site.venue == MOODY}
    for world.mood in MOODS:
        world.mine([world.price(MOODY, FALLEN)])
        worths = {
            site.address: worth
            for site, (_, worth) in zip(world.sites, world.look(world.head.hash), strict=True)
        }
        assert {
            address for address, worth in worths.items() if worth is None or worth > 2**200
        } == moody, world.mood
        assert not world.unstopped()
    world.mood = None
    world.mine()
    assert set(world.unstopped()) == moody


def test_a_dry_key__has_what_waits_dropped__and_sends_again_when_it_is_filled(world: World) -> None:
    raw = signed(world, KEEPER.address, "0x")
    world.pool.offer(raw)
    world.dry.add(KEEPER.address)
    world.mine()
    assert not world.pool.waiting
    assert world.pool.offer(raw)["error"]["message"].startswith("insufficient funds")
    world.fill()
    world.pool.offer(raw)
    world.mine()
    assert world.chain.reader.transaction_count(KEEPER.address) == 1


def test_a_key_that_was_filled__is_not_dry_again_by_a_reorg(world: World) -> None:
    world.mine()
    world.dry.add(KEEPER.address)
    world.mine()
    world.fill()
    world.mine()
    world.reorg(2, 1, 0.0, keeps_ours=False)
    assert all(world.chain.reader.balance_wei(key.address) for key in (KEEPER, STRANGER))


def test_a_rotated_keeper__marks_nothing_any_more__and_may_still_enforce_the_line(
    world: World,
) -> None:
    world.rotate(AGENT)
    world.mine([world.price(0, FALLEN)])
    (vault,) = world.unstopped()[:1]
    assert world.chain.reader.keeper() == AGENT.address
    with pytest.raises(RpcRevertedError):
        world.chain.reader.call(
            vault,
            calldata.mark(),
            sender=KEEPER.address,
        )
    world.pool.offer(signed(world, vault, ENFORCE))
    world.mine()
    assert vault not in world.unstopped()


# The crowd


def test_copied_vaults__are_worth_what_they_hold__fall_and_can_be_stopped(
    deployed: DeployedChain, crashable: EmbeddedPostgres, chaos_database: str
) -> None:
    database = Database(url_of(crashable, chaos_database), application_name=TEST)
    world = Population(deployed, random.Random(1), Mempool(deployed.rpc))
    world.settle(database, 7, 4)
    database.close()
    assert set(world.look(world.head.hash)) == {("working", 1_000 * USDC)}
    world.crash()
    assert world.unstopped() == [site.address for site in world.sites[:4]]
    world.pool.offer(signed(world, world.sites[3].address, ENFORCE))
    world.mine()
    assert (len(world.unstopped()), world.stops()) == (3, 1)

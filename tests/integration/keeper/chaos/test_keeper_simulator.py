"""The simulator itself: its nodes are as bad as they should be, and its oracle finds what is wrong."""

import json
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database
from core.keeper import intents as rows
from core.keeper.intents import NewIntent, NewTx
from core.mandate.chain import calldata
from tests.integration.chain_fixtures import CHAIN_ID, DeployedChain
from tests.integration.chaos.crew import Crew
from tests.integration.chaos.postgres import url_of
from tests.integration.chaos.server import DropError
from tests.integration.chaos.traps import TEST
from tests.integration.keeper.chaos.mempool import Mempool, tx_hash_of
from tests.integration.keeper.chaos.node import BadNode, Ill
from tests.integration.keeper.chaos.oracle import Oracle
from tests.integration.keeper.chaos.seeds import Trouble, due, due_ill, due_trouble
from tests.integration.keeper.chaos.traps import Point
from tests.integration.keeper.chaos.world import FALLEN, GWEI, World
from tests.personas import KEEPER, OWNER


def signed(
    chain: DeployedChain, nonce: int, fee_wei: int, to: str = OWNER.address, data: str = "0x"
) -> str:
    fields = {
        "to": to,
        "data": data,
        "value": 0,
        "gas": 500_000,
        "maxFeePerGas": fee_wei,
        "maxPriorityFeePerGas": fee_wei,
    }
    return (
        "0x"
        + KEEPER.signer.sign_transaction(
            {"chainId": chain.chain_id, "nonce": nonce, **fields}
        ).hex()
    )


@pytest.fixture
def pool(deployed: DeployedChain) -> Mempool:
    deployed.rpc.call("evm_setAutomine", [False])
    return Mempool(deployed.rpc)


# The nodes


def ask(body: Any) -> Any:
    return [{"jsonrpc": "2.0", "id": call["id"], "result": None} for call in body]


def told(node: BadNode, method: str, parameter: str, count: int = 250) -> list[str]:
    """What a node answers to the same request, again and again."""
    answers = []
    for _ in range(count):
        try:
            answer = node.answer(
                json.dumps(
                    [{"jsonrpc": "2.0", "id": 1, "method": method, "params": [parameter]}]
                ).encode(),
                ask,
            )
            answers.append(f"{answer.status} {answer.body.decode()}")
        except DropError:
            answers.append("dropped")
    return answers


@pytest.mark.slow
def test_same_seed__same_faults__each_kind_of_them(deployed: DeployedChain, pool: Mempool) -> None:
    raw = signed(deployed, 0, 10 * GWEI)
    pool.offer(raw)
    first, second = (BadNode("first", 7, 0, pool, lambda _: True) for _ in range(2))
    assert told(first, "eth_sendRawTransaction", raw) == told(second, "eth_sendRawTransaction", raw)
    told(first, "eth_getTransactionByHash", tx_hash_of(raw))
    kinds = {
        "dropped",
        "429",
        "500",
        "no JSON",
        "slow",
        "answer lost",
        "txpool is full",
        "internal error",
        "nonce too low",
        "swallowed",
    }
    assert set(first.faults) == kinds | {"forgets"}


def test_fourteen_seeds_in_a_row__aim_at_every_commit_point_both_ways() -> None:
    assert {due(seed) for seed in range(20, 34)} == {
        (point, commits) for point in Point for commits in (True, False)
    }


def test_a_few_seeds_in_a_row__have_every_illness_and_every_trouble() -> None:
    for first in range(1, 20):
        assert {due_ill(seed) for seed in range(first, first + 4)} == set(Ill)
        assert {due_trouble(seed) for seed in range(first, first + 5)} == set(Trouble)


# The oracle


@pytest.fixture
def oracle(
    deployed: DeployedChain, crashable: EmbeddedPostgres, chaos_database: str, tmp_path: Path
) -> Iterator[Oracle]:
    """A story in which nothing happened: three vaults, no keeper."""
    database = Database(url_of(crashable, chaos_database), application_name=TEST)
    pool = Mempool(deployed.rpc)
    world = World(deployed, random.Random(1), pool)
    world.build(database, 3)
    node = BadNode("first", 1, 0, pool, lambda _: False, is_faulty=False)
    yield Oracle(
        world,
        database,
        [node],
        Crew("keeper.main", {}, tmp_path),
        frozenset({KEEPER.address}),
    )
    database.close()


def by_keeper(oracle: Oracle, data: str) -> str:
    return signed(oracle.world.chain, 0, 10 * GWEI, oracle.world.sites[0].address, data)


def fall(oracle: Oracle) -> None:
    oracle.world.mine([oracle.world.price(0, FALLEN)])


def mark_unasked(oracle: Oracle) -> None:
    oracle.world.mine([by_keeper(oracle, calldata.mark())])


def send_early(oracle: Oracle) -> None:
    told(oracle.nodes[0], "eth_sendRawTransaction", by_keeper(oracle, "0x"), count=1)


LEADER = (
    "insert into leader (name, epoch, holder, backend_pid, since, beat_at, status) values "
    "('keeper', {}, '', 0, now(), now(), '{{}}')"
)
INTENT = """
    insert into keeper_intent (chain_id, subject, kind, role, state, "to", data, decided_block, trigger_block_number, trigger_block_hash,
                               reason, epoch, created_at, updated_at)
    values (1, 'x', 'mark', 'keeper', 'superseded', '', '', 1, 1, decode(repeat('11', 32), 'hex'), '{}', 1, now(), now())"""


def write_an_attempt(state: str, tx_state: str) -> Callable[[Oracle], None]:
    """A stop's rows, of which the chain knows nothing."""

    def write(oracle: Oracle) -> None:
        now = datetime.now(UTC)
        new = NewIntent(
            chain_id=CHAIN_ID,
            subject=oracle.world.sites[0].address.lower(),
            vault=oracle.world.sites[0].address,
            kind="stop",
            role="keeper",
            to=oracle.world.sites[0].address,
            data=b"",
            trigger_block_number=1,
            trigger_block_hash="0x" + "11" * 32,
            reason={},
        )
        with oracle.database.write() as session:
            session.connection().exec_driver_sql(LEADER.format(1))
            intent = rows.add_intent(session, new, 1, now)
            assert intent is not None
            fees = {"max_fee_wei": 1, "max_priority_fee_wei": 1, "offered_block": 1}
            tx = NewTx(
                intent_id=intent.id,
                signer=KEEPER.address,
                nonce=0,
                raw=b"\1",
                hash="0x" + "22" * 32,
                **fees,
            )
            rows.add_tx(session, tx, now)
            assert rows.move_intent(session, replace(intent, state=state), "planned", 1, now)
            (stored,) = rows.attempts_of(session, [intent.id])
            rows.move_tx(session, stored, tx_state, now)

    return write


def write_with_an_old_epoch(oracle: Oracle) -> None:
    for statement in (LEADER.format(2), INTENT):
        with oracle.database.write() as session:
            session.connection().exec_driver_sql(statement)


def raise_in_a_tick(oracle: Oracle) -> None:
    said = {
        "event": "tick failed",
        "exception": ("Traceback\nIntentMovedError: intent 1 is no longer planned"),
    }
    (oracle.crew.folder / "1.log").write_text(json.dumps(said) + "\n")


@pytest.mark.slow
def test_oracle__nothing_happened__finds_nothing(oracle: Oracle) -> None:
    assert oracle.faults() == []


@pytest.mark.parametrize(
    ("spoil", "sentences"),
    [
        (fall, ["and it is not stopped"]),
        (mark_unasked, ["is nobody's"]),
        (send_early, ["sent before it was committed", "sent and never committed", "is stuck"]),
        (write_an_attempt("signed", "signed"), ["an intent that is not finished"]),
        (write_an_attempt("done", "mined"), ["of a stop that is done stopped nothing"]),
        (write_with_an_old_epoch, ["a write that the fence let through"]),
        (raise_in_a_tick, ["tick failed: IntentMovedError"]),
    ],
)
def test_oracle__something_wrong__is_said(
    oracle: Oracle, spoil: Callable[[Oracle], None], sentences: list[str]
) -> None:
    spoil(oracle)
    found = oracle.faults()
    assert [any(sentence in line for line in found) for sentence in sentences] == [True] * len(
        sentences
    ), found

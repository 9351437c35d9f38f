"""The simulator's lies and its strangers: each of them happens, and would spoil the record of
whoever believes it.
"""

import contextlib
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from core.mandate.chain import calldata
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.chaos.server import DropError
from tests.integration.indexer.chaos.habits import Habit, due_habit
from tests.integration.indexer.chaos.lies import Lie, due_lies, tell
from tests.integration.indexer.chaos.provider import FaultyNode
from tests.integration.indexer.chaos.story import due_harm, has_history
from tests.integration.indexer.chaos.strangers import (
    Harm,
)
from tests.personas import OWNER, STRANGER

Body = dict[str, Any]
Ask = Callable[[Any], Any]


@pytest.mark.parametrize("first", range(1, 9))
def test_four_seeds_in_a_row__tell_every_lie__and_eight_do_every_harm(first: int) -> None:
    assert {lie for seed in range(first, first + 4) for lie in due_lies(seed)} == set(Lie)
    assert {due_harm(seed) for seed in range(first, first + 8)} == set(Harm)
    assert any(has_history(seed) for seed in range(first, first + 4))


@pytest.fixture
def lived(deployed: DeployedChain) -> DeployedChain:
    """A vault with a bit of everything."""
    vault = deployed.create_vault(deployed.terms("m_lies"))
    for _ in range(3):
        deployed.buy(vault, 40 * USDC)
    deployed.buy(vault, 101 * USDC)
    deployed.succeed(OWNER, vault, calldata.set_agent(STRANGER.address))
    return deployed


@pytest.fixture
def ask(lived: DeployedChain) -> Ask:
    def asked(body: Any) -> Any:
        calls = body if isinstance(body, list) else [body]
        results = lived.rpc.batch([(call["method"], call["params"]) for call in calls])
        answers = [
            {"jsonrpc": "2.0", "id": call["id"], "result": result}
            for call, result in zip(calls, results, strict=True)
        ]
        return answers if isinstance(body, list) else answers[0]

    return asked


def requests_of(chain: DeployedChain) -> Iterator[list[Body]]:
    """What an indexer asks for: headers, receipts, logs of a range."""
    heights = [hex(number) for number in range(1, chain.reader.block_number() + 1)]
    yield _calls([("eth_getBlockByNumber", [height, False]) for height in heights])
    for header in chain.reader.headers(range(1, len(heights) + 1)):
        assert header is not None
        yield _calls([("eth_getBlockReceipts", [header.hash])])
    addresses = {"fromBlock": heights[0], "toBlock": heights[-1]}
    yield _calls([("eth_getLogs", [addresses]), ("eth_getBlockByNumber", [heights[-1], False])])


def _calls(requests: list[tuple[str, list[Any]]]) -> list[Body]:
    return [
        {"jsonrpc": "2.0", "id": number, "method": name, "params": params}
        for number, (name, params) in enumerate(requests, 1)
    ]


def believed(calls: list[Body], answers: list[Body]) -> list[tuple[Any, ...]]:
    """The record of a reader that checks nothing.

    Errors: whatever Python raises when it meets another type.
    """
    by_id = {answer["id"]: answer["result"] for answer in answers}
    rows: list[tuple[Any, ...]] = []
    for call in calls:
        result = by_id[call["id"]]
        if call["method"] == "eth_getBlockByNumber":
            rows.append(
                (
                    bytes.fromhex(result["hash"][2:]),
                    bytes.fromhex(result["parentHash"][2:]),
                    int(result["timestamp"], 16),
                )
            )
            rows.append(
                (int(result["number"], 16), int(result["logsBloom"], 16), *result["transactions"])
            )
        elif call["method"] == "eth_getBlockReceipts":
            rows += [
                (*_naming(receipt), int(receipt["status"], 16), int(receipt["gasUsed"], 16))
                for receipt in result
            ]
            rows += [row for receipt in result for row in map(_row, receipt["logs"])]
        else:
            rows += map(_row, result)
    return rows


def _row(log: Body) -> tuple[Any, ...]:
    return (*_naming(log), log["address"], *log["topics"], int(log["logIndex"], 16), log["data"])


def _naming(item: Body) -> tuple[Any, ...]:
    return (
        int(item["blockNumber"], 16),
        bytes.fromhex(item["blockHash"][2:]),
        bytes.fromhex(item["transactionHash"][2:]),
        int(item["transactionIndex"], 16),
    )


def _draws(number: int) -> Callable[[str], float]:
    return lambda what: random.Random(f"{number}:{what}").random()


@pytest.mark.slow
def test_each_lie__spoils_the_record_of_who_believes_it(lived: DeployedChain, ask: Ask) -> None:
    tellings: dict[Lie, list[bool]] = {lie: [] for lie in Lie}
    for calls in requests_of(lived):
        honest = ask(calls)
        for lie in Lie:
            untrue = [tell(lie, calls, honest, _draws(number), ask) for number in range(10)]
            tellings[lie] += [
                _is_spoiled(calls, answers, honest) for answers in untrue if answers is not None
            ]
    # A reader that looks at few fields may miss the others, and an id twice may name the same
    # answer again.
    shares = {lie: sum(told) / max(1, len(told)) for lie, told in tellings.items()}
    assert {lie for lie, share in shares.items() if share < 0.6} == set(), shares


def _is_spoiled(calls: list[Body], untrue: list[Body], honest: list[Body]) -> bool:
    try:
        return believed(calls, untrue) != believed(calls, honest)
    except (KeyError, TypeError, ValueError, AttributeError):
        return True


@pytest.mark.slow
def test_a_liar__tells_each_of_its_lies__and_the_other_node_none(
    lived: DeployedChain, ask: Ask
) -> None:
    for seed in range(4):
        liar, honest = (
            FaultyNode("first", seed, 0, silence_s=0, lies=due_lies(seed)),
            FaultyNode("second", seed, 0, silence_s=0),
        )
        for node in (liar, honest):
            for calls in list(requests_of(lived)) * 6:
                with contextlib.suppress(DropError):
                    node.answer(json.dumps(calls if len(calls) > 1 else calls[0]).encode(), ask)
        assert set(liar.faults) & set(Lie) == set(due_lies(seed))
        assert not set(honest.faults) & set(Lie)


# Habits


@pytest.mark.parametrize("first", range(1, 5))
def test_four_seeds_in_a_row__have_every_habit(first: int) -> None:
    assert {due_habit(seed) for seed in range(first, first + 4)} == set(Habit)

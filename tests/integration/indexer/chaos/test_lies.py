"""The simulator's lies and its strangers: each of them happens, and would spoil the record of
whoever believes it.
"""

import contextlib
import json
import random
from collections.abc import Callable, Iterator
from functools import reduce
from operator import or_
from typing import Any

import pytest

from core.chain.errors import RpcRefusedError
from core.mandate.chain import calldata
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.chaos.server import DropError
from tests.integration.indexer.chaos import lies
from tests.integration.indexer.chaos.fold import CREATED, TRANSFER, Expected, fold
from tests.integration.indexer.chaos.habits import Habit, HabitualNode, due_habit
from tests.integration.indexer.chaos.lies import Lie, due_lies, tell
from tests.integration.indexer.chaos.provider import FaultyNode
from tests.integration.indexer.chaos.story import due_harm, has_history
from tests.integration.indexer.chaos.strangers import (
    BAD_ADAPTERS,
    LONG,
    MOST_UINT,
    NOT_UTF8,
    NUL,
    TRANSFERS,
    WALLET,
    Harm,
    Strangers,
    deploy_bad_adapters,
)
from tests.personas import OWNER, STRANGER

Body = dict[str, Any]
Ask = Callable[[Any], Any]
ACCOUNT = 7


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


def test_a_receipt_without_a_log__looks_whole_and_is_denied_by_a_bloom(
    lived: DeployedChain, ask: Ask
) -> None:
    lie_of_bloom = {Lie.LOG_LEFT_OUT: False, Lie.LOG_AND_BLOOM_LEFT_OUT: True}
    for calls in requests_of(lived):
        for lie, fits in lie_of_bloom.items():
            untrue = tell(lie, calls, ask(calls), _draws(1), ask)
            if untrue is None:
                continue
            receipts = untrue[0]["result"]
            header = ask(
                {
                    "id": 1,
                    "method": "eth_getBlockByHash",
                    "params": [receipts[0]["blockHash"], False],
                }
            )["result"]
            logs = [log for receipt in receipts for log in receipt["logs"]]
            assert [int(log["logIndex"], 16) for log in logs] == list(range(len(logs)))
            of_logs = reduce(or_, map(lies.bloom_of, logs), 0)
            assert (
                of_logs == reduce(or_, (int(receipt["logsBloom"], 16) for receipt in receipts))
            ) is fits
            assert of_logs != int(header["logsBloom"], 16)


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


@pytest.mark.parametrize("habit", Habit)
def test_a_habit__is_in_each_of_the_same_answers_and_in_no_other(
    lived: DeployedChain, ask: Ask, habit: Habit
) -> None:
    node = HabitualNode("habitual", habit, 0)
    latest = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "eth_getBlockByNumber",
        "params": ["latest", False],
    }
    receipts = {**latest, "method": "eth_getBlockReceipts", "params": ["latest"]}
    number = {**latest, "method": "eth_blockNumber", "params": []}
    changed = {
        call["method"]: {
            json.loads(node.answer(json.dumps(call).encode(), ask).body) != ask(call)
            for _ in range(5)
        }
        for call in (latest, receipts, number)
    }
    heads, all_of_them = {Habit.HANGING_HEAD, Habit.NO_HEAD, Habit.EXPIRED}, {Habit.EXPIRED}
    assert changed == {
        "eth_getBlockByNumber": {habit in heads},
        "eth_getBlockReceipts": {habit in {Habit.NO_RECEIPTS, Habit.EXPIRED}},
        "eth_blockNumber": {habit in all_of_them},
    }


# Strangers


def harmed(chain: DeployedChain, *kinds: Harm) -> Expected:
    strangers = Strangers(chain, deploy_bad_adapters(chain), {WALLET: ACCOUNT})
    for kind in kinds:
        for deed in strangers.harm(random.Random(1), kind):
            chain.send(deed.sender, deed.to, deed.data)
    return fold(chain, [], strangers.wallets)


def test_vaults_of_hostile_terms__are_made_and_folded(deployed: DeployedChain) -> None:
    texts = {
        Harm.NUL_ID: NUL,
        Harm.BROKEN_ID: NOT_UTF8,
        Harm.LONG_ID: LONG,
        Harm.LARGE_TERMS: b"m_large",
    }
    expected = harmed(deployed, *texts)
    created = [row[7] for row in expected.tables["raw_log"] if row[6].startswith(CREATED)]
    assert [text.hex() in data for text, data in zip(texts.values(), created, strict=True)] == [
        True
    ] * len(texts)
    assert [MOST_UINT.to_bytes(32).hex() in data for data in created] == [
        kind is Harm.LARGE_TERMS for kind in texts
    ]
    vaults = expected.tables["vault"]
    assert [address for _, address, *_ in vaults] == [
        deployed.reader.predict_vault(digest) for _, _, _, digest, _ in vaults
    ]
    assert expected.foreign == {address for _, address, *_ in vaults}


def test_transfers_of_nothing__happen_and_are_no_deposits(deployed: DeployedChain) -> None:
    expected = harmed(deployed, Harm.EMPTY_TRANSFERS, Harm.PAYMENT)
    logs = deployed.rpc.call(
        "eth_getLogs",
        [
            {
                "fromBlock": "0x1",
                "topics": [TRANSFER, None, "0x" + WALLET[2:].lower().rjust(64, "0")],
            }
        ],
    )
    assert len(logs) == TRANSFERS + 1
    assert [row[-1] for row in expected.deposits[ACCOUNT]] == [int(logs[-1]["data"], 16)]


def test_failing_calls_of_a_stranger__are_mined_and_fail_and_make_no_row(
    deployed: DeployedChain,
) -> None:
    expected = harmed(deployed, Harm.FAILING_CALLS)
    heights = range(deployed.start_block, expected.head[0] + 1)
    receipts = [
        deployed.reader.receipts(header.hash) or ()
        for header in deployed.reader.headers(heights)
        if header is not None
    ]
    failed = {one.to for block in receipts for one in block if one.status == 0}
    assert failed & expected.foreign
    assert expected.tables["reverted_tx"] == []


def test_bad_adapters__answer_as_they_are_called(deployed: DeployedChain) -> None:
    answers: list[int | str] = []
    for adapter in deploy_bad_adapters(deployed):
        try:
            answers.append(
                len(deployed.rpc.call("eth_call", [{"to": adapter, "gas": hex(10**7)}, "latest"]))
            )
        except RpcRefusedError as error:
            answers.append(type(error).__name__)
    assert dict(zip(BAD_ADAPTERS, answers, strict=True)) == {
        "reverts": "RpcRevertedError",
        "burns its gas": "RpcCodeFailedError",
        "is out of bounds": "RpcCodeFailedError",
        "answers 2^255": 66,
        "answers a megabyte": 2 + 2 * 2**20,
    }

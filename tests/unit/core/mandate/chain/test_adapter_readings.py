"""Reading adapters: one block, one request, and an adapter that fails hides no other.

No socket is opened.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from core.chain.abi import AbiDecodeError, function
from core.chain.errors import RpcUnreachableError
from core.chain.nodes import Nodes
from core.chain.reader import VIEW_GAS
from core.mandate.chain.reader import ADAPTER_VIEWS, AdapterReading, VaultReader
from tests.each import each
from tests.node_transport import in_threads

VAULT, GOOD, BAD = (f"0x{byte * 20}" for byte in ("aa", "11", "22"))
HEAD = "0x" + "be" * 32
SELECTORS = {function("IAdapter", name).selector: name for name in ADAPTER_VIEWS}
VALUES = {"positionOf": 3_000_000, "valueOf": 4_500_000, "unitPrice": 1_500_000, "isLinear": 1}
READ = AdapterReading(
    units=3_000_000, worth_usdc_e6=4_500_000, unit_price_e6=1_500_000, is_linear=True
)

Answer = dict[str, Any]


def word(value: int) -> Answer:
    return {"result": f"0x{value:064x}"}


def honest(_: str, view: str) -> Answer:
    return word(VALUES[view])


def but(view: str, answer: Answer) -> Callable[[str, str], Answer]:
    """BAD answers `view` so; everything else is honest."""
    return lambda adapter, asked: (
        answer if (adapter, asked) == (BAD, view) else honest(adapter, asked)
    )


def reader(
    answer: Callable[[str, str], Answer], asked: list[Any] | None = None, most_calls: int = 100
) -> VaultReader:
    """Of a node whose newest block is HEAD, and that answers `answer(adapter, view)` and refuses
    batches of more than `most_calls`.
    """

    def one(body: Any) -> Answer:
        if body["method"] == "eth_getBlockByNumber":
            zero = "0x" + "00" * 32
            header: Answer = {
                "number": "0x9",
                "hash": HEAD,
                "parentHash": zero,
                "timestamp": "0x1",
                "transactions": [],
            }
            header["logsBloom"] = "0x" + "00" * 256
            return {"id": body["id"], "result": header}
        call = body["params"][0]
        return {"id": body["id"], **answer(call["to"], SELECTORS[call["data"][:10]])}

    def handle(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        if asked is not None:
            asked.append(body)
        if isinstance(body, list) and len(body) > most_calls:
            return httpx.Response(
                200, json={"id": None, "error": {"code": -32600, "message": "batch too large"}}
            )
        return httpx.Response(
            200, json=[one(item) for item in body] if isinstance(body, list) else one(body)
        )

    return VaultReader(
        Nodes(["http://node"], transport=in_threads(httpx.MockTransport(handle))), {}
    )


def test_readings__honest_adapters__are_read_as_they_answer() -> None:
    assert reader(honest).adapter_readings([GOOD, BAD], VAULT) == {GOOD: READ, BAD: READ}


def test_readings__are_one_request_at_the_hash_of_the_newest_block() -> None:
    asked: list[Any] = []
    reader(honest, asked).adapter_readings([GOOD, BAD], VAULT)
    (_, batch) = asked
    assert len(batch) == 2 * len(ADAPTER_VIEWS)
    assert [body["params"][1] for body in batch] == [{"blockHash": HEAD}] * len(batch)
    # no adapter keeps a node busy
    assert {body["params"][0]["gas"] for body in batch} == {hex(VIEW_GAS)}


def test_readings__of_no_adapter__ask_nothing() -> None:
    asked: list[Any] = []
    assert reader(honest, asked).adapter_readings([], VAULT) == {}
    assert asked == []


@each(
    "trouble",
    [
        {"error": {"code": 3, "message": "execution reverted", "data": "0x"}},
        {"error": {"code": -32015, "message": "VM execution error: invalid opcode"}},
        {"result": "0x"},
        {"result": "0xc0ffee"},
        {"result": f"0x{1:064x}{0:064x}"},
        {"result": f"0x{1:064x}00"},
        {"result": "0x" + "zz" * 32},
        {"result": None},
        {"result": 1},
    ],
    ids=[
        "reverts",
        "fails in a node's own words",
        "no code",
        "garbage",
        "two words",
        "a word and a byte",
        "no hex",
        "null",
        "a number",
    ],
)
@each(
    ("view", "field"),
    [
        ("positionOf", "units"),
        ("valueOf", "worth_usdc_e6"),
        ("unitPrice", "unit_price_e6"),
        ("isLinear", "is_linear"),
    ],
)
def test_readings__one_answer_fails__is_unknown_alone(
    view: str, field: str, trouble: Answer
) -> None:
    found = reader(but(view, trouble)).adapter_readings([BAD, GOOD], VAULT)
    known = {
        name: getattr(READ, name)
        for name in ("units", "worth_usdc_e6", "unit_price_e6", "is_linear")
    }
    assert found == {BAD: AdapterReading(**known | {field: None}), GOOD: READ}


def test_readings__a_word_that_is_no_bool__is_unknown() -> None:
    assert reader(but("isLinear", word(2))).adapter_readings([BAD], VAULT)[BAD].is_linear is None


def test_readings__a_node_that_calls_it_its_own_failure__is_unknown_alone() -> None:
    """-32603 in one answer says nothing of the others in its batch."""
    found = reader(
        but("valueOf", {"error": {"code": -32603, "message": "EVM error"}})
    ).adapter_readings([BAD, GOOD], VAULT)
    assert found == {BAD: replace(READ, worth_usdc_e6=None), GOOD: READ}


def test_readings__a_node_that_refuses_the_whole_batch__is_asked_for_each_alone() -> None:
    asked: list[Any] = []
    found = reader(honest, asked, most_calls=len(ADAPTER_VIEWS)).adapter_readings(
        [GOOD, BAD], VAULT
    )
    assert (found, len(asked)) == ({GOOD: READ, BAD: READ}, 4)


def test_readings__no_node__is_an_error() -> None:
    def refuse(_: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    nowhere = VaultReader(
        Nodes(["http://node"], transport=in_threads(httpx.MockTransport(refuse)), deadline_s=0.1),
        {},
    )
    with pytest.raises(RpcUnreachableError):
        nowhere.adapter_readings([GOOD], VAULT)


def test_exit_trials__are_asked_as_the_vault_and_one_that_returns_nothing_is_no_amount() -> None:
    asked: list[Any] = []
    exit_data = function("IAdapter", "positionOf").selector
    found = reader(honest, asked).exit_trials(VAULT, GOOD, [exit_data, exit_data])
    assert found == [3_000_000, 3_000_000]
    call = asked[-1][0]["params"][0]
    assert (call["from"], call["to"]) == (VAULT, GOOD)
    with pytest.raises(AbiDecodeError):
        reader(lambda *_: {"result": "0x"}).exit_trials(VAULT, GOOD, [exit_data])

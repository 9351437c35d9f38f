"""Whose fault a refusal is: the call's, which then ends, or the node's, which is then passed over
and rests.
"""

from typing import Any

import httpx
import pytest

from core.chain.errors import (
    RpcCodeFailedError,
    RpcRefusedError,
    RpcRevertedError,
    RpcUnreachableError,
)
from core.chain.refusals import FailureKind, failure_of, is_too_large
from tests.each import each
from tests.unit.core.chain.scripted import Script, World, unreachable

HASH = "0x" + "ab" * 32


def saying(message: str, code: int = -32000, *methods: str) -> Script:
    """A node that refuses these methods with such words; all when none is named."""

    def answer(one: dict[str, Any]) -> dict[str, Any]:
        is_refused = not methods or one["method"] in methods
        return {
            "id": one["id"],
            **(
                {"error": {"code": code, "message": message}}
                if is_refused
                else {"result": one["method"]}
            ),
        }

    return lambda body: httpx.Response(
        200, json=list(map(answer, body)) if isinstance(body, list) else answer(body)
    )


OWN_TROUBLE = [
    ("project ID does not have access", -32000),
    ("API key expired", -32000),
    ("daily request count exceeded, upgrade your plan", -32000),
    ("the method eth_getBlockReceipts does not exist/is not available", -32601),
    ("Unauthorized", -32001),
    ("transaction indexing is in progress", -32000),
    ("invalid argument 0: hex string without 0x prefix", -32602),
    ("", 0),
]


@each(("message", "code"), OWN_TROUBLE)
def test_a_node_that_refuses_what_cannot_be_refused__the_next_is_asked_in_the_same_call(
    message: str, code: int
) -> None:
    world = World("a", "b")
    world.nodes["a"] = saying(message, code)
    assert world.rpc.call("web3_clientVersion") == "web3_clientVersion"
    assert world.order == ["a", "b"]


@each(
    "message",
    [
        "missing trie node 7f (path )",
        "header not found",
        "execution aborted (timeout = 5s)",
        "key expired",
    ],
)
def test_a_call_that_a_node_lacks_the_state_or_time_for__the_next_is_asked(message: str) -> None:
    world = World("a", "b")
    world.nodes["a"] = saying(message)
    world.nodes["b"] = lambda body: httpx.Response(200, json={"id": body["id"], "result": "0x01"})
    assert world.rpc.call("eth_call", [{}, HASH]) == "0x01"


OF_THE_CALL = [
    ("eth_call", "execution reverted: rate limit exceeded", 3),
    ("eth_call", "VM Exception while processing transaction: revert", -32603),
    ("eth_call", "out of gas", -32000),
    ("eth_call", "EVM error InvalidFEOpcode", -32603),
    ("eth_call", "VM execution error.", -32015),
    ("eth_call", "err: OutOfGas (supplied gas 10000000)", -32000),
    ("eth_call", "BadInstruction", -32015),
    ("eth_call", "stack underflow (0 <=> 2)", -32000),
    ("eth_call", "invalid argument 3: json: unknown field", -32602),
    ("eth_estimateGas", "gas required exceeds allowance (30000000)", -32000),
    ("eth_sendRawTransaction", "already known", -32000),
    ("eth_sendRawTransaction", "nonce too low: next nonce 7, tx nonce 6", -32003),
    ("eth_sendRawTransaction", "replacement transaction underpriced", -32603),
    ("eth_sendRawTransaction", "insufficient funds for gas * price + value", -32000),
    ("eth_getLogs", "query returned more than 10000 results", -32005),
    ("eth_getLogs", "eth_getLogs is limited to a 10,000 range", -32000),
    ("eth_getLogs", "requested too many blocks from 1 to 9000, maximum is set to 2048", -32000),
    ("eth_getLogs", "query timeout exceeded. Consider reducing your block range.", -32002),
]


@each(("method", "message", "code"), OF_THE_CALL)
def test_what_any_node_would_say_of_this_call__ends_it_and_rests_nobody(
    method: str, message: str, code: int
) -> None:
    world = World("a", "b", node=saying(message, code))
    with pytest.raises(RpcRefusedError) as raised:
        world.rpc.call(method, [{}])
    assert raised.value.node_message == message
    assert world.order == ["a"]
    assert world.stats("a").failures == {}


@each(
    ("method", "message"),
    [
        ("eth_sendRawTransaction", "txpool is full"),
        ("eth_sendRawTransaction", "tx fee (1.50 ether) exceeds the configured cap (1.00 ether)"),
        ("eth_sendRawTransaction", "API key expired"),
        ("eth_getLogs", "block range extends beyond current head block"),
        ("eth_getLogs", "One or more blocks specified in filter could not be found"),
        ("eth_getTransactionReceipt", "execution reverted"),
        ("eth_getBlockByNumber", "out of gas"),
    ],
)
def test_what_one_node_alone_would_say__is_its_failure(method: str, message: str) -> None:
    assert failure_of(method, [{}], {"code": -32000, "message": message}) is not None


def test_the_newest_block__is_not_optional() -> None:
    assert (
        failure_of(
            "eth_getBlockByNumber", ["latest", False], {"code": -32000, "message": "unknown block"}
        )
        == FailureKind.REFUSED
    )


# When all refuse


def test_all_nodes_refuse__the_error_has_what_each_of_them_said() -> None:
    world = World("a", "b", "c", node=saying("API key expired"))
    world.nodes["b"] = saying("method not found", -32601)
    world.nodes["c"] = unreachable
    with pytest.raises(RpcRefusedError) as raised:
        world.call()
    assert (
        raised.value.node_message
        == "API key expired (code -32000); method not found (code -32601); ConnectError"
    )


def test_what_a_node_says__is_printable_short_and_without_addresses() -> None:
    world = World(
        "a", node=saying("key\x1b[31m\n of https://rpc.example/v2/secret \u202e" + "x" * 9_000)
    )
    with pytest.raises(RpcRefusedError) as raised:
        world.call()
    assert raised.value.node_message.startswith("key?[31m? of (address) ?xxx")
    assert len(raised.value.node_message) == 500


# Batches


def test_a_batch_of_which_every_call_is_refused__goes_to_the_next_node() -> None:
    world = World("a", "b")
    world.nodes["a"] = saying("API key expired")
    assert world.rpc.batch_settled([("one", []), ("two", [])]) == ["one", "two"]


def test_a_batch_of_which_every_call_ran_and_failed__is_an_answer() -> None:
    world = World("a", "b", node=saying("out of gas"))
    answers = world.rpc.batch_settled([("eth_call", [{}]), ("eth_call", [{}])])
    assert [type(answer) for answer in answers] == [RpcCodeFailedError, RpcCodeFailedError]
    assert world.order == ["a"]


def test_a_batch_with_one_call_that_no_node_answers__has_the_others_answers() -> None:
    world = World("a", "b", node=saying("no such method", -32601, "two"))
    first, second = world.rpc.batch_settled([("one", []), ("two", [])])
    assert (first, type(second), world.order) == ("one", RpcRefusedError, ["a", "b"])


def test_a_batch_in_which_what_ran_reverted_and_the_rest_was_refused__keeps_the_revert() -> None:
    def node(body: Any) -> httpx.Response:
        errors = [
            {"code": 3, "message": "execution reverted"},
            {"code": -32000, "message": "missing trie node"},
        ]
        return httpx.Response(
            200,
            json=[
                {"id": one["id"], "error": error} for one, error in zip(body, errors, strict=True)
            ],
        )

    first, second = World("a", node=node).rpc.batch_settled(
        [("eth_call", [{}]), ("eth_call", [{}])]
    )
    assert (type(first), type(second)) == (RpcRevertedError, RpcRefusedError)


@each(
    "message",
    [
        "batch too large",
        "Batch size limit exceeded",
        "maximum 100 calls in 1 batch",
        "batch limit 100 exceeded: 400 (can increase by --rpc.batch.limit)",
        "Batch of more than 3 requests are not allowed on free tier",
        "batch requests are not supported",
        "too many requests in batch",
    ],
)
def test_words_about_size(message: str) -> None:
    assert is_too_large({"code": -32000, "message": message})


@each(
    ("code", "message"),
    [
        (-32000, "rate limit exceeded for batch requests"),
        (-32000, "you exceed your limit, send batch calls more slowly"),
        (-32000, "Too many requests, batch limit of your plan is reached"),
        (429, "batch limit"),
    ],
)
def test_words_about_speed(code: int, message: str) -> None:
    assert not is_too_large({"code": code, "message": message})
    assert failure_of("m", [], {"code": code, "message": message}) == FailureKind.RATE_LIMIT


def test_no_node_is_reached__is_still_told_apart_from_a_refusal() -> None:
    world = World("a", "b", node=unreachable)
    with pytest.raises(RpcUnreachableError):
        world.call()

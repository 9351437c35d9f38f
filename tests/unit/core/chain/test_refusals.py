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
from core.chain.refusals import FailureKind, failure_of, is_known, is_too_large
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
    # as reported of BNB Chain, NodeReal, Infura, reth, proxyd, geth and Alchemy
    ("eth_getLogs", "limit exceeded", -32005),
    ("eth_getLogs", "logs matched by query exceeds limit of 10000", -32000),
    ("eth_getLogs", "query timeout exceeded", -32005),
    ("eth_getLogs", "Response is too big", -32008),
    ("eth_getLogs", "backend response too large", -32020),
    ("eth_getLogs", "response too large", -32003),
    ("eth_getLogs", "Response size is larger than 150MB limit", -32600),
    # Nethermind and Erigon
    ("eth_sendRawTransaction", "AlreadyKnown", -32000),
    ("eth_sendRawTransaction", "InsufficientFunds, Account balance: 0", -32000),
    ("eth_sendRawTransaction", "INTERNAL_ERROR: could not replace existing tx", -32000),
    ("eth_sendRawTransaction", "future transaction tries to replace pending", -32000),
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
        (-32012, "credits limited to 6000/sec"),
        (-32005, "project ID request rate exceeded"),
        (-32000, "You've exceeded the RPS limit available on the current plan"),
        (-32007, "50/second request limit reached - reduce calls per second"),
    ],
)
@each("method", ["m", "eth_call", "eth_getLogs"])
def test_words_about_speed(method: str, code: int, message: str) -> None:
    assert not is_too_large({"code": code, "message": message})
    assert failure_of(method, [], {"code": code, "message": message}) == FailureKind.RATE_LIMIT


def test_a_range_that_is_too_long_by_the_data_alone__is_of_the_call() -> None:
    data = {"error_id": "4ed9", "payload": "range 9009594 is bigger than range limit 2000"}
    error = {"code": -32602, "message": "invalid params"}
    assert failure_of("eth_getLogs", [{}], {**error, "data": data}) is None
    assert failure_of("eth_getLogs", [{}], error) is FailureKind.REFUSED


@each(
    ("message", "is_the_same"),
    [
        ("already known", True),
        ("AlreadyKnown", True),
        ("Known transaction", True),
        ("Transaction with the same hash was already imported.", True),
        ("OwnNonceAlreadyUsed", False),
        ("unknown transaction type", False),
        ("there is another tx which has the same nonce in the tx pool", False),
    ],
)
def test_bytes_that_a_pool_has__are_told_from_a_nonce_that_is_taken(
    message: str, is_the_same: bool
) -> None:
    assert is_known(message) is is_the_same


def explained(code: int, status: int, message: str) -> Script:
    error = {"jsonrpc": "2.0", "error": {"code": code, "message": message}}
    return lambda body: httpx.Response(
        status, json=error | {"id": None if isinstance(body, list) else body["id"]}
    )


@each(
    ("status", "code", "message"),
    [
        (400, -32600, "You can make eth_getLogs requests with up to a 500 block range."),
        (413, -32614, "eth_getLogs is limited to a 10,000 range"),
    ],
)
def test_a_range_refused_by_status__is_of_the_call_and_rests_nobody_alone_or_in_a_batch(
    status: int, code: int, message: str
) -> None:
    world = World("a", "b", node=explained(code, status, message))
    with pytest.raises(RpcRefusedError, match=message):
        world.rpc.call("eth_getLogs", [{}])
    assert (world.order, world.stats("a").has_failed) == (["a"], False)
    with pytest.raises(RpcRefusedError, match=message):
        world.rpc.batch([("eth_getLogs", [{}]), ("eth_getBlockByNumber", ["0x1", False])])
    assert world.order == ["a", "a", "b"]  # of a batch nobody says which call it was
    assert not any(node.has_failed for node in world.rpc.stats())


def test_a_method_refused_by_status__is_asked_of_others_and_the_rest_of_it() -> None:
    world = World("a", "b")
    world.nodes["a"] = explained(-32601, 403, "rpc method is not whitelisted")
    assert world.call() == "web3_clientVersion"
    assert not world.stats("a").has_failed


@each("status", [400, 401, 403, 500, 503])
@each("body", [b"", b"<html>", b'{"message": "x"}', b'{"error": "forbidden"}', b"[]"])
def test_a_status_without_a_json_rpc_error__is_the_nodes_failure(status: int, body: bytes) -> None:
    world = World("a", node=lambda _: httpx.Response(status, content=body))
    with pytest.raises(RpcUnreachableError, match=f"HTTP {status}"):
        world.call()
    assert world.stats("a").has_failed


def test_calls_after_the_first_25_mb_of_a_batch__are_asked_again_of_the_same_node() -> None:
    """geth: BatchResponseMaxSize."""

    def node(body: Any) -> httpx.Response:
        error = {"code": -32003, "message": "response too large"}
        if isinstance(body, dict):
            return httpx.Response(200, json={"id": body["id"], "result": []})
        said = [
            {"id": one["id"], **({"result": []} if at < 2 else {"error": error})}
            for at, one in enumerate(body)
        ]
        return httpx.Response(200, json=said)

    world = World("a", node=node)
    assert world.rpc.batch([("eth_getBlockReceipts", [HASH])] * 5) == [[]] * 5
    assert [calls for _, _, calls in world.asked] == [5, 3, 1]
    assert world.stats("a").failures == {}


def test_one_call_whose_answer_is_too_large__is_not_asked_again_of_the_same_node() -> None:
    world = World("a", "b", node=saying("response too large", -32003))
    with pytest.raises(RpcRefusedError):
        world.rpc.call("eth_getBlockReceipts", [HASH])
    assert world.order == ["a", "b"]


def test_no_node_is_reached__is_still_told_apart_from_a_refusal() -> None:
    world = World("a", "b", node=unreachable)
    with pytest.raises(RpcUnreachableError):
        world.call()

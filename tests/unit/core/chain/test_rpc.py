"""Failover, bounded and typed; answers are answers."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from core.chain.rpc import REST_S, Rpc, RpcRefusedError, RpcRevertedError, RpcUnreachableError
from tests.each import each

Node = Callable[[Any], httpx.Response]


def answer(body: Any, **fields: Any) -> httpx.Response:
    return httpx.Response(200, json={"jsonrpc": "2.0", "id": body["id"], **fields})


def good(body: Any) -> httpx.Response:
    if isinstance(body, list):
        return httpx.Response(
            200, json=[{"id": one["id"], "result": one["method"]} for one in reversed(body)]
        )
    return answer(body, result=body["method"])


def status(code: int) -> Node:
    return lambda body: httpx.Response(code)


def refusing(**error: Any) -> Node:
    return lambda body: answer(body, error=error)


def unreachable(body: Any) -> httpx.Response:
    raise httpx.ConnectError("refused")


class Nodes:
    """Scripted nodes, and how often each was asked."""

    def __init__(self, **nodes: Node) -> None:
        self.nodes = nodes
        self.asked: list[str] = []
        self.now = 0.0
        transport = httpx.MockTransport(self._handle)
        self.rpc = Rpc(
            [f"http://{name}" for name in nodes],
            transport=transport,
            clock=lambda: self.now,
            calls_per_s=100_000,
        )

    def _handle(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.host)
        return self.nodes[request.url.host](json.loads(request.content))


def test_the_first_node_is_asked_first() -> None:
    nodes = Nodes(a=good, b=good)
    assert nodes.rpc.call("web3_clientVersion") == "web3_clientVersion"
    assert nodes.asked == ["a"]


@each(
    "failing",
    [
        unreachable,
        status(429),
        status(503),
        lambda body: httpx.Response(200, text="<html>"),
        lambda body: httpx.Response(200, json=[]),
        refusing(code=-32005, message="limit exceeded"),
        refusing(code=-32603, message="internal error"),
    ],
)
def test_a_node_that_fails__is_passed_over_and_rests(failing: Node) -> None:
    nodes = Nodes(a=failing, b=good)
    assert nodes.rpc.call("web3_clientVersion") == "web3_clientVersion"
    nodes.rpc.call("web3_clientVersion")
    nodes.now = REST_S + 0.001
    nodes.rpc.call("web3_clientVersion")
    assert nodes.asked == ["a", "b", "b", "a", "b"]


def test_all_nodes_fail__the_error_tells_why_and_no_address() -> None:
    nodes = Nodes(a=unreachable, b=status(502))
    with pytest.raises(RpcUnreachableError) as raised:
        nodes.rpc.call("web3_clientVersion")
    assert str(raised.value) == "web3_clientVersion: no node answered (ConnectError; HTTP 502)"


def test_all_nodes_refuse_for_their_own_trouble__what_one_said_is_told() -> None:
    nodes = Nodes(a=unreachable, b=refusing(code=-32603, message="already known"))
    with pytest.raises(RpcRefusedError, match="already known"):
        nodes.rpc.call("eth_sendRawTransaction", ["0x"])


def test_a_revert__is_raised_at_once_with_its_data() -> None:
    nodes = Nodes(a=refusing(code=3, message="execution reverted", data="0x1234"), b=good)
    with pytest.raises(RpcRevertedError) as raised:
        nodes.rpc.call("eth_call", [{}])
    assert raised.value.revert_data == b"\x12\x34"
    assert nodes.asked == ["a"]


@pytest.mark.parametrize(
    "error",
    [
        {"code": -32000, "message": "execution reverted", "data": {"data": "0x1234"}},
        {"code": -32603, "message": "VM Exception: revert", "data": "0x1234"},
    ],
)
def test_a_revert_in_another_nodes_words__is_a_revert(error: dict[str, Any]) -> None:
    with pytest.raises(RpcRevertedError) as raised:
        Nodes(a=refusing(**error)).rpc.call("eth_call", [{}])
    assert raised.value.revert_data == b"\x12\x34"


def test_a_refusal__keeps_code_and_message() -> None:
    with pytest.raises(RpcRefusedError) as raised:
        Nodes(a=refusing(code=-32000, message="nonce too low")).rpc.call(
            "eth_sendRawTransaction", ["0x"]
        )
    assert (raised.value.code, raised.value.node_message) == (-32000, "nonce too low")


def test_a_batch__comes_back_in_the_order_asked() -> None:
    assert Nodes(a=good).rpc.batch([("one", []), ("two", []), ("three", [])]) == [
        "one",
        "two",
        "three",
    ]


def test_an_empty_batch__asks_nobody() -> None:
    nodes = Nodes(a=good)
    assert nodes.rpc.batch([]) == []
    assert nodes.asked == []


def test_a_batch_with_an_answer_left_out__goes_to_the_next_node() -> None:
    nodes = Nodes(
        a=lambda body: httpx.Response(200, json=[{"id": body[0]["id"], "result": "one"}]), b=good
    )
    assert nodes.rpc.batch([("one", []), ("two", [])]) == ["one", "two"]
    assert nodes.asked == ["a", "b"]


def test_batch_settled__a_refused_call_stands_in_its_place() -> None:
    def node(body: Any) -> httpx.Response:
        return httpx.Response(
            200,
            json=[
                {"id": body[0]["id"], "result": "0x01"},
                {
                    "id": body[1]["id"],
                    "error": {"code": 3, "message": "execution reverted", "data": "0x"},
                },
            ],
        )

    first, second = Nodes(a=node).rpc.batch_settled([("eth_call", []), ("eth_call", [])])
    assert first == "0x01"
    assert isinstance(second, RpcRevertedError)


# Large batches


def limited(most: int, refusal: Callable[[list[Any]], Any]) -> Node:
    """A node that takes so many calls a batch."""
    return lambda body: good(body) if len(body) <= most else httpx.Response(200, json=refusal(body))


REFUSALS: list[Callable[[list[Any]], Any]] = [
    # geth
    lambda body: [{"id": body[0]["id"], "error": {"code": -32600, "message": "batch too large"}}],
    # Nethermind
    lambda body: {"id": None, "error": {"code": -32005, "message": "Batch size limit exceeded"}},
    lambda body: {"error": {"code": -32007, "message": "maximum 100 calls in 1 batch"}},
]


@each("refusal", REFUSALS)
@each("most", [1_000, 100, 1])
@pytest.mark.slow
def test_a_batch_of_1001_calls__is_answered_whatever_the_node_takes(
    refusal: Callable[[list[Any]], Any], most: int
) -> None:
    nodes = Nodes(a=limited(most, refusal))
    requests = [(f"m{n}", []) for n in range(1_001)]
    assert nodes.rpc.batch(requests) == [method for method, _ in requests]
    assert nodes.rpc.batch_settled(requests[:300]) == [method for method, _ in requests[:300]]
    assert nodes.rpc.stats()[0].failures == {}


def test_a_refused_size__is_learned() -> None:
    nodes = Nodes(a=limited(100, REFUSALS[0]))
    nodes.rpc.batch([("m", [])] * 400)
    nodes.asked.clear()
    nodes.rpc.batch([("m", [])] * 400)
    assert len(nodes.asked) == 4


def test_parts_of_one_batch__come_from_one_node() -> None:
    def first_only(body: Any) -> httpx.Response:
        return good(body) if "a" not in nodes.asked[:-1] else httpx.Response(500)

    nodes = Nodes(a=first_only, b=good)
    with pytest.raises(RpcUnreachableError):
        nodes.rpc.batch([("m", [])] * 1_001)
    assert "b" not in nodes.asked


def test_a_contract_that_reverts_with_such_words__says_it_of_itself() -> None:
    nodes = Nodes(
        a=lambda body: httpx.Response(
            200, json=[{"id": body[0]["id"], "error": {"code": 3, "message": "batch too large"}}]
        )
    )
    (answered,) = nodes.rpc.batch_settled([("eth_call", [])])
    assert isinstance(answered, RpcRevertedError)


# Every node


def test_bytes_for_all__go_to_each_node_but_the_one_that_was_asked_already() -> None:
    nodes = Nodes(a=good, b=status(500), c=good)
    with nodes.rpc.pinned():
        nodes.rpc.call("web3_clientVersion")
        assert nodes.rpc.pinned_name == "a:80"
        said = nodes.rpc.batch_of_others([("eth_sendRawTransaction", ["0x"])], 1.0)
    assert said == {"c:80": ["eth_sendRawTransaction"]}
    assert nodes.asked == ["a", "b", "c"]
    assert nodes.rpc.pinned_name is None

"""Batches that shrink when a node refuses them, and a node that is away is told as such.

The node is a transport in memory.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from api.client.verify.findings import UncheckedError
from api.client.verify.node import Node
from core.chain.rpc import Rpc

FACTORY = "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"
HASH = "0x" + "11" * 32
BLOOM = "0x" + "00" * 256


@dataclass
class FakeNode(httpx.BaseTransport):
    """Takes at most `most` calls in a request and `widest` blocks in a range; notes how many
    came.
    """

    most: int = 1_000
    widest: int = 1_000_000
    sizes: list[int] = field(default_factory=list)
    ranges: list[tuple[int, int]] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        calls = json.loads(request.read())
        if isinstance(calls, dict):
            return httpx.Response(200, json=self._answer(calls))
        self.sizes.append(len(calls))
        return (
            httpx.Response(413)
            if len(calls) > self.most
            else httpx.Response(200, json=[self._answer(call) for call in calls])
        )

    def _answer(self, call: dict[str, Any]) -> dict[str, Any]:
        answer = {"jsonrpc": "2.0", "id": call["id"]}
        if call["method"] == "eth_getLogs":
            first, last = (int(call["params"][0][key], 16) for key in ("fromBlock", "toBlock"))
            self.ranges.append((first, last))
            if last - first + 1 > self.widest:
                return answer | {"error": {"code": -32600, "message": "range too wide"}}
            return answer | {"result": []}
        number = call["params"][0]
        block = {
            "number": number,
            "hash": HASH,
            "parentHash": HASH,
            "timestamp": "0x1",
            "logsBloom": BLOOM,
            "transactions": [],
        }
        return answer | {"result": block}


@pytest.fixture
def fake() -> FakeNode:
    return FakeNode()


@pytest.fixture
def node(fake: FakeNode) -> Iterator[Node]:
    rpc = Rpc(["http://node"], transport=fake, sleep=lambda s: None, calls_per_s=1e6)
    yield Node(rpc, FACTORY, lambda part, done, of: None)
    rpc.close()


def test_batches__grow_to_300_calls(node: Node, fake: FakeNode) -> None:
    assert len(node.blocks(range(1_000))) == 1_000
    assert fake.sizes == [32, 128, 300, 300, 240]


def test_a_batch_that_is_too_large__is_asked_again_in_parts(node: Node, fake: FakeNode) -> None:
    fake.most = 10
    assert sorted(node.blocks(range(20))) == list(range(20))
    assert fake.sizes == [20, 10, 10]


def test_a_node_that_refuses_single_calls__is_told_with_the_part(
    node: Node, fake: FakeNode
) -> None:
    fake.most = 0
    with pytest.raises(UncheckedError, match="blocks"):
        node.blocks([1])


def test_ranges__cover_every_block_once_though_the_node_takes_few(
    node: Node, fake: FakeNode
) -> None:
    fake.widest = 60
    assert list(node.logs("logs", {}, 5, 300)) == []
    taken = [one for one in fake.ranges if one[1] - one[0] + 1 <= 60]
    assert [number for first, last in taken for number in range(first, last + 1)] == list(
        range(5, 301)
    )


def test_a_range_that_ends_before_it_begins__asks_nothing(node: Node, fake: FakeNode) -> None:
    assert list(node.logs("logs", {}, 6, 5)) == []
    assert fake.ranges == []

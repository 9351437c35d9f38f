"""Batches that shrink when a node refuses them, and a node that is away is told as such.

The node is a transport in memory.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from api.client.verify.findings import Report, UncheckedError
from api.client.verify.node import Node
from core.chain.nodes import Nodes
from tests.node_transport import in_threads

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
    garbled: Any = None  # what it says in place of a block
    timestamp: str = "0x1"
    ranges: list[tuple[int, int]] = field(default_factory=list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        calls = json.loads(request.read())
        if isinstance(calls, dict):
            is_taken = self.most > 0
            return (
                httpx.Response(200, json=self._answer(calls)) if is_taken else httpx.Response(413)
            )
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
        if self.garbled is not None:
            return answer | {"result": self.garbled}
        block = {
            "number": number,
            "hash": HASH,
            "parentHash": HASH,
            "timestamp": self.timestamp,
            "logsBloom": BLOOM,
            "transactions": [],
        }
        return answer | {"result": block}


@pytest.fixture
def fake() -> FakeNode:
    return FakeNode()


@pytest.fixture
def node(fake: FakeNode) -> Iterator[Node]:
    rpc = Nodes(["http://node"], transport=in_threads(fake), sleep=lambda s: None, calls_per_s=1e6)
    yield Node([rpc], FACTORY, lambda part, done, of: None, Report(), 10_000)
    rpc.close()


def test_batches__grow_to_300_calls(node: Node, fake: FakeNode) -> None:
    assert len(node.blocks(range(1_000))) == 1_000
    assert fake.sizes[:2] == [32, 128]
    assert sorted(fake.sizes[2:]) == [240, 300, 300]  # the last ones are asked at once


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


@pytest.mark.parametrize(
    "garbled",
    [
        [],
        "0x1",
        {},
        {"number": "0x1"},
        {"number": 1, "hash": None, "parentHash": HASH, "timestamp": "0x1", "transactions": []},
        {"number": "0x" + "f" * 70, "hash": HASH, "parentHash": HASH, "timestamp": "0x1"},
    ],
    ids=["list", "text", "empty", "cut", "wrong types", "large"],
)
def test_an_answer_of_another_form__leaves_the_part_unchecked(
    node: Node, fake: FakeNode, garbled: Any
) -> None:
    fake.garbled = garbled
    with pytest.raises(UncheckedError, match="blocks"):
        node.blocks([1])


def test_another_block_than_was_asked_for__is_none(node: Node, fake: FakeNode) -> None:
    fake.garbled = {
        "number": "0x2",
        "hash": HASH,
        "parentHash": HASH,
        "timestamp": "0x1",
        "logsBloom": BLOOM,
        "transactions": [],
    }
    assert node.blocks([1]) == {}


def test_more_calls_than_allowed__are_not_made(fake: FakeNode) -> None:
    rpc = Nodes(["http://node"], transport=in_threads(fake), sleep=lambda s: None, calls_per_s=1e6)
    node = Node([rpc], FACTORY, lambda part, done, of: None, Report(), 100)
    with pytest.raises(UncheckedError, match=r"more than 100 calls .* --max-calls allows more"):
        node.blocks(range(1_000))
    assert sum(fake.sizes) == 32
    rpc.close()


def nodes_of(fakes: list[FakeNode], report: Report) -> Node:
    rpcs = [
        Nodes(
            [f"http://user:secret@node{place}/key"],
            transport=in_threads(fake),
            sleep=lambda s: None,
        )
        for place, fake in enumerate(fakes, start=1)
    ]
    return Node(rpcs, FACTORY, lambda part, done, of: None, report, 10_000)


def test_a_node_that_the_others_contradict__is_named_without_its_key() -> None:
    report = Report()
    node = nodes_of([FakeNode(timestamp="0x2"), FakeNode(), FakeNode()], report)
    assert {block.at for block in node.blocks(range(40)).values()} == {1}
    assert [(one.name, one.text) for one in report.findings] == [
        ("nodes.differ", "blocks: node1:80 contradicts node2:80, node3:80")
    ]


def test_of_two_nodes__both_are_named_and_the_first_is_used() -> None:
    report = Report()
    node = nodes_of([FakeNode(timestamp="0x2"), FakeNode()], report)
    assert node.blocks([1])[1].at == 2
    assert [one.text for one in report.findings] == ["blocks: node2:80 contradicts node1:80"]


def test_a_node_that_is_away_beside_one_that_answers__leaves_the_part_unchecked() -> None:
    with pytest.raises(UncheckedError, match="blocks"):
        nodes_of([FakeNode(), FakeNode(most=0)], Report()).blocks([1, 2])

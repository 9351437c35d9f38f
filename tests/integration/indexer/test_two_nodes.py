"""Two nodes of one chain, the better one wrong: the other one's answers are taken, and never a
mixture.
"""

import json
from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import httpx
import pytest

from core.chain.errors import RpcRefusedError, RpcUnreachableError
from core.chain.nodes import Nodes
from core.mandate.chain.reader import VaultReader
from indexer.chain import tip
from indexer.chain.fetch import BlockContradictionError
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.conftest import Follower, Issued
from tests.node_transport import in_threads

Working = tuple[Issued, str]


class TwoNodes(httpx.BaseTransport):
    """Hosts `first` and `second` are the same anvil; what `first` says may be wrong."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._real = httpx.HTTPTransport()
        self.asked: list[str] = []
        self.head: str | None = None  # first's latest block; None: the chain's
        self.receipts: str = "whole"  # or null, cut, dead, refused

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body, is_first = json.loads(request.content), request.url.host == "first"
        self.asked.append(request.url.host)
        if is_first and isinstance(body, dict):
            if body["method"] == "eth_getBlockReceipts" and self.receipts == "dead":
                raise httpx.ConnectError("refused")
            if (
                body["method"] == "eth_getBlockByNumber"
                and body["params"][0] == "latest"
                and self.head is not None
            ):
                body["params"][0] = self.head
        answer = self._sent(body)
        if is_first and isinstance(body, dict):
            answer = self._said(body, answer)
        return httpx.Response(200, json=answer)

    def _said(self, body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
        """What first makes of a single call's answer."""
        if body["method"] == "eth_getBlockReceipts" and self.receipts == "refused":
            return {
                "id": body["id"],
                "error": {
                    "code": -32601,
                    "message": "the method eth_getBlockReceipts does not exist/is not available",
                },
            }
        if body["method"] == "eth_getBlockReceipts" and self.receipts != "whole":
            answer["result"] = None if self.receipts == "null" else answer["result"][1:]
        return answer

    def _sent(self, body: Any) -> Any:
        response = self._real.handle_request(httpx.Request("POST", self._url, json=body))
        return json.loads(response.read())

    def close(self) -> None:
        self._real.close()


@pytest.fixture
def nodes(follower: Follower, working: Working) -> Iterator[TwoNodes]:
    """The follower reads through both from here on; its cursor is the head."""
    wire = TwoNodes(follower.deployed.anvil.url)
    rpc = Nodes(["http://first", "http://second"], transport=in_threads(wire))
    follower.restart(reader=VaultReader(rpc, follower.deployed.contracts))
    follower.tip.round()
    assert set(wire.asked) == {"first"}
    yield wire
    rpc.close()


def hosts_of_a_round(nodes: TwoNodes, follower: Follower) -> set[str]:
    nodes.asked.clear()
    follower.tip.round()
    return set(nodes.asked)


@pytest.mark.parametrize("below", [0, 1])
def test_the_same_head_and_a_lower_one__are_waited_with(
    follower: Follower, nodes: TwoNodes, below: int
) -> None:
    """Behind one URL stand machines of several heights."""
    nodes.head = hex(follower.tip.cursor.number - below)
    assert hosts_of_a_round(nodes, follower) == {"first"}
    assert hosts_of_a_round(nodes, follower) == {"first"}


def test_the_same_head_for_too_long__the_other_is_asked(
    follower: Follower, nodes: TwoNodes, working: Working, monkeypatch: pytest.MonkeyPatch
) -> None:
    mandate, vault = working
    monkeypatch.setattr(tip, "STALE", timedelta(0))
    nodes.head = hex(follower.tip.cursor.number)
    follower.deployed.buy(vault, USDC)
    assert hosts_of_a_round(nodes, follower) == {"first"}
    assert hosts_of_a_round(nodes, follower) == {"second"}
    assert follower.story(mandate)[-1] == "move"


@pytest.mark.parametrize(
    ("receipts", "error"),
    [
        ("null", None),
        ("cut", BlockContradictionError),
        ("dead", RpcUnreachableError),
        ("refused", RpcRefusedError),
    ],
)
def test_receipts_that_are_wrong__end_the_round_unwritten_and_the_next_asks_the_other(
    follower: Follower,
    nodes: TwoNodes,
    working: Working,
    receipts: str,
    error: type[Exception] | None,
) -> None:
    mandate, vault = working
    follower.deployed.buy(vault, USDC)
    nodes.receipts = receipts
    nodes.asked.clear()
    with nullcontext() if error is None else pytest.raises(error):
        follower.tip.round()
    assert (set(nodes.asked), follower.story(mandate)[-1]) == ({"first"}, "deposit")
    assert hosts_of_a_round(nodes, follower) == {"second"}
    assert follower.story(mandate)[-1] == "move"

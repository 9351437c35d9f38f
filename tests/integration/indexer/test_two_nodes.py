"""Two nodes of one chain, the better one wrong: the other one's answers are taken, and never a mixture."""

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import httpx
import pytest

from core.chain.reader import ChainReader
from core.chain.rpc import Rpc, RpcUnreachableError
from indexer.chain import tip
from indexer.chain.fetch import BlockContradictionError, BlockUnavailableError
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.conftest import Follower, Issued

Working = tuple[Issued, str]


class TwoNodes(httpx.BaseTransport):
    """Hosts `first` and `second` are the same anvil; what `first` says may be wrong."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._real = httpx.HTTPTransport()
        self.asked: list[str] = []
        self.head: str | None = None  # first's latest block; None: the chain's
        self.receipts: str = "whole"  # or null, cut, dead

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body, is_first = json.loads(request.content), request.url.host == "first"
        self.asked.append(request.url.host)
        if is_first and isinstance(body, dict):
            if body["method"] == "eth_getBlockReceipts" and self.receipts == "dead":
                raise httpx.ConnectError("refused")
            if body["method"] == "eth_getBlockByNumber" and body["params"][0] == "latest" and self.head is not None:
                body["params"][0] = self.head
        answer = self._sent(body)
        if is_first and isinstance(body, dict) and body["method"] == "eth_getBlockReceipts" and self.receipts != "whole":
            answer["result"] = None if self.receipts == "null" else answer["result"][1:]
        return httpx.Response(200, json=answer)

    def _sent(self, body: Any) -> Any:
        response = self._real.handle_request(httpx.Request("POST", self._url, json=body))
        return json.loads(response.read())

    def close(self) -> None:
        self._real.close()


@pytest.fixture
def nodes(follower: Follower, working: Working) -> Iterator[TwoNodes]:
    """The follower reads through both from here on; its cursor is the head."""
    wire = TwoNodes(follower.deployed.anvil.url)
    rpc = Rpc(["http://first", "http://second"], transport=wire)
    follower.restart(reader=ChainReader(rpc, follower.deployed.contracts))
    follower.tip.round()
    assert set(wire.asked) == {"first"}
    yield wire
    rpc.close()


def hosts_of_a_round(nodes: TwoNodes, follower: Follower) -> set[str]:
    nodes.asked.clear()
    follower.tip.round()
    return set(nodes.asked)


def test_a_lower_head__is_a_lagging_node_and_the_next_round_asks_the_other(follower: Follower, nodes: TwoNodes, working: Working) -> None:
    mandate, vault = working
    follower.deployed.buy(vault, USDC)
    nodes.head = hex(follower.tip.cursor.number - 1)
    assert hosts_of_a_round(nodes, follower) == {"first"}
    assert hosts_of_a_round(nodes, follower) == {"second"}
    assert follower.story(mandate)[-1] == "move"


def test_the_same_head__is_no_lag(follower: Follower, nodes: TwoNodes) -> None:
    nodes.head = hex(follower.tip.cursor.number)
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
    ("receipts", "error"), [("null", BlockUnavailableError), ("cut", BlockContradictionError), ("dead", RpcUnreachableError)]
)
def test_receipts_that_are_wrong__end_the_round_unwritten_and_the_next_asks_the_other(
    follower: Follower, nodes: TwoNodes, working: Working, receipts: str, error: type[Exception]
) -> None:
    mandate, vault = working
    follower.deployed.buy(vault, USDC)
    nodes.receipts = receipts
    nodes.asked.clear()
    with pytest.raises(error):
        follower.tip.round()
    assert (set(nodes.asked), follower.story(mandate)[-1]) == ({"first"}, "deposit")
    assert hosts_of_a_round(nodes, follower) == {"second"}
    assert follower.story(mandate)[-1] == "move"

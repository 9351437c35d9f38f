"""Reported transfers where the first of two nodes lies of a receipt, refuses it or lacks it."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx
import pytest

from core.chain.bloom import bloom_of
from core.chain.nodes import Nodes
from core.mandate.chain.reader import VaultReader
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.conftest import Follower
from tests.integration.indexer.test_deposits import Watched
from tests.node_transport import in_threads
from tests.personas import AGENT, STRANGER
from tests.raw_logs import log_of


@pytest.fixture
def watched(follower: Follower) -> Watched:
    return Watched(follower)


class Liar(httpx.BaseTransport):
    """Hosts `first` and `second` are the same anvil; `first` passes the receipt of one transaction
    through `lie`.
    """

    def __init__(self, url: str, tx_hash: str, lie: Callable[[dict[str, Any]], Any]) -> None:
        self._url, self._tx_hash, self._lie = url, tx_hash, lie
        self._real = httpx.HTTPTransport()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        calls = body if isinstance(body, list) else [body]
        answers = json.loads(
            self._real.handle_request(httpx.Request("POST", self._url, json=calls)).read()
        )
        lied = {
            call["id"]
            for call in calls
            if call["method"] == "eth_getTransactionReceipt" and call["params"] == [self._tx_hash]
        }
        for answer in answers:
            if request.url.host == "first" and answer["id"] in lied:
                answer["result"] = self._lie(answer["result"])
        return httpx.Response(200, json=answers if isinstance(body, list) else answers[0])

    def close(self) -> None:
        self._real.close()


def paying(to: str, amount: int) -> Callable[[dict[str, Any]], Any]:
    """The receipt says that its first transfer paid `to`; its bloom fits."""

    def lie(receipt: dict[str, Any]) -> dict[str, Any]:
        log = receipt["logs"][0]
        log["topics"][2], log["data"] = "0x" + to[2:].lower().rjust(64, "0"), f"0x{amount:064x}"
        receipt["logsBloom"] = f"0x{bloom_of([log_of(one) for one in receipt['logs']]):0512x}"
        return receipt

    return lie


@pytest.mark.slow
@pytest.mark.parametrize(
    "lie",
    [paying(AGENT.address, 9 * USDC), lambda receipt: {**receipt, "logs": []}, lambda receipt: 5],
)
def test_a_node_that_lies_of_a_transfer__confirms_nothing_and_the_other_reports_go_on(
    watched: Watched, lie: Any
) -> None:
    """Somebody else was paid 5 USDC. The node says that it was the agent, and 9."""
    watched.link_since(watched.now - timedelta(hours=1))
    watched.make_safe()
    elsewhere, mine = watched.pay(5 * USDC, STRANGER.address), watched.pay(6 * USDC)
    watched.report(elsewhere, 9 * USDC)
    watched.report(mine, 6 * USDC)
    watched.make_safe()
    rpc = Nodes(
        ["http://first", "http://second"],
        transport=in_threads(Liar(watched.chain.anvil.url, elsewhere, lie)),
    )
    watched.follower.restart(reader=VaultReader(rpc, watched.chain.contracts))
    try:
        watched.look()
        assert watched.status(elsewhere)[0] != "confirmed"
        watched.look()
        assert [watched.status(one) for one in (mine, elsewhere)] == [
            ("confirmed", None),
            ("failed", "contradicted"),
        ]
        assert rpc.stats()[0].failures["distrust: contradicts"] == 1
    finally:
        rpc.close()


@pytest.mark.slow
def test_a_receipt_with_an_altered_amount_of_a_payment_that_we_keep__is_not_believed(
    watched: Watched,
) -> None:
    watched.link_since(watched.now - timedelta(hours=1))
    watched.make_safe()
    mine = watched.pay(6 * USDC)
    watched.report(mine, 60 * USDC)
    watched.make_safe()
    rpc = Nodes(
        ["http://first", "http://second"],
        transport=in_threads(Liar(watched.chain.anvil.url, mine, paying(AGENT.address, 60 * USDC))),
    )
    watched.follower.restart(reader=VaultReader(rpc, watched.chain.contracts))
    try:
        assert watched.look() == []
        watched.look()
        assert watched.status(mine) == ("failed", "contradicted")
    finally:
        rpc.close()


@pytest.mark.parametrize(
    "lie", [paying(STRANGER.address, USDC), lambda one: {**one, "blockHash": "0x" + "12" * 32}]
)
def test_a_first_node_that_is_wrong_about_a_receipt__does_not_hold_its_report(
    watched: Watched, lie: Any
) -> None:
    """It was asked again each minute; erigon 15334: a receipt of the block before a reorg."""
    mine = watched.pay(6 * USDC)
    watched.report(mine, 6 * USDC)
    watched.make_safe()
    wire = in_threads(Liar(watched.chain.anvil.url, mine, lie))
    rpc = Nodes(["http://first", "http://second"], transport=wire, clock=lambda: watched.seconds)
    watched.follower.restart(reader=VaultReader(rpc, watched.chain.contracts))
    for watched.seconds in range(0, 300, 60):
        watched.chain.anvil.mine()
        watched.look()
    rpc.close()
    assert watched.status(mine) == ("confirmed", None)


@pytest.mark.parametrize(
    "lie", [lambda one: None, lambda one: 5], ids=["null for hours", "garbled beside others"]
)
def test_a_receipt_that_only_the_second_node_has__is_found_before_its_report_fails(
    watched: Watched, lie: Any
) -> None:
    """go-ethereum 18448, 19813: no receipt for hours. The report failed, unseen, by the first node's
    word; one that it garbled was asked of it again each minute as long as others were answered.
    """
    mine = watched.pay(6 * USDC)
    watched.report(mine, 6 * USDC)
    watched.pass_time(2 * 3_600)
    wire = in_threads(Liar(watched.chain.anvil.url, mine, lie))
    rpc = Nodes(["http://first", "http://second"], transport=wire, clock=lambda: watched.seconds)
    watched.follower.restart(reader=VaultReader(rpc, watched.chain.contracts))
    for watched.seconds in range(0, 300, 60):
        watched.chain.anvil.mine()
        watched.report(watched.pay(USDC), USDC)
        watched.look()
    rpc.close()
    assert watched.status(mine) == ("confirmed", None)
    assert ("failed", 1, False) not in watched.ledger()

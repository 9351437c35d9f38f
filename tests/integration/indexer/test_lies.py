"""A node whose answers are well formed and wrong: what it leaves out is found before anything is
committed.
"""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

import httpx
import pytest

from core.chain.abi import events_by_topic
from core.chain.bloom import bloom_of
from core.chain.errors import RpcUnreachableError
from core.chain.nodes import Nodes
from core.mandate.chain.reader import VaultReader
from indexer.chain.backfill import WORTH_IT, RangeDisputedError
from indexer.chain.fetch import BlockContradictionError
from indexer.chain.watch import read_watch_list
from tests.integration.chain_fixtures import USDC, Ground
from tests.integration.indexer.conftest import FINAL_SOON, Follower, Issued
from tests.node_transport import in_threads
from tests.personas import KEEPER
from tests.raw_logs import log_of

TOPICS = {event.name: topic for topic, event in events_by_topic().items()}
Working = tuple[Issued, str]
Lie = Callable[[str, Any], Any]  # (method, result) -> what it says instead


@pytest.fixture
def ground(short_epochs: Ground) -> Ground:
    return short_epochs


class Liar(httpx.BaseTransport):
    """Hosts `first` and `second` are the same anvil; the `liar` passes each result through `lie`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._real = httpx.HTTPTransport()
        self.liar = "first"
        self.lie: Lie = lambda method, result: result
        self.most_blocks = 10_000  # a longer range of logs is not answered in time
        self.silent = ""  # the host that answers no range of logs
        self.asked: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        calls = body if isinstance(body, list) else [body]
        self.asked += [request.url.host] * len(calls)
        ranges = [call["params"][0] for call in calls if call["method"] == "eth_getLogs"]
        spans = [int(asked["toBlock"], 16) - int(asked["fromBlock"], 16) + 1 for asked in ranges]
        if any(span > self.most_blocks or request.url.host == self.silent for span in spans):
            raise httpx.ReadTimeout("too long")
        answers = json.loads(
            self._real.handle_request(httpx.Request("POST", self._url, json=calls)).read()
        )
        methods = {call["id"]: call["method"] for call in calls}
        for answer in answers if request.url.host == self.liar else []:
            if "result" in answer:
                answer["result"] = self.lie(methods[answer["id"]], answer["result"])
        return httpx.Response(200, json=answers if isinstance(body, list) else answers[0])

    def close(self) -> None:
        self._real.close()


class LyingNodes:
    def __init__(self, follower: Follower, *hosts: str) -> None:
        self.wire = Liar(follower.deployed.anvil.url)
        self.rpc = Nodes([f"http://{host}" for host in hosts], transport=in_threads(self.wire))
        follower.restart(reader=VaultReader(self.rpc, follower.deployed.contracts))

    def failures(self, node: int = 0) -> dict[str, int]:
        return dict(self.rpc.stats()[node].failures)


@pytest.fixture
def alone(follower: Follower) -> Iterator[LyingNodes]:
    """The follower reads through one node, which lies when it is told to."""
    nodes = LyingNodes(follower, "first")
    yield nodes
    nodes.rpc.close()


@pytest.fixture
def two(follower: Follower) -> Iterator[LyingNodes]:
    nodes = LyingNodes(follower, "first", "second")
    yield nodes
    nodes.rpc.close()


def make_final(follower: Follower) -> None:
    follower.deployed.anvil.mine(FINAL_SOON + WORTH_IT)


def without(wanted: Callable[[dict[str, Any]], bool]) -> Lie:
    """eth_getLogs leaves out the logs that are `wanted`; receipts are true."""
    return lambda method, result: (
        [log for log in result if not wanted(log)] if method == "eth_getLogs" else result
    )


def is_event(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda log: log["topics"][0] == TOPICS[name]


def hidden(result: list[dict[str, Any]], topic: str) -> list[dict[str, Any]]:
    """Receipts without the logs of a topic: counted again, each bloom that of what is left."""
    index = 0
    for receipt in result:
        receipt["logs"] = [log for log in receipt["logs"] if log["topics"][0] != topic]
        for log in receipt["logs"]:
            log["logIndex"] = hex(index)
            index += 1
        receipt["logsBloom"] = f"0x{bloom_of([log_of(log) for log in receipt['logs']]):0512x}"
    return result


def lived(follower: Follower) -> Working:
    """A vault with four purchases, another agent and a stop, all of it final."""
    mandate = follower.issue()
    vault = follower.deployed.create_vault(mandate.terms)
    for _ in range(4):
        follower.deployed.buy(vault, 25 * USDC)
    make_final(follower)
    return mandate, vault


WHOLE = ["signed", "vault_created", "deposit", "move", "move", "move", "move"]


def test_at_the_tip__a_log_that_is_left_out_of_well_formed_receipts__is_missed_and_the_other_node_has_it(
    follower: Follower, working: Working, two: LyingNodes
) -> None:
    mandate, vault = working
    follower.deployed.buy(vault, USDC)
    two.wire.lie = lambda method, result: (
        hidden(result, TOPICS["Executed"]) if method == "eth_getBlockReceipts" else result
    )
    with pytest.raises(BlockContradictionError, match="a log is missing or invented"):
        follower.tip.round()
    assert follower.story(mandate)[-1] == "deposit"
    follower.tip.round()
    assert follower.story(mandate)[-1] == "move"
    assert two.failures() == {"distrust: contradicts": 1}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("hash", None),
        ("logsBloom", None),
        ("number", 5),
        ("timestamp", "0x" + "9" * 90),
        ("transactions", "none"),
    ],
)
def test_at_the_tip__a_garbled_header__is_asked_of_the_other_node_in_the_same_round(
    follower: Follower, working: Working, two: LyingNodes, field: str, value: Any
) -> None:
    mandate, vault = working
    follower.tip.round()
    follower.deployed.buy(vault, USDC)
    two.wire.lie = lambda method, result: (
        {**result, field: value} if method == "eth_getBlockByNumber" else result
    )
    follower.tip.round()
    assert follower.story(mandate)[-1] == "move"
    assert two.failures() == {"garbled": 1}


@pytest.mark.parametrize("field", ["status", "logs", "logsBloom", "from", "to"])
def test_at_the_tip__a_receipt_without_a_field__is_the_nodes_failure(
    follower: Follower, working: Working, two: LyingNodes, field: str
) -> None:
    mandate, vault = working
    follower.tip.round()
    follower.deployed.buy(vault, USDC)
    lacking = lambda result: [  # noqa: E731
        {key: value for key, value in one.items() if key != field} for one in result
    ]  # a lie
    two.wire.lie = lambda method, result: (
        lacking(result) if method == "eth_getBlockReceipts" else result
    )
    with pytest.raises(RpcUnreachableError):  # pinned: the round is that node's
        follower.tip.round()
    follower.tip.round()
    assert follower.story(mandate)[-1] == "move"
    assert two.failures()["garbled"] == 1


@pytest.mark.parametrize("name", ["AdapterListed", "VaultCreated", "KeeperChanged"])
def test_in_a_range__what_one_of_two_nodes_leaves_out_of_the_factorys_logs__is_taken_from_the_receipts(
    follower: Follower, two: LyingNodes, name: str
) -> None:
    mandate, vault = lived(follower)
    two.wire.lie = without(is_event(name))
    follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)
    with follower.database.read() as session:
        logs = read_watch_list(session, follower.chain)
    assert logs.keeper == KEEPER.address
    assert follower.deployed.contracts["test_venue_adapter"] in logs.adapters
    assert two.failures()["distrust: omits"] >= 1
    assert two.failures(1) == {}


def test_in_a_range__a_second_node_that_leaves_something_out__changes_nothing(
    follower: Follower, two: LyingNodes
) -> None:
    mandate, vault = lived(follower)
    two.wire.liar = "second"
    two.wire.lie = without(is_event("VaultCreated"))
    follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)
    assert two.failures() == {}
    assert two.failures(1) == {"distrust: omits": 1}


def test_in_a_range__receipts_that_lie_as_well__nothing_is_committed_and_the_other_node_is_believed(
    follower: Follower, two: LyingNodes
) -> None:
    mandate, vault = lived(follower)

    def lie(method: str, result: Any) -> Any:
        if method == "eth_getBlockReceipts" and result:
            return hidden(result, TOPICS["VaultCreated"])
        return without(is_event("VaultCreated"))(method, result)

    two.wire.lie = lie
    with pytest.raises(BlockContradictionError, match="a log is missing or invented"):
        follower.catch_up()
    assert follower.story(mandate) == ["signed"]
    assert two.failures()["distrust: contradicts"] >= 1
    follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)


def test_in_a_range__a_second_node_that_does_not_answer__is_waited_for_before_the_first_is_believed(
    follower: Follower, two: LyingNodes
) -> None:
    """One node's word was enough while the other one failed, and nobody asked again."""
    mandate, vault = lived(follower)
    two.wire.lie, two.wire.silent = without(is_event("AdapterListed")), "second"
    with pytest.raises(RangeDisputedError, match="only one node answered for 5 blocks"):
        follower.catch_up()
    assert follower.story(mandate) == ["signed"]
    two.wire.silent = ""
    until = time.monotonic() + 30
    while follower.tip.cursor.hash != follower.head_hash:  # who failed is not asked for a moment
        assert time.monotonic() < until
        time.sleep(0.1)
        with suppress(RangeDisputedError):
            follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)
    with follower.database.read() as session:
        adapters = read_watch_list(session, follower.chain).adapters
    assert follower.deployed.contracts["test_venue_adapter"] in adapters


def test_in_a_range__a_second_node_that_is_away_for_long__is_not_waited_for_any_more(
    follower: Follower, two: LyingNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("indexer.chain.backfill.ALONE", timedelta())
    mandate, vault = lived(follower)
    two.wire.silent = "second"
    follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)


@pytest.mark.slow
def test_ranges_that_do_not_come_in_time__are_halved_and_grow_again(
    follower: Follower, alone: LyingNodes
) -> None:
    mandate, vault = lived(follower)
    alone.wire.most_blocks = 10
    follower.deployed.anvil.mine(100)
    rounds = follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    assert max(one.written for one in rounds if one.written) <= 50
    follower.assert_sound(mandate, vault)


def test_an_honest_node__is_not_distrusted(follower: Follower, alone: LyingNodes) -> None:
    mandate, _ = lived(follower)
    follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    assert alone.failures() == {}

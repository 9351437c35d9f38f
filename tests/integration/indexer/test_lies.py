"""A node whose answers are well formed and wrong: what it leaves out is found before anything is
committed.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from core.chain.abi import events_by_topic
from core.chain.bloom import bloom_of
from core.chain.errors import RpcUnreachableError
from core.chain.nodes import Nodes
from core.chain.results import log_of
from core.mandate.chain.reader import VaultReader
from indexer.chain import completeness
from indexer.chain.backfill import WORTH_IT
from indexer.chain.fetch import BlockContradictionError
from tests.integration.chain_fixtures import USDC, Ground
from tests.integration.indexer.conftest import FINAL_SOON, Follower, Issued

HEAD, ROW = 2 + 5 * 64, 18 * 64  # characters of the lens's answer with positions
TOPICS = {event.name: topic for topic, event in events_by_topic().items()}
Working = tuple[Issued, str]
Lie = Callable[[str, Any], Any]  # (method, result) -> what it says instead


def denied(result: str) -> str:
    """The lens's answer, with no vault in any of its rows."""
    return result[:HEAD] + f"{1:064x}".ljust(ROW, "0") * ((len(result) - HEAD) // ROW)


@pytest.fixture
def ground(short_epochs: Ground) -> Ground:
    return short_epochs


class Liar(httpx.BaseTransport):
    """Hosts `first` and `second` are the same anvil; `first` passes each result through `lie`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._real = httpx.HTTPTransport()
        self.lie: Lie = lambda method, result: result
        self.most_blocks = 10_000  # a longer range of logs is not answered in time
        self.asked: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        calls = body if isinstance(body, list) else [body]
        self.asked += [request.url.host] * len(calls)
        ranges = [call["params"][0] for call in calls if call["method"] == "eth_getLogs"]
        spans = [int(asked["toBlock"], 16) - int(asked["fromBlock"], 16) + 1 for asked in ranges]
        if any(span > self.most_blocks for span in spans):
            raise httpx.ReadTimeout("too long")
        answers = json.loads(
            self._real.handle_request(httpx.Request("POST", self._url, json=calls)).read()
        )
        methods = {call["id"]: call["method"] for call in calls}
        for answer in answers if request.url.host == "first" else []:
            if "result" in answer:
                answer["result"] = self.lie(methods[answer["id"]], answer["result"])
        return httpx.Response(200, json=answers if isinstance(body, list) else answers[0])

    def close(self) -> None:
        self._real.close()


class FakeNodes:
    def __init__(self, follower: Follower, *hosts: str) -> None:
        self.wire = Liar(follower.deployed.anvil.url)
        self.rpc = Nodes([f"http://{host}" for host in hosts], transport=self.wire)
        follower.restart(reader=VaultReader(self.rpc, follower.deployed.contracts))

    def failures(self, node: int = 0) -> dict[str, int]:
        return dict(self.rpc.stats()[node].failures)


@pytest.fixture
def alone(follower: Follower) -> Iterator[FakeNodes]:
    """The follower reads through one node, which lies when it is told to."""
    nodes = FakeNodes(follower, "first")
    yield nodes
    nodes.rpc.close()


@pytest.fixture
def two(follower: Follower) -> Iterator[FakeNodes]:
    nodes = FakeNodes(follower, "first", "second")
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
    follower: Follower, working: Working, two: FakeNodes
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
    follower: Follower, working: Working, two: FakeNodes, field: str, value: Any
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
    follower: Follower, working: Working, two: FakeNodes, field: str
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


@pytest.mark.parametrize("name", ["Executed", "Deposited", "AdapterListed"])
def test_in_a_range__a_kind_of_event_left_out__is_taken_from_the_receipts(
    follower: Follower, alone: FakeNodes, name: str
) -> None:
    mandate, vault = lived(follower)
    alone.wire.lie = without(is_event(name))
    follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)
    assert alone.failures()["distrust: omits"] >= 1


def test_in_a_range__one_execution_left_out__is_taken_from_the_receipts(
    follower: Follower, alone: FakeNodes
) -> None:
    mandate, vault = lived(follower)
    nonce = "0x" + f"{2:064x}"
    alone.wire.lie = without(lambda log: log["topics"][:2] == [TOPICS["Executed"], nonce])
    follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)


def test_in_a_range__a_whole_vault_left_out__is_found_with_all_that_it_did(
    follower: Follower, alone: FakeNodes
) -> None:
    mandate, vault = lived(follower)
    alone.wire.lie = without(
        lambda log: log["topics"][0] in (TOPICS["VaultCreated"], TOPICS["Executed"])
    )
    follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)


def test_in_a_range__everything_of_a_vault_that_was_known_before__is_found_by_blooms(
    follower: Follower, working: Working, alone: FakeNodes
) -> None:
    mandate, vault = working
    follower.deployed.buy(vault, 25 * USDC)
    make_final(follower)
    alone.wire.lie = without(lambda log: log["address"].lower() == vault.lower())
    follower.catch_up()
    assert follower.story(mandate)[3:4] == ["move"]
    follower.assert_sound(mandate, vault)


def test_in_a_range__receipts_that_lie_as_well__nothing_is_committed_and_the_other_node_is_believed(
    follower: Follower, two: FakeNodes
) -> None:
    mandate, vault = lived(follower)
    before = follower.tip.cursor

    def lie(method: str, result: Any) -> Any:
        if method == "eth_getBlockReceipts" and result:
            return hidden(result, TOPICS["Executed"])
        return without(is_event("Executed"))(method, result)

    two.wire.lie = lie
    with pytest.raises(BlockContradictionError, match="a log is missing or invented"):
        follower.tip.round()
    assert (follower.tip.cursor, two.failures()["distrust: contradicts"] >= 1) == (before, True)
    follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)


def test_in_a_range__a_node_that_denies_the_vault_whose_event_it_leaves_out__is_not_believed(
    follower: Follower, two: FakeNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(completeness, "MOST_FALSE", 0.0)  # as on a chain of full blooms
    mandate, vault = lived(follower)
    last = "0x" + f"{3:064x}"
    omits = without(lambda log: log["topics"][:2] == [TOPICS["Executed"], last])
    two.wire.lie = lambda method, result: (
        denied(result) if method == "eth_call" else omits(method, result)
    )
    with pytest.raises(BlockContradictionError, match="no vault stands there"):
        follower.catch_up()
    follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)
    assert two.failures()["distrust: contradicts"] >= 1


def test_in_a_range__no_node_has_the_old_state__gaps_between_events_are_found_still(
    follower: Follower, alone: FakeNodes
) -> None:
    mandate, vault = lived(follower)
    nonce = "0x" + f"{1:064x}"
    alone.wire.lie = without(lambda log: log["topics"][:2] == [TOPICS["Executed"], nonce])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VaultReader, "vault_positions", lambda self, vaults, at: [None] * len(vaults))
        follower.tip.round()
    alone.wire.lie = lambda method, result: result
    follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    follower.assert_sound(mandate, vault)


@pytest.mark.slow
def test_ranges_that_do_not_come_in_time__are_halved_and_grow_again(
    follower: Follower, alone: FakeNodes
) -> None:
    mandate, vault = lived(follower)
    alone.wire.most_blocks = 10
    follower.deployed.anvil.mine(100)
    rounds = follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    assert max(one.written for one in rounds if one.written) <= 50
    follower.assert_sound(mandate, vault)


def test_an_honest_node__is_not_distrusted(follower: Follower, alone: FakeNodes) -> None:
    mandate, _ = lived(follower)
    follower.catch_up()
    assert follower.story(mandate)[:7] == WHOLE
    assert alone.failures() == {}

"""Which node is asked, what becomes of what it says, and what is known of it."""

import json
import threading
import time
from dataclasses import replace
from itertools import pairwise
from typing import Any

import httpx
import pytest

from core.chain import results
from core.chain.blocks import BlockHeader
from core.chain.errors import (
    RpcRefusedError,
    RpcRevertedError,
    RpcUnreachableError,
    WrongChainError,
)
from core.chain.node import CANNOT_S, STANDS_STILL_S
from core.chain.nodes import BEHIND_S, DEADLINE_S, REST_S, Nodes, Request
from core.chain.provider import ANSWER_S
from tests.each import each
from tests.unit.core.chain.scripted import Script, World, good, refusing, status, unreachable

# Failing over


@each(
    "failing",
    [
        unreachable,
        status(503),
        status(429),
        status(302, {"Location": "https://elsewhere"}),
        lambda body: httpx.Response(200, text="<html>"),
        lambda body: httpx.Response(200, json=[]),
        lambda body: httpx.Response(200, json={"id": 10**9, "result": "of another call"}),
        refusing(code=-32005, message="limit exceeded"),
        refusing(code=-32603, message="internal error"),
        refusing(code=-32601, message="method not found"),
    ],
)
def test_a_node_that_fails__is_passed_over_and_asked_again_later(failing: Script) -> None:
    world = World("a", "b")
    world.nodes["a"] = failing
    assert world.call() == "web3_clientVersion"
    world.call()
    world.now += CANNOT_S + 0.01
    world.call()
    assert world.order == ["a", "b", "b", "a", "b"]
    assert sum(world.stats("a").failures.values()) == 2


def test_all_nodes_fail__the_error_tells_why_and_no_address() -> None:
    world = World("a", "b", node=unreachable)
    world.nodes["b"] = status(502)
    with pytest.raises(RpcUnreachableError) as raised:
        world.call()
    assert str(raised.value) == "web3_clientVersion: no node answered (ConnectError; HTTP 502)"


def test_failures_in_a_row__rest_longer_each_time_with_jitter_and_an_answer_ends_it() -> None:
    world = World("a", "b")
    world.nodes["a"] = unreachable
    for _ in range(160):
        world.call()
        world.now += 0.125
    at = [at for name, at, _ in world.asked if name == "a"]
    rests = [later - earlier for earlier, later in pairwise(at)]
    assert [
        least <= rest <= least + 0.4 for least, rest in zip((1, 2, 4, 8), rests, strict=True)
    ] == [True] * 4
    world.nodes["a"] = good
    world.now += 20
    world.call()
    assert not world.stats("a").is_open


def test_all_rest__each_is_asked_all_the_same() -> None:
    world = World("a", "b", node=unreachable)
    for _ in range(2):
        with pytest.raises(RpcUnreachableError):
            world.call()
    assert (sorted(world.order), world.slept) == (["a", "a", "b", "b"], [])
    world.nodes["b"] = good
    world.call()
    assert [node.is_open for node in world.rpc.stats()] == [True, False]


def test_a_method_that_a_node_lacks__is_asked_of_others_and_the_rest_of_it() -> None:
    world = World("a", "b")
    world.nodes["a"] = lambda body: (
        refusing(code=-32601, message="no such method")(body)
        if body["method"] == "eth_getProof"
        else good(body)
    )
    for _ in range(2):
        world.rpc.call("eth_getProof")
        world.call()
    assert world.order == ["a", "b", "a", "b", "a"]


@pytest.mark.parametrize("tag", ["safe", "finalized"])
def test_a_tag_that_a_node_lacks__is_an_answer_and_asked_of_others_the_next_time(tag: str) -> None:
    world = World("a", "b")
    world.nodes["a"] = refusing(code=-32000, message="unknown block")
    world.nodes["b"] = lambda body: httpx.Response(200, json={"id": body["id"], "result": None})
    with pytest.raises(RpcRefusedError):
        world.rpc.call("eth_getBlockByNumber", [tag, False])
    assert world.rpc.call("eth_getBlockByNumber", [tag, False]) is None
    assert world.order == ["a", "b"]
    assert world.stats("a").failures == {}


def test_a_revert__is_raised_at_once_with_its_data() -> None:
    for error in (
        {"code": 3, "message": "execution reverted", "data": "0x1234"},
        {"code": -32000, "message": "execution reverted", "data": {"data": "0x1234"}},
        {"code": -32603, "message": "VM Exception: revert", "data": "0x1234"},
    ):
        world = World("a", "b", node=refusing(**error))
        with pytest.raises(RpcRevertedError) as raised:
            world.rpc.call("eth_call", [{}])
        assert raised.value.revert_data == b"\x12\x34"
        assert world.order == ["a"]


def test_a_node_that_hangs__leaves_the_others_their_time() -> None:
    world, allowed_s = World("a", "b", "c", "d"), list[float]()

    def hang(request: httpx.Request) -> httpx.Response:
        allowed_s.append(request.extensions["timeout"]["read"])
        if request.url.host == "d":
            return good(json.loads(request.content))
        world.now += allowed_s[-1]
        raise httpx.ReadTimeout("hangs")

    world.rpc._client._transport = httpx.MockTransport(hang)
    assert world.call() == "web3_clientVersion"
    assert allowed_s == pytest.approx([7.5] * 4, abs=0.1)
    assert world.stats("a").failures == {"timeout": 1}
    assert 3 * ANSWER_S <= DEADLINE_S


# Batches


def test_a_batch__comes_back_in_the_order_asked_and_an_empty_one_asks_nobody() -> None:
    world = World("a")
    assert world.rpc.batch([("one", []), ("two", []), ("three", [])]) == ["one", "two", "three"]
    assert world.rpc.batch([]) == []
    assert len(world.asked) == 1


def garbled(*said: dict[str, Any]) -> Script:
    """Of a batch: these ids, counted from its first."""
    return lambda body: httpx.Response(
        200, json=[{"id": body[0]["id"] + one["id"], "result": "0x"} for one in said]
    )


@each(
    "node",
    [
        garbled({"id": 0}),
        garbled({"id": 0}, {"id": 0}),
        garbled({"id": 0}, {"id": 1}, {"id": 1}),
        garbled({"id": 0}, {"id": 7}),
        lambda body: httpx.Response(200, json={"id": body[0]["id"], "result": "0x"}),
    ],
)
def test_ids_that_are_left_out_doubled_or_anothers__go_to_the_next_node(node: Script) -> None:
    world = World("a", "b")
    world.nodes["a"] = node
    assert world.rpc.batch([("one", []), ("two", [])]) == ["one", "two"]
    assert world.stats("a").failures == {"garbled": 1}


def taking(most: int, *, refusal: Script) -> Script:
    return lambda body: refusal(body) if isinstance(body, list) and len(body) > most else good(body)


TOO_LARGE: list[Script] = [
    # geth
    lambda body: httpx.Response(
        200, json=[{"id": body[0]["id"], "error": {"code": -32600, "message": "batch too large"}}]
    ),
    # Nethermind
    refusing(code=-32005, message="Batch size limit exceeded"),
    refusing(code=-32007, message="maximum 100 calls in 1 batch"),
    status(413),
]


@each("refusal", TOO_LARGE)
@each("most", [1_000, 100, 1])
def test_a_batch_of_450_calls__is_answered_whatever_the_node_takes(
    refusal: Script, most: int
) -> None:
    world = World("a", node=taking(most, refusal=refusal), calls_per_s=100_000)
    requests = [(f"m{n}", []) for n in range(450)]
    assert world.rpc.batch(requests) == [method for method, _ in requests]
    assert world.stats("a").failures == {}
    world.asked.clear()
    world.rpc.batch(requests)
    assert len(world.asked) <= 2 * 450 // min(most, 400) + 1  # it is learned


def test_parts_of_one_batch__come_from_one_node() -> None:
    world = World("a", "b", calls_per_s=100_000)

    def named(name: str, most: int) -> Script:
        def answer(body: Any) -> httpx.Response:
            if sum(host == name for host in world.order) > most:
                return httpx.Response(500)
            return httpx.Response(200, json=[{"id": one["id"], "result": name} for one in body])

        return answer

    world.nodes = {"a": named("a", 1), "b": named("b", 9)}
    assert set(world.rpc.batch([("m", [])] * 1_001)) == {"b"}


def test_one_call_that_no_node_answers__stands_in_its_place_beside_the_others() -> None:
    def one_bad(body: Any) -> httpx.Response:
        return httpx.Response(
            200,
            json=[
                {"id": one["id"], "result": 5 if at == 1 else "0x01"} for at, one in enumerate(body)
            ],
        )

    world = World("a", "b", node=one_bad)
    requests: list[Request] = [("eth_call", [{}, "latest"])] * 3
    parse = [results.code] * 3
    first, second, third = world.rpc.batch_settled(requests, parse)
    assert (first, type(second), third) == (b"\x01", RpcRefusedError, b"\x01")
    assert world.order == ["a", "b"]
    with pytest.raises(RpcUnreachableError):
        world.rpc.batch(requests, parse)


def test_each_nodes_word__is_had_without_those_that_fail() -> None:
    world = World("a", "b", "c", calls_per_s=100_000)
    world.nodes |= {"b": status(500), "c": taking(100, refusal=TOO_LARGE[0])}
    said = world.rpc.batch_of_each([("m", [])] * 300, 1.0)
    assert said == {"a:8545": ["m"] * 300, "c:8545": ["m"] * 300}
    world.asked.clear()
    assert world.rpc.batch_of_each([("m", [])], 1.0, ["a:8545", "b:8545"]) == {"a:8545": ["m"]}
    assert world.order == ["a"]  # b failed a moment ago


# One node a block


def test_a_node_that_hangs__is_waited_for_a_moment_and_not_asked_anew_until_it_is_through() -> None:
    world, freed = World("a", "b"), threading.Event()

    def hangs(body: Any) -> httpx.Response:
        freed.wait(10)
        return good(body)

    world.nodes["a"] = hangs
    ask: list[Request] = [("web3_clientVersion", [])]
    found = [list(world.rpc.batch_of_each(ask, 5, others_s=0.05)) for _ in range(3)]
    assert found == [["b:8545"]] * 3
    assert sorted(world.order) == ["a", "b", "b", "b"]
    freed.set()
    while list(world.rpc.batch_of_each(ask, 5)) == ["b:8545"]:
        pass
    assert world.order.count("a") == 2


def test_pinned__the_first_that_answers_is_kept_though_a_better_one_is_back() -> None:
    world = World("a", "b")
    world.nodes["a"] = unreachable
    with world.rpc.pinned():
        assert world.rpc.pinned_name is None
        with world.rpc.pinned():
            world.call()
        assert world.rpc.pinned_name == "b:8545"
        world.nodes["a"] = good
        world.now += 60
        world.call()
        other = threading.Thread(target=world.call)
        other.start()
        other.join()
        world.rpc.batch_of_others([("m", [])], 1.0)
    assert world.rpc.pinned_name is None
    assert world.order == ["a", "b", "b", "a", "a"]


@pytest.mark.parametrize(("later_s", "first"), [(REST_S - 0.1, "b"), (REST_S + 0.1, "a")])
def test_pinned__its_failure_is_raised_and_the_next_block_begins_with_another(
    later_s: float, first: str
) -> None:
    world = World("a", "b")
    with world.rpc.pinned():
        world.call()
        world.nodes["a"] = unreachable
        with pytest.raises(RpcUnreachableError):
            world.call()
    world.nodes["a"] = good
    world.now += later_s
    world.call()
    assert world.order == ["a", "a", first]


def test_pinned__a_revert_is_an_answer_and_pins_too() -> None:
    world = World("a", "b")
    world.nodes["a"] = refusing(code=3, message="execution reverted")
    with world.rpc.pinned():
        with pytest.raises(RpcRefusedError):
            world.rpc.call("eth_call", [{}])
        assert world.rpc.pinned_name == "a:8545"


def test_distrust__the_block_goes_on_and_the_next_begins_with_another_until_it_rested() -> None:
    world = World("a", "b")
    world.rpc.distrust("lags")  # nobody's
    with world.rpc.pinned():
        world.call()
        world.rpc.distrust("lags")
        world.call()
    world.now += REST_S - 0.1
    world.call()
    world.now += 0.1
    world.call()
    assert world.order == ["a", "a", "b", "a"]
    assert world.stats("a").failures == {"distrust: lags": 1}


# What is known of a node


def header(number: int, branch: str = "a", *, parent: str | None = None) -> BlockHeader:
    """`parent`: the branch of its parent, if that is another."""
    before = f"0x{parent or branch}{number - 1:063x}"
    return BlockHeader(number, f"0x{branch}{number:063x}", before, 0, 0, (), 0)


def test_the_age_of_a_head__counts_since_its_height_last_rose() -> None:
    world = World("a")
    for number, age_s in ((100, 0), (100, 2), (99, 4), (101, 0), (98, 2), (101, 4), (104, 0)):
        world.rpc.saw("a:8545", header(number))
        assert world.rpc.head_age_s("a:8545") == age_s
        world.now += 2


def test_a_head_far_behind_another_nodes__is_no_rise_until_it_has_caught_up() -> None:
    world = World("a", "b")
    for number, behind_s, age_s in ((8, 0, 0), (9, BEHIND_S + 1, 2), (12, BEHIND_S, 0)):
        world.rpc.saw("a:8545", replace(header(100 + number), timestamp=1_000))
        world.rpc.saw("b:8545", replace(header(number), timestamp=1_000 - behind_s))
        assert world.rpc.head_age_s("b:8545") == age_s
        world.now += 2


def test_a_block_of_tomorrow__makes_no_other_node_late() -> None:
    world, now_s = World("a", "b"), int(time.time())
    world.now += 2
    world.rpc.saw("a:8545", replace(header(100), timestamp=now_s + 86_400))
    world.rpc.saw("b:8545", replace(header(90), timestamp=now_s - BEHIND_S + 5))
    assert world.rpc.head_age_s("b:8545") == 0


def test_a_block_of_tomorrow_once__makes_no_node_of_a_chain_that_lags_late_for_ever() -> None:
    world, long_ago_s = World("a", "b"), int(time.time()) - 600
    world.rpc.saw("a:8545", replace(header(100), timestamp=long_ago_s + 86_400))
    world.now += 2
    world.rpc.saw("b:8545", replace(header(90), timestamp=long_ago_s))
    assert world.rpc.head_age_s("b:8545") == 2
    world.rpc.saw("a:8545", replace(header(91), timestamp=long_ago_s + 2))
    world.rpc.saw("b:8545", replace(header(91), timestamp=long_ago_s + 2))
    assert world.rpc.head_age_s("b:8545") == 0


def test_a_head_that_stands_still__gives_way_to_a_lower_one() -> None:
    """An hour ahead was believed for as long as the process ran."""
    world = World("a")
    world.rpc.saw("a:8545", header(1_900))
    for wait_s, number, age_s in ((STANDS_STILL_S - 0.1, 115, 29.9), (0.1, 115, 30), (0, 116, 0)):
        world.now += wait_s
        world.rpc.saw("a:8545", header(number))
        assert world.rpc.head_age_s("a:8545") == pytest.approx(age_s)


def test_a_lower_head_of_another_branch__is_believed_at_once() -> None:
    world = World("a")
    for number in (98, 99, 100):
        world.rpc.saw("a:8545", header(number))
    ages = []
    for one in (header(97, "b", parent="a"), header(98, "b"), header(99, "b")):
        world.now += 2
        world.rpc.saw("a:8545", one)
        ages.append(world.rpc.head_age_s("a:8545"))
    assert ages == [2, 0, 0]


def test_a_known_head__is_no_rise_though_a_lower_one_was_believed_since() -> None:
    """Two backends that stand still, on one branch or on two, once looked alive for ever."""
    for lower in (header(99), header(99, "b")):
        world = World("a")
        world.rpc.saw("a:8545", header(101))
        world.now += STANDS_STILL_S
        for turn in range(1, 4):
            world.rpc.saw("a:8545", lower)
            world.rpc.saw("a:8545", header(101))
            assert world.rpc.head_age_s("a:8545") == turn * STANDS_STILL_S
            world.now += STANDS_STILL_S
        world.rpc.saw("a:8545", header(102))
        assert world.rpc.head_age_s("a:8545") == 0


def numbered(**nodes: Any) -> World:
    """Each node answers every call with this."""

    def says(value: Any) -> Any:
        return (
            value
            if callable(value)
            else lambda body: httpx.Response(
                200,
                json=[{"id": one["id"], "result": value} for one in body]
                if isinstance(body, list)
                else {"id": body["id"], "result": value},
            )
        )

    world = World(*nodes)
    world.nodes = {name: says(value) for name, value in nodes.items()}
    return world


OURS = 84_532


@each("other", [status(500), unreachable, "0x1 or so", None])
def test_a_node_that_does_not_say_its_chain__stays(other: Any) -> None:
    world = numbered(a=hex(OURS), b=other)
    world.rpc.keep_to(OURS)
    assert world.rpc.names == ("a:8545", "b:8545")


def test_a_node_of_another_chain__is_left_out_wherever_it_stands() -> None:
    for chains, names in (
        ({"a": "0x1", "b": hex(OURS)}, ("b:8545",)),
        ({"a": hex(OURS), "b": "0x1", "c": "0x1"}, ("a:8545",)),
    ):
        world = numbered(**chains)
        world.rpc.keep_to(OURS)
        assert world.rpc.names == names


def test_all_of_another_chain__are_refused_with_both_ids() -> None:
    with pytest.raises(WrongChainError, match="the node's chain id is 1, CHAIN_ID is 84532"):
        numbered(a="0x1", b="0x1").rpc.keep_to(OURS)
    with pytest.raises(RpcUnreachableError):
        numbered(a=unreachable, b=unreachable).rpc.keep_to(OURS)


# Statistics


def test_stats__name_host_and_port_and_no_secret() -> None:
    urls = [
        "https://user:secret@one.example/v2/key?k=key",
        "http://two.example:8545",
        "https://one.example/v2/other",
        "one.example/v2/without-a-scheme",
    ]
    names = ("one.example:443", "two.example:8545", "one.example:443#2", "node:80")
    assert Nodes(urls).names == names
    world = World("a", node=unreachable)
    with pytest.raises(RpcUnreachableError) as raised:
        world.call()
    told = str((raised.value, world.rpc.stats()))
    assert "secret" not in told
    assert "key" not in told


def test_stats__count_requests_calls_time_and_failures() -> None:
    world = World("a", "b")

    def slow(body: Any) -> httpx.Response:
        world.now += 0.3
        return good(body)

    world.nodes["a"] = slow
    world.rpc.batch([("one", []), ("two", [])])
    world.nodes["a"] = status(502)
    world.call()
    stats = world.stats("a")
    assert (stats.requests, stats.calls, stats.failures, stats.is_open) == (
        2,
        3,
        {"status": 1},
        True,
    )
    assert stats.seconds == pytest.approx(0.3)
    assert stats.calls_per_s == 1_000

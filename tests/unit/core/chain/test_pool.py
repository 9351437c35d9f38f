"""Which node is asked when, on a clock of the test's own: budget, breaker, one node a block,
statistics.
"""

import json
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chain.provider import ProviderStats
from core.chain.rpc import ANSWER_S, DEADLINE_S, Rpc, RpcRefusedError, RpcUnreachableError
from tests.each import each

Node = Callable[[Any], httpx.Response]


def good(body: Any) -> httpx.Response:
    if isinstance(body, list):
        return httpx.Response(
            200, json=[{"id": one["id"], "result": one["method"]} for one in body]
        )
    return httpx.Response(200, json={"id": body["id"], "result": body["method"]})


def refusing(**error: Any) -> Node:
    return lambda body: httpx.Response(200, json={"id": 1, "error": error})


def limited(headers: dict[str, str] | None = None) -> Node:
    return lambda body: httpx.Response(429, headers=headers)


def unreachable(body: Any) -> httpx.Response:
    raise httpx.ConnectError("refused")


class World:
    """Scripted nodes and a clock that only sleeping and slow answers move."""

    def __init__(
        self, *names: str, node: Node = good, calls_per_s: float = 1_000, burst: float | None = None
    ) -> None:
        self.nodes: dict[str, Node] = dict.fromkeys(names, node)
        self.now = 100.0
        self.asked: list[tuple[str, float, int]] = []
        self.slept: list[float] = []
        self.rpc = Rpc(
            [f"https://user:secret@{name}:8545/v2/key?k=key" for name in names],
            calls_per_s=calls_per_s,
            burst=burst,
            transport=httpx.MockTransport(self._handle),
            clock=lambda: self.now,
            sleep=self._sleep,
        )

    @property
    def order(self) -> list[str]:
        return [name for name, _, _ in self.asked]

    def call(self) -> Any:
        return self.rpc.call("web3_clientVersion")

    def stats(self, name: str) -> ProviderStats:
        return next(stats for stats in self.rpc.stats() if stats.name == f"{name}:8545")

    def _sleep(self, seconds: float) -> None:
        assert seconds >= 0.001, "a busy loop"
        self.slept.append(seconds)
        self.now += seconds

    def _handle(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.asked.append((request.url.host, self.now, len(body) if isinstance(body, list) else 1))
        return self.nodes[request.url.host](body)


# Budget


def test_the_best_node_has_no_token__the_next_is_asked_and_nobody_waits() -> None:
    world = World("a", "b", calls_per_s=1, burst=2)
    for _ in range(4):
        world.call()
    assert (world.order, world.slept) == (["a", "a", "b", "b"], [])


def test_nobody_has_a_token__the_first_to_have_one_is_waited_for_and_asked() -> None:
    world = World("a", "b", calls_per_s=2, burst=1)
    world.call()
    world.now += 0.2
    world.call()
    world.call()
    assert (world.order, world.slept) == (["a", "b", "a"], [pytest.approx(0.3)])
    assert (world.stats("a").budget_waits, world.stats("a").budget_wait_s) == (
        1,
        pytest.approx(0.3),
    )


def test_a_batch__costs_a_token_a_call() -> None:
    world = World("a", calls_per_s=10, burst=5)
    world.rpc.batch([("one", []), ("two", []), ("three", []), ("four", []), ("five", [])])
    world.call()
    assert world.slept == [pytest.approx(0.1)]
    assert (world.stats("a").calls, world.stats("a").requests) == (6, 2)


@pytest.mark.parametrize(("calls", "slept"), [(15, [15.0]), (16, [])])
def test_budget_later_than_half_the_deadline__is_not_waited_for(
    calls: int, slept: list[float]
) -> None:
    world = World("a", calls_per_s=1, burst=1)
    world.rpc.batch([("one", [])] * calls)
    if slept:
        world.call()
    else:
        with pytest.raises(RpcUnreachableError, match="over budget"):
            world.call()
    assert (world.slept, DEADLINE_S / 2) == (slept, 15)


def test_http_429__the_other_is_asked_and_the_limited_one_after_its_pause() -> None:
    world = World("a", "b")
    world.nodes["a"] = limited({"Retry-After": "7"})
    world.call()
    world.nodes["a"] = good
    world.now += 6.9
    world.call()
    world.now += 0.1
    world.call()
    assert world.order == ["a", "b", "b", "a"]
    assert (world.stats("a").failures, world.stats("a").calls_per_s) == ({"rate_limit": 1}, 500)


def test_a_rate_limit_in_the_answer__slows_as_a_429_does() -> None:
    for error in (
        {"code": -32005, "message": "limit exceeded"},
        {"code": -32000, "message": "Too Many Requests"},
        {"code": 429},
    ):
        world = World("a", "b")
        world.nodes["a"] = refusing(**error)
        world.call()
        assert (world.order, world.stats("a").calls_per_s, world.stats("a").state) == (
            ["a", "b"],
            500,
            "closed",
        )


def test_a_whole_batch_refused_for_its_rate__goes_to_the_other() -> None:
    world = World("a", "b")
    world.nodes["a"] = refusing(code=-32005, message="rate limited")
    assert world.rpc.batch([("one", []), ("two", [])]) == ["one", "two"]
    assert (world.order, world.stats("a").calls_per_s) == (["a", "b"], 500)


def test_too_many_results__is_an_answer_and_slows_nobody() -> None:
    world = World("a", "b")
    world.nodes["a"] = refusing(code=-32005, message="query returned more than 10000 results")
    with pytest.raises(RpcRefusedError, match="more than 10000 results"):
        world.rpc.call("eth_getLogs", [{}])
    assert (world.order, world.stats("a").calls_per_s) == (["a"], 1_000)


def test_retry_after_as_a_date__counts_from_the_answers_own_date() -> None:
    world = World("a")
    world.nodes["a"] = limited(
        {"Retry-After": "Sat, 21 Nov 2026 10:00:04 GMT", "Date": "Sat, 21 Nov 2026 10:00:00 GMT"}
    )
    with pytest.raises(RpcUnreachableError, match="HTTP 429"):
        world.call()
    world.nodes["a"] = good
    world.call()
    assert world.slept == [4.0]


@each("headers", [{"Retry-After": "soon"}, {"Retry-After": "Sat, 21 Nov 2026 10:00:04 GMT"}, {}])
def test_retry_after_that_says_nothing__is_one_second(headers: dict[str, str]) -> None:
    world = World("a")
    world.nodes["a"] = limited(headers)
    with pytest.raises(RpcUnreachableError):
        world.call()
    world.nodes["a"] = good
    world.call()
    assert world.slept == [1.0]


# Breaker


def test_a_node_that_failed__is_asked_again_after_one_two_and_four_seconds() -> None:
    world = World("a", "b")
    world.nodes["a"] = unreachable
    for _ in range(80):
        world.call()
        world.now += 0.125
    assert [at - 100 for name, at, _ in world.asked if name == "a"] == [0, 1, 3, 7]


def test_a_success__closes_it_for_good() -> None:
    world = World("a", "b")
    world.nodes["a"] = unreachable
    world.call()
    world.nodes["a"] = good
    world.now += 1
    world.call()
    world.call()
    assert (world.order, world.stats("a").state) == (["a", "b", "a", "a"], "closed")


def test_half_open__while_one_request_tries_it_the_others_go_elsewhere() -> None:
    world = World("a", "b")
    world.nodes["a"] = unreachable
    world.call()
    world.now += 1
    during: list[str] = []

    def slow(body: Any) -> httpx.Response:
        assert world.stats("a").state == "half_open"
        other = threading.Thread(target=lambda: during.append(world.call()))
        other.start()
        other.join()
        return good(body)

    world.nodes["a"] = slow
    world.call()
    assert (during, world.order) == (["web3_clientVersion"], ["a", "b", "a", "b"])


def test_all_are_open__the_one_that_is_free_first_is_asked_and_no_other() -> None:
    world = World("a", "b", node=unreachable)
    world.nodes["a"] = unreachable
    with pytest.raises(RpcUnreachableError):
        world.call()  # a is open until 101, b too
    world.now += 1
    with pytest.raises(RpcUnreachableError):
        world.call()  # both until 103
    world.nodes["b"] = good
    world.rpc._nodes[0].rest(50)
    world.call()
    assert world.order == ["a", "b", "a", "b", "b"]


def test_a_node_that_is_alone_and_open__is_asked_all_the_same() -> None:
    world = World("a", node=unreachable)
    for _ in range(3):
        with pytest.raises(RpcUnreachableError):
            world.call()
    assert world.order == ["a"] * 3
    assert world.rpc.stats()[0].is_open


def test_trouble_of_its_own__rests_it_a_second_and_never_longer() -> None:
    world = World("a", "b")
    world.nodes["a"] = refusing(code=-32603, message="internal error")
    for _ in range(25):
        world.call()
        world.now += 0.125
    assert world.order.count("a") == 4


# Time


def test_a_node_that_hangs__leaves_the_others_their_time() -> None:
    world = World("a", "b", "c", "d")
    given: list[float] = []

    def handle(request: httpx.Request) -> httpx.Response:
        allowed = request.extensions["timeout"]["read"]
        given.append(allowed)
        if request.url.host != "d":
            world.now += allowed
            raise httpx.ReadTimeout("hangs")
        return good(json.loads(request.content))

    world.rpc._http._transport = httpx.MockTransport(handle)
    assert world.call() == "web3_clientVersion"
    assert given == [7.5, 7.5, 7.5, 7.5]
    assert world.stats("a").failures == {"timeout": 1}


def test_a_node_that_drips__is_cut_off() -> None:
    world = World("a", "b")

    def drip() -> Iterator[bytes]:
        while True:
            world.now += 4
            yield b" "

    world.nodes["a"] = lambda body: httpx.Response(200, content=drip())
    world.call()
    assert (world.order, world.now) == (["a", "b"], 112)
    assert world.stats("a").failures == {"timeout": 1}


# Statistics


def test_stats__name_host_and_port_and_no_secret() -> None:
    urls = [
        "https://user:secret@one.example/v2/key?k=key",
        "http://two.example:8545",
        "https://one.example/v2/other",
        "http://[bad",
    ]
    names = [stats.name for stats in Rpc(urls).stats()]
    assert names == ["one.example:443", "two.example:8545", "one.example:443#2", "node"]
    world = World("a", node=unreachable)
    with pytest.raises(RpcUnreachableError) as raised:
        world.call()
    assert not {"secret", "key"} & set(
        str((raised.value, world.rpc.stats())).replace("/", " ").split()
    )


def test_stats__count_time_failures_and_state() -> None:
    world = World("a", "b")

    def slow(body: Any) -> httpx.Response:
        world.now += 0.3
        return good(body)

    world.nodes["a"] = slow
    world.call()
    world.nodes["a"] = lambda body: httpx.Response(502)
    world.call()
    stats = world.stats("a")
    assert (stats.requests, stats.calls, stats.failures, stats.state) == (
        2,
        2,
        {"status": 1},
        "open",
    )
    assert stats.seconds == pytest.approx(0.3)
    assert (
        stats.seconds_buckets[0.01],
        stats.seconds_buckets[0.25],
        stats.seconds_buckets[0.5],
    ) == (1, 1, 2)
    assert stats.seconds_buckets[float("inf")] == 2


# Properties

FAULTS = ("good", "good", "good", "limited", "unreachable", "hangs", "garbled", "trouble")


def faulty(world: World, seed: int, healthy: str | None) -> None:
    chance = random.Random(seed)

    def handle(request: httpx.Request) -> httpx.Response:
        host, body = request.url.host, json.loads(request.content)
        world.asked.append((host, world.now, len(body) if isinstance(body, list) else 1))
        fault = "good" if host == healthy else chance.choice(FAULTS)
        world.now += (
            request.extensions["timeout"]["read"]
            if fault == "hangs"
            else chance.choice((0.0, 0.01, 0.5))
        )
        if fault == "hangs":
            raise httpx.ReadTimeout("hangs")
        answers: dict[str, Node] = {
            "good": good,
            "limited": limited({"Retry-After": str(chance.randrange(0, 90))}),
            "unreachable": unreachable,
            "garbled": lambda body: httpx.Response(200, text="<html>"),
            "trouble": refusing(code=-32603, message="internal error"),
        }
        return answers[fault](body)

    world.rpc._http._transport = httpx.MockTransport(handle)


def served(rpc: Rpc, cost: int) -> bool:
    try:
        return rpc.batch([("m", [])] * cost) == ["m"] * cost
    except (RpcUnreachableError, RpcRefusedError):
        return False


@given(
    seed=st.integers(0, 2**32),
    names=st.integers(1, 4),
    calls_per_s=st.floats(0.5, 50),
    burst=st.integers(1, 20),
    steps=st.lists(st.tuples(st.floats(0, 5), st.integers(1, 12)), min_size=1, max_size=40),
    has_healthy=st.booleans(),
)
def test_whatever_nodes_do__budget_deadline_and_the_healthy_one_hold(
    seed: int,
    names: int,
    calls_per_s: float,
    burst: int,
    steps: list[tuple[float, int]],
    has_healthy: bool,
) -> None:
    hosts = ["a", "b", "c", "d"][:names]
    world = World(*hosts, calls_per_s=calls_per_s, burst=burst)
    healthy = hosts[seed % names] if has_healthy else None
    faulty(world, seed, healthy)
    for gap_s, cost in steps:
        world.now += gap_s
        begun = world.now
        healthy_waits_s = (
            None
            if healthy is None
            else world.rpc._nodes[hosts.index(healthy)]._budget.wait_s(world.now)
        )
        is_served = served(world.rpc, cost)
        # Never starved: a healthy node is passed over only when its budget is spent for longer than
        # a call may wait.
        assert is_served or healthy_waits_s is None or healthy_waits_s > DEADLINE_S / 2
        # a good answer of half a second may begin at the end
        assert world.now - begun <= DEADLINE_S + 0.5 + 0.001
    for host in hosts:
        passed = [(at, cost) for name, at, cost in world.asked if name == host]
        for first in range(len(passed)):
            for last in range(first, len(passed)):
                calls, window_s = (
                    sum(cost for _, cost in passed[first : last + 1]),
                    passed[last][0] - passed[first][0],
                )
                assert calls <= burst + calls_per_s * window_s + passed[last][1] - 1 + 1e-6


def test_the_defaults_fit__two_hanging_nodes_leave_a_third_its_time() -> None:
    assert 3 * ANSWER_S <= DEADLINE_S

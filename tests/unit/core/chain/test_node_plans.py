"""Plans that providers sell: so many calls a second, each of a batch counted, and what is above is
refused, the whole batch or each call alone.
"""

import random
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.chain.errors import RpcError, RpcUnreachableError
from core.chain.node import LEAST_PER_S
from core.chain.nodes import DEADLINE_S
from tests.each import each
from tests.unit.core.chain.scripted import Script, World, good, refusing, status, unreachable

PLANS = [10, 25, 50, 100]
LIMITED = {"code": -32005, "message": "compute units per second exceeded"}
HEADERS = [(f"header {at}", []) for at in range(46)]
ANSWERS = [method for method, _ in HEADERS]


@dataclass
class Plan:
    """A provider that counts the calls of a second; `counts_refused`: those that it refuses, too."""

    world: World
    per_s: int
    way: str
    counts_refused: bool = False
    seconds: dict[int, int] = field(default_factory=dict)
    served: list[str] = field(default_factory=list)

    def __call__(self, body: Any) -> httpx.Response:
        calls = body if isinstance(body, list) else [body]
        if self.way != "single calls" and self._left() < len(calls):
            self._count(len(calls) if self.counts_refused else 0)
            if self.way == "HTTP 429":
                return httpx.Response(429)
            return httpx.Response(200, json={"id": None, "error": LIMITED})
        said = []
        for one in calls:
            is_served = self._left() > 0
            self._count(1 if is_served or self.counts_refused else 0)
            said.append(
                {"id": one["id"]} | ({"result": one["method"]} if is_served else {"error": LIMITED})
            )
            self.served += [one["method"]] if is_served else []
        return httpx.Response(200, json=said if isinstance(body, list) else said[0])

    def _left(self) -> int:
        return self.per_s - self.seconds.get(int(self.world.now), 0)

    def _count(self, calls: int) -> None:
        now = int(self.world.now)
        self.seconds[now] = self.seconds.get(now, 0) + calls


def planned(per_s: int, way: str, *, counts_refused: bool = False) -> tuple[World, Plan]:
    world = World("a", calls_per_s=2_000)
    plan = Plan(world, per_s, way, counts_refused)
    world.nodes["a"] = plan
    return world, plan


WAYS = [
    (per_s, way, counts_refused)
    for per_s in PLANS
    for way in ("HTTP 429", "whole batch", "single calls")
    for counts_refused in (False, True)
]


@each(("per_s", "way", "counts_refused"), WAYS)
def test_46_headers_in_one_batch__come_through_on_every_plan(
    per_s: int, way: str, counts_refused: bool
) -> None:
    """On 25 calls a second the indexer asked for the same batch for ever."""
    world, _ = planned(per_s, way, counts_refused=counts_refused)
    assert world.rpc.batch(HEADERS) == ANSWERS
    assert world.now - 100 < 30


@each(("per_s", "way", "counts_refused"), WAYS)
def test_block_after_block__a_plan_is_learned_and_mostly_used(
    per_s: int, way: str, counts_refused: bool
) -> None:
    world, plan = planned(per_s, way, counts_refused=counts_refused)
    until = world.now + 120
    while world.now < until:
        world.rpc.batch_settled(HEADERS)
        world.now += 0.01
    assert len(plan.served) > 0.65 * per_s * (world.now - 100)
    assert world.stats("a").calls_per_s <= 2 * per_s


def test_limited_at_its_first_call__a_plan_of_a_few_calls_a_second_is_left() -> None:
    """Others of the same key had used it up; at one call a second nothing was read for a minute."""
    world = World("a", calls_per_s=2_000)
    world.nodes["a"] = lambda body: (status(429) if len(world.asked) == 1 else good)(body)
    world.call()
    assert world.stats("a").failures == {"rate_limit": 1}
    assert world.stats("a").calls_per_s >= LEAST_PER_S


def test_single_calls_refused__those_that_came_are_not_asked_again() -> None:
    world, plan = planned(25, "single calls")
    world.rpc.batch(HEADERS)
    assert sorted(plan.served) == sorted(ANSWERS)


def test_no_batch__is_larger_than_the_bucket() -> None:
    world = World("a", calls_per_s=10)
    assert world.rpc.batch(HEADERS) == ANSWERS
    assert [calls for _, _, calls in world.asked] == [10, 10, 10, 10, 6]
    assert world.now - 100 == 4


def test_a_limited_node__the_other_is_asked_and_nobody_waits() -> None:
    for limit in (status(429), refusing(**LIMITED), refusing(code=429)):
        world = World("a", "b")
        world.nodes["a"] = limit
        assert world.rpc.batch([("one", []), ("two", [])]) == ["one", "two"]
        assert (world.order, world.slept) == (["a", "b"], [])
        assert world.stats("a").failures == {"rate_limit": 1}
        assert not world.stats("a").is_open


def test_a_small_plan__large_batches_go_to_the_node_that_has_room() -> None:
    world = World("a", "b")
    world.nodes["a"] = Plan(world, 10, "whole batch")
    for _ in range(3):
        world.rpc.batch(HEADERS)
    assert world.order == ["a", "b", "b", "b"]
    world.now += 2
    world.call()
    assert world.order[-1] == "a"


@each(("retry_after", "least_s"), [("7", 7.0), ("0", 1.0), ("soon", 1.0), ("9" * 400, None)])
def test_retry_after__is_waited_for(retry_after: str, least_s: float | None) -> None:
    world = World("a")
    world.nodes["a"] = status(429, {"Retry-After": retry_after})

    def back(body: Any) -> httpx.Response:
        world.nodes["a"] = good
        return httpx.Response(429, headers={"Retry-After": retry_after})

    world.nodes["a"] = back
    if least_s is None:  # longer than a call may wait
        with pytest.raises(
            RpcUnreachableError, match=r"HTTP 429; over budget, see RPC_REQUESTS_PER_S"
        ):
            world.call()
        assert world.slept == []
    else:
        world.call()
        assert least_s <= world.slept[0] <= least_s + 0.25


def test_a_node_that_is_always_limited__is_asked_less_and_less_and_the_call_ends() -> None:
    world = World("a", node=status(429))
    with pytest.raises(RpcUnreachableError, match="HTTP 429"):
        world.call()
    assert len(world.asked) <= 5
    assert world.now - 100 <= DEADLINE_S


FAULTS = ("good", "good", "good", "limited", "unreachable", "garbled", "trouble")


def faulty(chance: random.Random) -> Script:
    def answer(body: Any) -> httpx.Response:
        scripts: dict[str, Script] = {
            "good": good,
            "limited": status(429, {"Retry-After": str(chance.randrange(0, 90))}),
            "unreachable": unreachable,
            "garbled": lambda body: httpx.Response(200, text="<html>"),
            "trouble": refusing(code=-32603, message="internal error"),
        }
        return scripts[chance.choice(FAULTS)](body)

    return answer


@given(
    seed=st.integers(0, 2**32),
    names=st.integers(1, 4),
    calls_per_s=st.floats(10, 50),
    steps=st.lists(st.tuples(st.floats(0, 5), st.integers(1, 60)), min_size=1, max_size=30),
)
def test_whatever_nodes_do__the_configured_rate_and_the_deadline_hold(
    seed: int, names: int, calls_per_s: float, steps: list[tuple[float, int]]
) -> None:
    hosts = ["a", "b", "c", "d"][:names]
    world = World(*hosts, node=faulty(random.Random(seed)), calls_per_s=calls_per_s)
    for gap_s, calls in steps:
        world.now += gap_s
        begun, parts = world.now, calls / 5 + 1
        with suppress(RpcError):
            assert world.rpc.batch([("m", [])] * calls) == ["m"] * calls
        assert world.now - begun <= DEADLINE_S * parts
    for host in hosts:
        sent = [(at, calls) for name, at, calls in world.asked if name == host]
        for first in range(len(sent)):
            for last in range(first, len(sent)):
                calls = sum(calls for _, calls in sent[first : last + 1])
                window_s = sent[last][0] - sent[first][0]
                assert window_s > 1 - 1e-6 or calls <= calls_per_s

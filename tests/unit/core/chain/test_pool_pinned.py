"""Which node a block of calls is pinned to, and when it is distrusted."""

import threading

import pytest

from core.chain.rpc import REST_S, RpcRefusedError, RpcUnreachableError
from tests.unit.core.chain.test_pool import World, good, refusing, unreachable

# One node a block


def test_pinned__the_first_that_answers_is_kept_though_a_better_one_is_back() -> None:
    world = World("a", "b")
    world.nodes["a"] = unreachable
    with world.rpc.pinned():
        world.call()
        world.nodes["a"] = good
        world.now += 60
        world.call()
    world.call()
    assert world.order == ["a", "b", "b", "a"]


def test_pinned__its_failure_is_raised_and_no_other_node_is_mixed_in() -> None:
    world = World("a", "b")
    with world.rpc.pinned():
        world.call()
        world.nodes["a"] = unreachable
        with pytest.raises(RpcUnreachableError):
            world.call()
        world.nodes["a"] = good
        world.call()
    assert world.order == ["a", "a", "a"]


@pytest.mark.parametrize(("later_s", "first"), [(REST_S - 0.1, "b"), (REST_S + 0.1, "a")])
def test_pinned__after_a_failure_the_next_block_begins_with_another(
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
    with world.rpc.pinned():
        world.call()
    assert world.order[-1] == first


def test_pinned__a_revert_is_an_answer_and_pins_too() -> None:
    world = World("a", "b")
    world.nodes["a"] = refusing(code=3, message="execution reverted")
    with world.rpc.pinned():
        with pytest.raises(RpcRefusedError):
            world.rpc.call("eth_call", [{}])
        world.nodes["a"] = good
        world.call()
    assert world.order == ["a", "a"]


def test_pinned_within_pinned__joins_it() -> None:
    world = World("a", "b")
    world.nodes["a"] = unreachable
    with world.rpc.pinned():
        with world.rpc.pinned():
            world.call()
        world.nodes["a"] = good
        world.now += 60
        world.call()
    assert world.order == ["a", "b", "b"]


def test_pinned__other_threads_are_free() -> None:
    world = World("a", "b")
    world.nodes["a"] = unreachable
    with world.rpc.pinned():
        world.call()
        world.nodes["a"] = good
        world.now += 60
        other = threading.Thread(target=world.call)
        other.start()
        other.join()
    assert world.order == ["a", "b", "a"]


def test_distrust__the_block_goes_on_and_the_next_begins_with_another_until_it_rested() -> None:
    world = World("a", "b")
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


def test_distrust__outside_a_block_or_before_an_answer__is_nobodys() -> None:
    world = World("a", "b")
    world.call()
    world.rpc.distrust("lags")
    with world.rpc.pinned():
        world.rpc.distrust("lags")
        world.call()
    assert world.order == ["a", "a"]


def test_distrust__a_node_that_is_alone_is_asked_all_the_same() -> None:
    world = World("a")
    with world.rpc.pinned():
        world.call()
        world.rpc.distrust("lags")
    assert world.call() == "web3_clientVersion"

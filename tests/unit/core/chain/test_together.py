"""What many threads ask at once goes as one batch (core/chain/together.py)."""

from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from typing import Any, cast

import pytest

from core.chain.rpc import Rpc, RpcRefusedError, RpcUnreachableError
from core.chain.together import CallsTogether

WITHIN_S = 10


def text(content: bytes) -> str:
    return content.decode()


@dataclass
class HeldNode:
    """Answers a call by its first parameter; the first request waits until it is let go."""

    answer: Callable[[Any], Any] = lambda param: param
    is_asked: Event = field(default_factory=Event)
    let_go: Event = field(default_factory=Event)
    requests: list[list[Any]] = field(default_factory=list)

    def call(self, method: str, params: Sequence[Any], parse: Any) -> Any:
        (found,) = self.batch_settled([(method, params)], [parse])
        if isinstance(found, RpcRefusedError):
            raise found
        return found

    def batch_settled(self, requests: Sequence[Any], parse: Sequence[Any]) -> list[Any]:
        assert len(parse) == len(requests)
        self.requests.append([params[0] for _, params in requests])
        if len(self.requests) == 1:
            self.is_asked.set()
            assert self.let_go.wait(WITHIN_S)
        return [self.answer(params[0]) for _, params in requests]


def asked_at_once(node: HeldNode, params: Sequence[Any]) -> list[Future[Any]]:
    """The first is under way when the others come, in their order."""
    together = CallsTogether(cast("Rpc", node))
    with ThreadPoolExecutor(len(params)) as pool:
        futures = [pool.submit(together.call, "eth_call", [params[0]], text)]
        assert node.is_asked.wait(WITHIN_S)
        for count, param in enumerate(params[1:], start=1):
            futures.append(pool.submit(together.call, "eth_call", [param], text))
            while len(together._waiting) < count:
                node.let_go.wait(0.001)
        node.let_go.set()
    return futures


def test_who_asks_alone__asks_at_once() -> None:
    node = HeldNode()
    node.let_go.set()
    together = CallsTogether(cast("Rpc", node))
    assert [together.call("eth_call", [n], text) for n in (1, 2)] == [1, 2]
    assert node.requests == [[1], [2]]


def test_who_comes_meanwhile__is_asked_for_together_and_gets_its_own_answer() -> None:
    node = HeldNode()
    futures = asked_at_once(node, "abcd")
    assert [one.result() for one in futures] == ["a", "b", "c", "d"]
    assert node.requests == [["a"], ["b", "c", "d"]]


def test_a_refusal__is_one_calls_own() -> None:
    refused = RpcRefusedError("eth_call", -32000, "no")
    node = HeldNode(lambda param: refused if param == "c" else param)
    first, second, third = asked_at_once(node, "abc")
    assert (first.result(), second.result()) == ("a", "b")
    assert third.exception() is refused


def test_a_node_that_is_away__is_told_to_all_of_the_batch() -> None:
    def answer(param: Any) -> Any:
        if param != "a":
            raise RpcUnreachableError("eth_call", ["away"])
        return param

    first, *others = asked_at_once(HeldNode(answer), "abc")
    assert first.result() == "a"
    assert [type(one.exception()) for one in others] == [RpcUnreachableError] * 2


def test_a_defect__ends_its_own_call__and_the_others_ask_again() -> None:
    failed = list[str]()

    def answer(param: Any) -> Any:
        if param == "b" and not failed:
            failed.append(param)
            raise ZeroDivisionError
        return param

    node = HeldNode(answer)
    futures = asked_at_once(node, "abc")
    outcomes = [one.exception() or one.result() for one in futures]
    assert sorted(map(repr, outcomes)) in (
        ["'a'", "'b'", "ZeroDivisionError()"],
        ["'a'", "'c'", "ZeroDivisionError()"],
    )


@pytest.mark.parametrize("count", [2, 16])
def test_however_many__each_is_answered_once(count: int) -> None:
    node = HeldNode()
    futures = asked_at_once(node, list(range(count)))
    assert [one.result() for one in futures] == list(range(count))
    assert sorted(one for request in node.requests for one in request) == list(range(count))

"""The walk down to the common ancestor."""

from typing import Any

import pytest

from core.blocks.queries import Cursor
from core.chain.blocks import BlockHeader
from indexer.chain.unwind import HEADERS_A_REQUEST, ForkUnclearError, common_ancestor


def block_hash(branch: str, number: int) -> str:
    return f"{branch}{number}"


class Node:
    """A chain that is branch `a` up to `fork` and branch `b` from there to `head`."""

    def __init__(self, fork: int, head: int) -> None:
        self.fork, self.head = fork, head
        self.requests = 0
        self.unlinked: int | None = None

    def _hash(self, number: int) -> str:
        return block_hash("a" if number <= self.fork else "b", number)

    def _header(self, number: int) -> BlockHeader | None:
        if number > self.head:
            return None
        parent = "0xother" if number == self.unlinked else self._hash(number - 1)
        return BlockHeader(number, self._hash(number), parent, 0, 0, ())

    def headers(self, numbers: list[int]) -> list[BlockHeader | None]:
        self.requests += 1
        return [self._header(number) for number in numbers]


def ours(lowest: int, highest: int) -> list[Cursor]:
    return [Cursor(number, block_hash("a", number)) for number in range(highest, lowest - 1, -1)]


def ancestor(node: Any, blocks: list[Cursor]) -> Cursor | None:
    return common_ancestor(node, blocks)


def test_a_longer_branch__meets_ours_at_the_fork() -> None:
    assert ancestor(Node(fork=97, head=105), ours(1, 100)) == Cursor(97, "a97")


def test_a_shorter_branch__meets_ours_at_the_fork() -> None:
    assert ancestor(Node(fork=97, head=98), ours(1, 100)) == Cursor(97, "a97")


def test_no_fork__our_own_head_is_the_answer() -> None:
    assert ancestor(Node(fork=100, head=101), ours(1, 100)) == Cursor(100, "a100")


def test_a_deep_fork__is_found_a_window_at_a_time() -> None:
    node = Node(fork=100 - HEADERS_A_REQUEST - 1, head=100)
    assert ancestor(node, ours(1, 100)) == Cursor(node.fork, f"a{node.fork}")
    assert node.requests == 2


def test_nothing_in_common__is_none() -> None:
    assert ancestor(Node(fork=0, head=100), ours(50, 100)) is None


def test_headers_that_are_not_linked__are_not_believed() -> None:
    node = Node(fork=90, head=100)
    node.unlinked = 95
    with pytest.raises(ForkUnclearError):
        ancestor(node, ours(1, 100))


def test_a_node_with_none_of_our_heights__is_not_believed() -> None:
    with pytest.raises(ForkUnclearError):
        ancestor(Node(fork=0, head=40), ours(50, 100))

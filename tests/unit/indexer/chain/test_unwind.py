"""The walk down to the common ancestor."""

from typing import Any

import pytest

from core.blocks.queries import Cursor
from core.chain.blocks import BlockHeader
from indexer.chain.unwind import ForkUnclearError, common_ancestor


def block_hash(branch: str, number: int) -> str:
    return f"{branch}{number}"


class Node:
    """A chain that is branch `a` up to `fork` and branch `b` from there to `head`; it lacks the
    heights above `known` of it.
    """

    def __init__(self, fork: int, head: int, known: int | None = None) -> None:
        self.fork, self.head = fork, head
        self.known = head if known is None else known
        self.asked = list[int]()

    def _header(self, number: int) -> BlockHeader | None:
        names = [block_hash("a" if at <= self.fork else "b", at) for at in (number, number - 1)]
        return None if number > self.known else BlockHeader(number, *names, 0, 0, ())

    def header(self, number: int) -> BlockHeader | None:
        self.asked.append(number)
        return self._header(number)


def ours(lowest: int, highest: int) -> list[Cursor]:
    return [Cursor(number, block_hash("a", number)) for number in range(highest, lowest - 1, -1)]


def ancestor(node: Any, blocks: list[Cursor]) -> Cursor | None:
    return common_ancestor(node, blocks, node.head)


def test_a_longer_branch__meets_ours_at_the_fork() -> None:
    assert ancestor(Node(fork=97, head=105), ours(1, 100)) == Cursor(97, "a97")


def test_a_shorter_branch__meets_ours_at_the_fork() -> None:
    assert ancestor(Node(fork=97, head=98), ours(1, 100)) == Cursor(97, "a97")


def test_no_fork__our_own_head_is_the_answer() -> None:
    assert ancestor(Node(fork=100, head=101), ours(1, 100)) == Cursor(100, "a100")


def test_every_depth__is_found_with_few_headers() -> None:
    for depth in range(64):
        for head in (100 - depth, 100, 101):
            node = Node(fork=100 - depth, head=head)
            assert ancestor(node, ours(1, 100)) == Cursor(100 - depth, f"a{100 - depth}")
            assert len(node.asked) <= 2 * (depth + 1).bit_length()


def test_nothing_in_common__is_none() -> None:
    assert ancestor(Node(fork=0, head=100), ours(50, 100)) is None


def test_a_height_below_the_head_that_is_not_there__is_unclear() -> None:
    """A machine behind the one that showed the head."""
    with pytest.raises(ForkUnclearError):
        ancestor(Node(fork=97, head=101, known=98), ours(1, 100))


def test_a_block_that_is_not_linked_to_the_ancestor__is_unclear() -> None:
    node = Node(fork=97, head=100)
    node.header = lambda number: BlockHeader(  # type: ignore[method-assign]
        number, block_hash("a" if number <= 97 else "b", number), "b", 0, 0, ()
    )
    with pytest.raises(ForkUnclearError):
        ancestor(node, ours(1, 100))

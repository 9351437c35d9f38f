"""Hidden transactions of an account, found by bisecting its nonce."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import cast

import pytest

from api.client.verify.findings import UncheckedError
from api.client.verify.node import Node
from api.client.verify.nonces import unexplained_heights
from tests.each import each

WIDE = 1_000_000


class Counting:
    """A node on which the account sent in these blocks, once for each time that one is named."""

    def __init__(self, *sent: int, falls_at: int | None = None) -> None:
        self.sent = sorted(sent)
        self.falls_at = falls_at
        self.asked = 0

    def transaction_counts(self, account: str, heights: Sequence[int]) -> dict[int, int]:
        self.asked += len(heights)
        return {at: 0 if at == self.falls_at else 7 + bisect_right(self.sent, at) for at in heights}


def found(node: Counting, known: list[int], first: int = 1, last: int = WIDE) -> list[int]:
    return unexplained_heights("0xA", known, first, last, cast("Node", node))


def test_all_known__asks_for_both_ends_alone() -> None:
    node = Counting(3, 3, 500_000)
    assert (found(node, [3, 3, 500_000]), node.asked) == ([], 2)


@each("height", [1, 2, 499_999, WIDE])
def test_one_unknown__is_found_by_some_twenty_questions(height: int) -> None:
    node = Counting(3, 500_000, height)
    assert found(node, [3, 500_000]) == [height]
    assert node.asked <= 2 + 20


def test_what_was_sent_before_and_after__is_not_asked_about() -> None:
    assert found(Counting(9, 21), [], first=10, last=20) == []


def test_one_of_two_in_a_block__is_found() -> None:
    assert found(Counting(40, 40), [40]) == [40]


def test_no_blocks__have_nothing_hidden() -> None:
    assert found(Counting(5), [], first=6, last=5) == []


def test_a_nonce_that_falls__is_of_a_node_without_past_ones() -> None:
    with pytest.raises(UncheckedError, match="a nonce fell"):
        found(Counting(3, falls_at=WIDE), [])


def test_more_than_may_be_asked__is_not_checked() -> None:
    with pytest.raises(UncheckedError, match="sent too much"):
        found(Counting(*range(1, 40_000)), [])

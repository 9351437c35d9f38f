"""Content that nobody could have hashed is a fault of its row, and hides no other row's."""

from typing import Any

import pytest

from core.ledger.chain import Link, chain_faults, genesis, link_hash

FIRST = genesis("test", 1)


def deep() -> dict[str, Any]:
    """Deeper than Python's stack."""
    found: dict[str, Any] = {}
    for _ in range(5_000):
        found = {"a": found}
    return found


@pytest.mark.parametrize(
    "payload", [{"x": 0.5}, {"x": 2**60}, deep()], ids=["float", "int", "deep"]
)
def test_chain_faults__content_that_cannot_be_hashed__is_a_fault_beside_the_others(
    payload: dict[str, Any],
) -> None:
    first_hash = link_hash(FIRST, {"n": 1})
    rows = [
        Link(1, FIRST, first_hash, {"payload": payload}),
        Link(3, first_hash, link_hash(first_hash, {"n": 2}), {"n": 2}),
    ]
    unhashed, gap = chain_faults(rows, FIRST)
    assert unhashed.startswith("seq 1: its content can't be hashed: ")
    assert gap == "seq 3: expected seq 2"

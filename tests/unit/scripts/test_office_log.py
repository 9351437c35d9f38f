"""Who holds the offices, from logs: everybody, not only those that somebody asked about; and all of
the log or none.
"""

import itertools
from collections.abc import Callable

import pytest
from eth_utils.address import to_checksum_address

from scripts._office_log import (
    DEFAULT_ADMIN_ROLE,
    DELISTED,
    GRANTED,
    LISTED,
    PAUSER_ROLE,
    RANGE_BLOCKS,
    REVOKED,
    Log,
    LogsMissingError,
    RangeRefusedError,
    held,
    read_ranges,
)
from tests.each import each


def account(n: int) -> str:
    return str(to_checksum_address(f"0x{n:040x}"))


FACTORY, ADMIN, FIRST, SECOND, ADAPTER = (account(n) for n in range(0xA1, 0xA6))


def word(address: str) -> str:
    return "0x" + address[2:].lower().rjust(64, "0")


def log(block: int, *topics: str, index: int = 0, address: str = FACTORY) -> Log:
    return {
        "address": address.lower(),
        "blockNumber": hex(block),
        "logIndex": hex(index),
        "topics": list(topics),
    }


CREATION = [
    log(7, GRANTED, DEFAULT_ADMIN_ROLE, word(ADMIN), word(ADMIN)),
    log(7, GRANTED, PAUSER_ROLE, word(FIRST), word(ADMIN), index=1),
]


def test_held__by_a_second_account__is_both() -> None:
    found = held(FACTORY, [*CREATION, log(8, GRANTED, PAUSER_ROLE, word(SECOND), word(ADMIN))])
    assert found.holders(PAUSER_ROLE) == [FIRST, SECOND]


def test_held__revoked__is_nobody() -> None:
    assert (
        held(FACTORY, [*CREATION, log(8, REVOKED, PAUSER_ROLE, word(FIRST), word(ADMIN))]).holders(
            PAUSER_ROLE
        )
        == []
    )


def test_held__granted_revoked_and_granted__goes_by_the_order_on_chain_not_of_the_answer() -> None:
    changes = [
        log(9, GRANTED, PAUSER_ROLE, word(FIRST), word(ADMIN), index=11),
        log(9, REVOKED, PAUSER_ROLE, word(FIRST), word(ADMIN), index=10),
        log(9, REVOKED, PAUSER_ROLE, word(FIRST), word(ADMIN), index=9),
    ]
    assert held(FACTORY, [*changes, *CREATION]).holders(PAUSER_ROLE) == [FIRST]


def test_held__a_role_that_nobody_knows__is_there_too() -> None:
    strange = "0x" + "12" * 32
    assert held(FACTORY, [*CREATION, log(8, GRANTED, strange, word(SECOND), word(ADMIN))]).holders(
        strange
    ) == [SECOND]


def test_held__adapters__are_those_listed_and_not_delisted() -> None:
    changes = [
        log(8, LISTED, word(ADAPTER)),
        log(8, LISTED, word(SECOND), index=1),
        log(9, DELISTED, word(SECOND)),
    ]
    found = held(FACTORY, [*CREATION, *changes])
    assert found.adapters == {ADAPTER}
    assert set(found.roles) == {DEFAULT_ADMIN_ROLE, PAUSER_ROLE}


def test_held__logs_of_another_contract__are_nothing() -> None:
    other = log(8, GRANTED, PAUSER_ROLE, word(SECOND), word(ADMIN), address=SECOND)
    assert held(FACTORY, [*CREATION, other]).holders(PAUSER_ROLE) == [FIRST]


@each(
    "logs",
    [
        [],
        CREATION[1:],
        [
            log(9, REVOKED, DEFAULT_ADMIN_ROLE, word(ADMIN), word(SECOND)),
            log(9, GRANTED, DEFAULT_ADMIN_ROLE, word(SECOND), word(SECOND), index=1),
        ],
        [log(9, LISTED, word(ADAPTER))],
    ],
    ids=["none", "without the first", "from a change of admin on", "a listing alone"],
)
def test_held__without_the_creation__is_refused(logs: list[Log]) -> None:
    """A record whose block is too late, or a node that keeps no old logs, would hide what came
    before.
    """
    with pytest.raises(
        LogsMissingError, match=f"^the logs of {FACTORY} do not begin with its creation: "
    ):
        held(FACTORY, logs)


def node(limit: int, asked: list[tuple[int, int]]) -> Callable[[int, int], list[Log]]:
    def ask(first: int, last: int) -> list[Log]:
        asked.append((first, last))
        if last - first + 1 > limit:
            raise RangeRefusedError(f"range over {limit} blocks")
        return [
            log(block, LISTED, word(ADAPTER))
            for block in range(first, last + 1)
            if block % 1_000 == 0
        ]

    return ask


@each("limit", [1, 7, 2_500, RANGE_BLOCKS, 10**9])
def test_ranges__cover_every_block_once_whatever_the_node_takes(limit: int) -> None:
    asked: list[tuple[int, int]] = []
    last = 5_003 if limit < 100 else 25_003
    found = [int(one["blockNumber"], 16) for one in read_ranges(node(limit, asked), 7, last)]
    assert found == list(range(1_000, last + 1, 1_000))
    taken = [(one, until) for one, until in asked if until - one + 1 <= limit]
    assert (taken[0][0], taken[-1][1]) == (7, last)
    assert all(until + 1 == following for (_, until), (following, _) in itertools.pairwise(taken))
    assert max(until - one + 1 for one, until in asked) <= RANGE_BLOCKS


def test_ranges__a_node_that_refuses_a_single_block__is_refused_in_its_words() -> None:
    with pytest.raises(
        LogsMissingError,
        match=r"^the node returns no logs of block 7: range over 0 blocks; try again with a node that "
        r"does$",
    ):
        list(read_ranges(node(0, []), 7, 9_000))


def test_ranges__of_one_block__are_one_question() -> None:
    asked: list[tuple[int, int]] = []
    list(read_ranges(node(1, asked), 7, 7))
    assert asked == [(7, 7)]

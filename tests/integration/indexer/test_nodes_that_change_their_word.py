"""A node that gives a block another name, or another branch's, a moment later: the ledgers only
grow.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.clocked import Clocked, View, true
from tests.integration.indexer.conftest import Follower, Issued
from tests.integration.indexer.test_wrong_nodes import is_header

Working = tuple[Issued, str]
RENAMED = "0x" + "de" * 24


@pytest.fixture
def nodes(follower: Follower, working: Working) -> Iterator[Callable[..., Clocked]]:
    """Makes a follower of these hosts."""
    made: list[Clocked] = []
    yield lambda *hosts: made.append(Clocked(follower, *hosts)) or made[-1]
    for clocked in made:
        clocked.close()


@pytest.fixture
def two(nodes: Callable[..., Clocked]) -> Clocked:
    return nodes("first", "second")


@pytest.fixture
def alone(nodes: Callable[..., Clocked]) -> Clocked:
    return nodes("first")


def another_name_each_time(clocked: Clocked, is_due: Any = lambda second: second % 2) -> View:
    """The newest block under a name of its own in the seconds that are due, with receipts that fit;
    all else is the chain's.
    """

    def view(call: dict[str, Any], result: Any) -> Any:
        second, top = clocked.second, clocked.height
        if call["method"] == "eth_getBlockReceipts" and str(call["params"][0]).startswith(RENAMED):
            true_one = clocked.ask("eth_getBlockReceipts", hex(top))
            return (
                json.loads(
                    json.dumps(true_one).replace(true_one[0]["blockHash"], call["params"][0])
                )
                if true_one
                else []
            )
        is_newest = is_header(call) and result is not None and int(result["number"], 16) == top
        if is_newest and call["params"][0] not in ("safe", "finalized") and is_due(second):
            return {**result, "hash": f"{RENAMED}{second:016x}"}
        return result

    return view


@pytest.mark.slow
def test_a_first_node_that_renames_its_newest_block__turns_the_ledgers_round_once_at_most(
    follower: Follower, two: Clocked, working: Working
) -> None:
    """It made 60 reorgs in two minutes and 120 rows of one move, and what stood at the end was not
    the chain's.
    """
    mandate, vault = working
    two.rounds(4)
    follower.deployed.buy(vault, 10 * USDC)  # stands in the newest block
    two.wire.view = another_name_each_time(two)
    for _ in range(120):  # not one new block on the chain
        two.round()
    assert two.reorgs <= 1
    assert two.tip.cursor.hash == two.ask("eth_getBlockByNumber", "latest", False)["hash"]
    assert follower.story(mandate).count("move") == 1
    assert len(follower.rows(mandate)) <= 6


@pytest.mark.slow
def test_a_first_node_that_renames_each_new_block__is_left_for_longer_each_time(
    follower: Follower, two: Clocked, working: Working
) -> None:
    mandate, vault = working
    two.wire.view = another_name_each_time(two)
    two.rounds(300)
    assert two.reorgs <= 12  # not one a block
    follower.deployed.buy(vault, 10 * USDC)
    two.rounds(70)  # the longest rest, and the newest block
    assert two.is_at_head
    assert follower.story(mandate)[-1] == "move"


def test_an_only_node_that_renames_its_newest_block__has_to_insist(
    follower: Follower, alone: Clocked, working: Working
) -> None:
    _, vault = working
    alone.rounds(4)
    follower.deployed.buy(vault, 10 * USDC)
    alone.wire.view = another_name_each_time(alone)
    for _ in range(120):
        alone.round()
    assert alone.reorgs <= 4


@pytest.mark.slow
def test_an_only_node__its_real_reorgs_are_followed(
    follower: Follower, alone: Clocked, working: Working
) -> None:
    mandate, vault = working
    alone.rounds(8)
    for _ in range(6):
        follower.deployed.buy(vault, USDC)
        alone.rounds(2)
        follower.deployed.anvil.reorg(3)
        follower.deployed.anvil.mine(4)
        alone.rounds(3)
    alone.rounds(20)
    assert alone.is_at_head
    assert alone.reorgs >= 3
    assert follower.story(mandate)[-1] == "deposit"


def one_block_behind(clocked: Clocked) -> View:
    """At the newest height it has nothing yet."""

    def view(call: dict[str, Any], result: Any) -> Any:
        if not is_header(call) or result is None or int(result["number"], 16) < clocked.height:
            return result
        return (
            clocked.ask("eth_getBlockByNumber", hex(clocked.height - 1), False)
            if call["params"][0] == "latest"
            else None
        )

    return view


def test_a_second_node_one_block_behind__confirms_no_reorg_of_the_newest(
    follower: Follower, two: Clocked, working: Working
) -> None:
    """It has nothing at that height yet, which once counted as its word that our block is gone."""
    mandate, vault = working
    two.rounds(4)
    follower.deployed.buy(vault, 10 * USDC)
    two.round()
    two.wire.views["second"] = one_block_behind(two)
    two.wire.view = another_name_each_time(two, lambda second: True)
    for _ in range(4):
        two.round()
    two.wire.view = true
    two.rounds(6)
    assert two.reorgs == 0
    assert follower.story(mandate)[-1] == "move"


def stuck_on_a_dead_branch(clocked: Clocked, heads: int) -> View:
    """A load balancer over backends that stand still on the branch of now, each at a height of its
    own.
    """
    top = clocked.height
    old = {
        number: clocked.ask("eth_getBlockByNumber", hex(number), False) for number in range(top + 1)
    }
    asked = [0]

    def view(call: dict[str, Any], result: Any) -> Any:
        if not is_header(call):
            return result
        tag = call["params"][0]
        if tag == "latest":
            asked[0] += 1
            return old[top - asked[0] % heads]
        return old[0] if tag in ("safe", "finalized") else old.get(int(tag, 16))

    return view


@pytest.mark.slow
@pytest.mark.parametrize("heads", [1, 2], ids=["one height", "two heights in turn"])
@pytest.mark.parametrize(
    "hosts", [("second", "first"), ("second", "third", "first")], ids=["2 nodes", "3 nodes"]
)
def test_one_stuck_node_beside_honest_ones__holds_no_ordinary_reorg_up(
    follower: Follower,
    nodes: Callable[..., Clocked],
    working: Working,
    hosts: tuple[str, ...],
    heads: int,
) -> None:
    """Its height that went up and down was once taken for a head that moves."""
    mandate, vault = working
    follower.deployed.anvil.mine(3)
    clocked = nodes(*hosts)
    clocked.rounds(6)
    clocked.wire.view = stuck_on_a_dead_branch(clocked, heads)
    follower.deployed.anvil.reorg(2)
    follower.deployed.anvil.mine(3)
    follower.deployed.buy(vault, 10 * USDC)
    clocked.rounds(90)
    assert (clocked.is_at_head, clocked.reorgs) == (True, 1)
    assert follower.story(mandate)[-1] == "move"


def test_a_second_node_that_syncs_far_below__holds_no_reorg_up(
    follower: Follower, two: Clocked, working: Working
) -> None:
    """It was waited for, as for one that is a block behind: for hours, without an error."""
    _, vault = working
    follower.deployed.anvil.mine(200)
    two.rounds(6)

    def syncing(call: dict[str, Any], result: Any) -> Any:
        if not is_header(call):
            return result
        top, tag = two.height - 150, call["params"][0]
        if tag == "latest":
            return two.ask("eth_getBlockByNumber", hex(top), False)
        return result if tag.startswith("0x") and int(tag, 16) <= top else None

    two.wire.views["second"] = syncing
    two.rounds(20)
    follower.deployed.buy(vault, USDC)  # without it the new blocks may be the old ones
    two.rounds(4)
    assert two.is_at_head
    follower.deployed.anvil.reorg(4)
    two.rounds(45)  # who gave the blocks rests for a while
    assert (two.is_at_head, two.reorgs) == (True, 1)

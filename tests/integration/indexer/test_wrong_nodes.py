"""A first node that is wrong for good, without an error or with the wrong one: the second is asked,
and no good block is taken back.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.clocked import NO_BLOOM, Clocked, View, true
from tests.integration.indexer.conftest import Follower, Issued
from tests.slow import few

Working = tuple[Issued, str]
FAKE = "0x" + "de" * 32


@pytest.fixture
def two(follower: Follower, working: Working) -> Iterator[Clocked]:
    clocked = Clocked(follower, "first", "second")
    yield clocked
    clocked.close()


@pytest.fixture
def alone(follower: Follower, working: Working) -> Iterator[Clocked]:
    clocked = Clocked(follower, "first")
    yield clocked
    clocked.close()


def is_header(call: dict[str, Any]) -> bool:
    return bool(call["method"] == "eth_getBlockByNumber")


def another_hash_at_our_height(clocked: Clocked) -> View:
    frozen = clocked.ask("eth_getBlockByNumber", "latest", False)
    return lambda call, result: (
        {**frozen, "hash": FAKE} if is_header(call) and call["params"][0] == "latest" else result
    )


def another_parent(clocked: Clocked) -> View:
    height = hex(clocked.tip.cursor.number + 1)
    return lambda call, result: (
        {**result, "parentHash": FAKE}
        if is_header(call) and result and result["number"] == height
        else result
    )


def a_height_that_is_null(clocked: Clocked) -> View:
    height = hex(clocked.tip.cursor.number + 1)
    clocked.follower.deployed.anvil.mine(2)
    return lambda call, result: None if is_header(call) and call["params"][0] == height else result


def unlinked_headers(clocked: Clocked) -> View:
    height = clocked.tip.cursor.number

    def view(call: dict[str, Any], result: Any) -> Any:
        if is_header(call) and result and int(result["number"], 16) >= height:
            return {**result, "hash": f"0x{int(result['number'], 16):064x}", "parentHash": FAKE}
        return result

    return view


def no_latest(clocked: Clocked) -> View:
    return lambda call, result: (
        None if is_header(call) and call["params"][0] == "latest" else result
    )


def another_chain(clocked: Clocked) -> View:
    """Higher than ours, linked in itself, and final far above our cursor."""
    base = clocked.ask("eth_getBlockByNumber", "latest", False)

    def block(number: int) -> dict[str, Any]:
        names = [f"0x{'ab' * 24}{max(at, 0):016x}" for at in (number, number - 1)]
        return {
            **base,
            "number": hex(number),
            "hash": names[0],
            "parentHash": names[1],
            "transactions": [],
            "logsBloom": NO_BLOOM,
        }

    def view(call: dict[str, Any], result: Any) -> Any:
        if not is_header(call):
            return result
        tag, top = call["params"][0], clocked.height + 5
        heights = {"latest": top, "safe": top - 10, "finalized": top - 20}
        number = heights[tag] if tag in heights else int(tag, 16)
        return block(number) if number <= top else None

    return view


WRONG = (
    another_hash_at_our_height,
    another_parent,
    a_height_that_is_null,
    unlinked_headers,
    no_latest,
    another_chain,
)


@pytest.mark.parametrize("wrong", few(WRONG), ids=lambda wrong: wrong.__name__)
def test_a_first_node_that_leads_nowhere__rests_and_the_second_is_asked(
    two: Clocked, wrong: Any
) -> None:
    two.wire.view = wrong(two)
    two.rounds(120)
    assert (two.is_at_head, two.reorgs) == (True, 0)
    assert two.distrusted() > 0


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: wrong.__name__)
def test_an_only_node_that_leads_nowhere__is_a_failed_round_each_time_and_goes_on_once_it_is_right(
    alone: Clocked, wrong: Any
) -> None:
    """For ten seconds it may be one machine of several."""
    alone.wire.view = wrong(alone)
    alone.rounds(30)
    assert sum(alone.errors.values()) >= 15
    alone.wire.view = true
    alone.rounds(10)
    assert (alone.is_at_head, alone.reorgs) == (True, 0)


def a_dead_fork(clocked: Clocked) -> View:
    """One block on top of the head, that the chain never had, and nothing after it."""
    parent = clocked.ask("eth_getBlockByNumber", "latest", False)
    number = int(parent["number"], 16) + 1
    own = {
        **parent,
        "number": hex(number),
        "hash": FAKE,
        "parentHash": parent["hash"],
        "transactions": [],
        "logsBloom": NO_BLOOM,
    }

    def view(call: dict[str, Any], result: Any) -> Any:
        method, asked = call["method"], call["params"][0] if call["params"] else None
        if method == "eth_getBlockByNumber":
            if asked in ("latest", hex(number)):
                return own
            return result if asked in ("safe", "finalized") or int(asked, 16) < number else None
        return own if method == "eth_getBlockByHash" and asked == FAKE else result

    return view


@pytest.mark.slow
def test_a_first_node_that_stands_still_on_a_dead_fork__its_block_is_taken_back_once(
    follower: Follower, two: Clocked, working: Working
) -> None:
    """Each change of nodes once took back good blocks: 28 reorgs in four minutes, each a row more
    for each row of the ledgers.
    """
    mandate, vault = working
    two.wire.view = a_dead_fork(two)
    follower.deployed.buy(vault, 10 * USDC)
    two.rounds(240, every=4)
    assert (two.is_at_head, two.reorgs) == (True, 1)
    assert follower.story(mandate)[-1] == "move"
    assert len(follower.rows(mandate)) == 4
    assert two.distrusted() < 20  # its rest grows


@pytest.mark.slow
def test_a_reorg_that_the_other_node_does_not_answer_for__is_believed_after_a_while(
    follower: Follower, two: Clocked, working: Working
) -> None:
    mandate, vault = working
    follower.deployed.buy(vault, 10 * USDC)
    two.rounds(4)
    two.wire.dead = {"second"}
    follower.deployed.anvil.reorg(3)
    follower.deployed.anvil.mine(2)
    two.rounds(60)
    assert (two.is_at_head, two.reorgs) == (True, 1)
    assert follower.story(mandate)[-1] == "deposit"


# What a node calls final


def final_is_the_head(clocked: Clocked) -> View:
    latest = lambda: clocked.ask("eth_getBlockByNumber", "latest", False)  # noqa: E731  # of the moment of asking
    return lambda call, result: (
        latest() if is_header(call) and call["params"][0] == "finalized" else result
    )


def final_is_the_parent(clocked: Clocked) -> View:
    parent = lambda: clocked.ask("eth_getBlockByNumber", hex(clocked.height - 1), False)  # noqa: E731
    return lambda call, result: (
        parent() if is_header(call) and call["params"][0] == "finalized" else result
    )


def said_once_then_two_blocks_undone(clocked: Clocked, view: View) -> None:
    """The block of a purchase and the one after it."""
    clocked.wire.view = view
    clocked.tip.note_finality()
    clocked.wire.view = true
    clocked.follower.deployed.anvil.reorg(2)
    clocked.follower.deployed.anvil.mine(2)


@pytest.mark.parametrize(
    "final", [final_is_the_head, final_is_the_parent], ids=lambda final: final.__name__
)
@pytest.mark.parametrize("hosts", [("first",), ("first", "second")], ids=["alone", "two"])
def test_a_false_finalized_that_is_said_once__halts_nothing_for_good(
    follower: Follower, working: Working, hosts: tuple[str, ...], final: Any
) -> None:
    """The mark only rose: one wrong answer, and a reorg of one block ended the record until
    somebody wrote SQL.
    """
    mandate, vault = working
    follower.deployed.buy(vault, 10 * USDC)
    follower.deployed.anvil.mine()
    clocked = Clocked(follower, *hosts)
    said_once_then_two_blocks_undone(clocked, final(clocked))
    clocked.rounds(30)
    assert (clocked.is_at_head, clocked.reorgs) == (True, 1)
    assert follower.story(mandate)[-1] == "deposit"
    clocked.close()


@pytest.mark.slow
def test_what_is_still_called_final__is_not_unwound_and_the_rounds_fail(
    follower: Follower, alone: Clocked
) -> None:
    """The halt is each round's, so that a node that is right again heals it."""
    follower.deployed.anvil.mine(70)
    alone.rounds(6)
    final = alone.ask("eth_getBlockByNumber", "latest", False)
    alone.wire.view = lambda call, result: (
        final if is_header(call) and call["params"][0] == "finalized" else result
    )
    alone.rounds(70, every=30)
    follower.deployed.anvil.reorg(12)
    follower.deployed.anvil.mine(12)
    before = alone.tip.cursor
    alone.rounds(8)
    assert (alone.tip.cursor, alone.reorgs) == (before, 0)
    assert alone.errors["FinalityBrokenError"] >= 7

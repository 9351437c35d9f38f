"""What two nodes call final: they agree only about a block that both hold, and one that stands
still holds nothing up.
"""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import select

from core.blocks import queries as repository
from core.blocks.queries import DEEP, FINALIZED, SAFE, SPONSORED_CONFIRMED, Cursor
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.clocked import NO_BLOOM, Clocked, View, true
from tests.integration.indexer.conftest import Follower, Issued
from tests.integration.indexer.test_wrong_nodes import is_header

Working = tuple[Issued, str]


@pytest.fixture
def nodes(follower: Follower, working: Working) -> Iterator[Callable[..., Clocked]]:
    """Makes a follower of these hosts."""
    made: list[Clocked] = []
    yield lambda *hosts: made.append(Clocked(follower, *hosts)) or made[-1]  # type: ignore[func-returns-value]
    for clocked in made:
        clocked.close()


def mark(clocked: Clocked) -> Cursor | None:
    with clocked.follower.database.read() as session:
        return repository.cursor(session, FINALIZED)


def own_branch(clocked: Clocked, *, final_lies: bool) -> View:
    """From now on blocks of its own, empty, as high as the chain is; with `final_lies` it calls its
    own final, two behind the chain's.
    """
    base_at = clocked.height
    base = clocked.ask("eth_getBlockByNumber", hex(base_at), False)

    def name(number: int) -> str:
        return str(base["hash"]) if number == base_at else f"0x{'ab' * 24}{number:016x}"

    def block(number: int) -> dict[str, object]:
        names = {"hash": name(number), "parentHash": name(number - 1)}
        return {**base, **names, "number": hex(number), "transactions": [], "logsBloom": NO_BLOOM}

    def view(call: dict[str, list[str]], result: object) -> object:
        if call["method"] == "eth_getBlockByHash":
            is_own = call["params"][0].startswith("0x" + "ab" * 24)
            return block(int(call["params"][0][-16:], 16)) if is_own else result
        if not is_header(call):
            return result
        tag, top = call["params"][0], clocked.height
        if tag in ("safe", "finalized"):
            return block(top - 66) if final_lies and top - 66 > base_at else result
        number = top if tag == "latest" else int(tag, 16)
        return result if number <= base_at else block(number) if number <= top else None

    return view


@pytest.mark.slow
@pytest.mark.parametrize(
    "final_lies", [False, True], ids=["its final is the chain's", "its final is its own"]
)
def test_two_nodes_that_disagree_about_a_block__are_no_agreement(
    follower: Follower, nodes: Callable[..., Clocked], working: Working, final_lies: bool
) -> None:
    """The heights once counted as agreement, and the record halted for good on the false branch."""
    _, vault = working
    clocked = nodes("first", "second")
    clocked.rounds(2)
    clocked.wire.view = own_branch(clocked, final_lies=final_lies)
    clocked.rounds(90, every=1)
    assert clocked.errors["FinalityDisputedError"] > 0
    clocked.wire.view = true  # the node is mended
    follower.deployed.buy(vault, 10 * USDC)
    clocked.rounds(60)
    assert clocked.is_at_head
    assert follower.story(working[0])[-1] == "move"


@pytest.mark.parametrize(
    "final_lies", [False, True], ids=["its final is the chain's", "its final is its own"]
)
def test_a_range_up_to_what_two_nodes_call_final__ends_on_that_very_block(
    follower: Follower, nodes: Callable[..., Clocked], final_lies: bool
) -> None:
    clocked = nodes("first", "second")
    clocked.rounds(2)
    clocked.wire.view = own_branch(clocked, final_lies=final_lies)
    follower.deployed.anvil.mine(300)  # the indexer was away
    clocked.round()
    assert clocked.tip._backfill.log_calls == 0
    for _ in range(7 if not final_lies else 0):
        clocked.round()
    final = clocked.ask("eth_getBlockByNumber", "finalized", False)
    with follower.database.read() as session:
        ours = repository.canonical_hash(session, follower.chain.chain_id, int(final["number"], 16))
    assert ours in (None, final["hash"])


@pytest.mark.slow
def test_a_finalized_that_stands_still__holds_the_mark_no_further_back_than_is_deep(
    follower: Follower, nodes: Callable[..., Clocked]
) -> None:
    """The mark stood at 1, and a machine that started again took the history block by block."""
    clocked = nodes("second", "first")
    old = clocked.ask("eth_getBlockByNumber", "0x1", False)
    clocked.wire.view = lambda call, result: (
        old if is_header(call) and call["params"][0] == "finalized" else result
    )
    follower.deployed.anvil.mine(600)
    clocked.round()
    assert clocked.tip._backfill.log_calls > 0  # a range
    clocked.rounds(20)
    found = mark(clocked)
    assert found is not None
    assert clocked.height - DEEP - 10 <= found.number <= clocked.height - DEEP


@pytest.mark.slow
def test_a_false_finalized__does_not_lift_the_mark_above_what_the_other_node_holds_deep(
    follower: Follower, nodes: Callable[..., Clocked]
) -> None:
    clocked = nodes("first", "second")
    clocked.wire.view = lambda call, result: (
        clocked.ask("eth_getBlockByNumber", hex(clocked.height - 1), False)
        if is_header(call) and call["params"][0] == "finalized"
        else result
    )
    follower.deployed.anvil.mine(100)
    clocked.rounds(80, every=4)
    found, final = mark(clocked), clocked.ask("eth_getBlockByNumber", "finalized", False)
    assert found is not None
    assert found.number <= int(final["number"], 16)


def test_a_slow_node__is_asked_about_finality_less_often(nodes: Callable[..., Clocked]) -> None:
    """Two answers of 2.9 s each once took more than the five seconds between two looks."""
    clocked = nodes("first", "second")
    asked = [0.0]

    def slow(call: dict[str, list[str]], result: object) -> object:
        clocked.pass_time(0.9)
        asked[0] += 0.9
        return result

    clocked.wire.views["second"] = slow
    begun = clocked.second
    for _ in range(40):
        clocked.pass_time(5)
        clocked.tip.note_finality()
    assert asked[0] <= (clocked.second - begun) * 0.15


def test_a_rollback__takes_the_marks_back_to_a_block_whose_time_is_agreed(
    follower: Follower, nodes: Callable[..., Clocked]
) -> None:
    """They stood at the common ancestor, whose time was the first node's word: by a later one an
    authorization had ended that was still good.
    """
    clocked = nodes("first", "second")
    follower.deployed.anvil.mine(100)
    clocked.rounds(10)
    early = clocked.height + 1
    clocked.wire.view = lambda call, result: (
        {**result, "timestamp": hex(int(result["timestamp"], 16) + 3_600)}
        if is_header(call) and result and int(result["number"], 16) == early
        else result
    )
    clocked.rounds(6)
    clocked.wire.view = true
    follower.deployed.anvil.mine(50)
    clocked.rounds(10)
    follower.restart(reader=follower.chain.reader)
    follower.sponsored_uses.round()
    follower.deployed.anvil.reorg(clocked.height - early)
    clocked.round()
    assert clocked.reorgs == 1
    with follower.database.read() as session:
        for tag in (SAFE, SPONSORED_CONFIRMED):
            at, second = session.execute(
                select(repository.number_of_mark(tag), repository.time_of_mark(tag))
            ).one()
            assert at <= early
            assert second == int(
                clocked.ask("eth_getBlockByNumber", hex(at), False)["timestamp"], 16
            )


def test_a_first_node_that_calls_its_newest_block_final__moves_no_mark_while_the_other_is_away(
    follower: Follower, nodes: Callable[..., Clocked], working: Working
) -> None:
    """As Erigon was reported to call it safe (erigontech/erigon 15498). The mark rose to the head, and
    the next reorg halted the record for good.
    """
    mandate, vault = working
    clocked = nodes("first", "second")
    clocked.wire.view = lambda call, result: (
        clocked.ask("eth_getBlockByNumber", hex(clocked.height - 2), False)
        if is_header(call) and call["params"][0] == "finalized"
        else result
    )
    clocked.wire.dead = {"second"}
    clocked.rounds(20)
    follower.deployed.buy(vault, USDC)
    clocked.rounds(14)
    follower.deployed.anvil.reorg(8)
    clocked.wire.dead = set()
    clocked.rounds(30)
    assert clocked.errors == {}
    assert clocked.is_at_head
    assert clocked.reorgs == 1
    assert follower.story(mandate)[-1] == "deposit"

"""What a thief tries at the reserve token's record: nodes that make up money, damage that sums hide."""

import math
from collections.abc import Callable
from typing import Any

import pytest

from core.blocks.queries import RESERVE_CONFIRMED, Cursor
from core.credits.rules.buckets import Credits
from core.reserve.decode import CONVERTED_TOPIC
from indexer.chain.confirmed_range import ConfirmedRanges
from indexer.chain.reserve import Crediting
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.clocked import Clocked, View
from tests.integration.indexer.conftest import Follower, now_utc
from tests.integration.indexer.test_reserve import (
    ONE,
    account,
    balance,
    call_it_safe,
    following,
    reference,
    statuses,
    token,
)
from tests.integration.reserve_token import TokenOnChain
from tests.personas import AGENT, OWNER

__all__ = ["following", "token"]
FORGED_USDC = 50 * USDC
FORGED_HASH = "0x" + "11" * 32
REST_ROUNDS = 35  # by then a node that was away is asked again


def makes_up(paid: int) -> View:
    """A node that says of each conversion that it was worth so much: a bloom does not cover what stands
    in a log's body.
    """

    def changed(found: Any) -> Any:
        if isinstance(found, list):
            return [changed(one) for one in found]
        if not isinstance(found, dict):
            return found
        if found.get("topics", [None])[:1] == [CONVERTED_TOPIC]:
            return {**found, "data": found["data"][:66] + f"{paid:064x}"}
        return {**found, "logs": changed(found["logs"])} if "logs" in found else found

    return lambda call, result: changed(result)


@pytest.fixture
def nodes(following: Follower) -> Any:
    made = list[Clocked]()

    def make(*hosts: str) -> Clocked:
        made.append(Clocked(following, *hosts))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_conversion_that_one_node_makes_larger__is_not_credited(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    mine = account(following.database)
    ref = reference(following.database, mine)
    token.buy(OWNER, 500 * USDC)
    token.buy(AGENT, 102 * USDC)
    clocked = nodes("first", "second")
    clocked.rounds(4)
    clocked.wire.view = makes_up(FORGED_USDC)
    token.convert(AGENT, ONE, ref)  # about 0.01 USDC
    clocked.rounds(4)
    assert statuses(following.database) == ["waiting"]
    clocked.follower._tip = clocked.tip
    call_it_safe(following)
    crediting = Crediting(following.chain, now_utc)
    crediting.round()
    assert balance(following.database, mine) == Credits()
    assert statuses(following.database) == ["waiting"]


def test_a_conversion_that_no_node_confirms_now__waits(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    mine = account(following.database)
    ref = reference(following.database, mine)
    token.buy(AGENT, 102 * USDC)
    token.unlock()
    token.convert(AGENT, 4_000 * ONE, ref)
    clocked = nodes("first", "second")
    clocked.rounds(4)
    clocked.follower._tip = clocked.tip
    call_it_safe(following)
    clocked.wire.dead = {"first", "second"}
    crediting = Crediting(following.chain, now_utc)
    crediting.round()
    assert statuses(following.database) == ["waiting"]
    clocked.wire.dead = {"first"}
    clocked.rounds(2)
    crediting.round()
    assert statuses(following.database) == ["waiting"], "the other one's word alone"
    clocked.wire.dead = set()
    clocked.rounds(REST_ROUNDS)
    crediting.round()
    assert balance(following.database, mine) == Credits(converted=4_079)


def test_a_position_that_a_reorg_took_back_since_it_was_read__is_confirmed_later(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    clocked = nodes("first", "second")
    clocked.rounds(4)
    ranges = ConfirmedRanges(following.chain, RESERVE_CONFIRMED, now_utc)
    at = clocked.tip.cursor
    for gone in (Cursor(at.number + 1, FORGED_HASH), Cursor(at.number, FORGED_HASH)):
        with following.database.read() as session:
            before = ranges.at(session)
        assert ranges.confirm(before, gone, math.inf, lambda *_: [], never) == before


def never(*_: Any) -> None:
    raise AssertionError("nothing is confirmed")


def test_amounts_that_no_contract_can_have__stop_no_block(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    """Each fits its column; their sum does not."""
    ref = reference(following.database, account(following.database))
    token.buy(AGENT, 102 * USDC)
    clocked = nodes("first")
    clocked.rounds(4)
    clocked.wire.view = makes_up(2**256 - 1)
    for _ in range(10):
        token.convert(AGENT, ONE, ref)
    clocked.rounds(12)
    assert clocked.tip.cursor.number == following.deployed.reader.block_number()
    assert statuses(following.database) == []

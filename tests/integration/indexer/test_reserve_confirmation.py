"""What a node made up in the token's record at the tip is taken out again (docs/reserve.md#lies)."""

import time
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from api.areas.reserve.jobs import run
from core.blocks import queries as blocks
from core.blocks.queries import RESERVE_FOLLOWED
from core.chain.abi import events_of
from core.credits.rules.buckets import Credits
from core.reserve import queries
from core.reserve.queries import ReserveState
from indexer.chain.reserve import Crediting
from tests.integration.chain_fixtures import USDC
from tests.integration.indexer.clocked import NO_BLOOM, Clocked, View, true
from tests.integration.indexer.conftest import Follower, now_utc
from tests.integration.indexer.test_reserve import (
    ONE,
    account,
    balance,
    call_it_safe,
    credit_all,
    following,
    found_faults,
    reference,
    statuses,
    token,
)
from tests.integration.indexer.test_reserve_attacks import nodes
from tests.integration.indexer.test_reserve_job import place
from tests.integration.reserve_token import TokenOnChain
from tests.personas import AGENT, OWNER

__all__ = ["following", "nodes", "token"]
WORD = 64


def alters(event: str, word: int, more: int) -> View:
    """A node that adds so much to a word of each such event's body."""
    topic = next(topic for topic, one in events_of("ReserveToken").items() if one.name == event)

    def changed(found: Any) -> Any:
        if isinstance(found, list):
            return [changed(one) for one in found]
        if not isinstance(found, dict):
            return found
        if found.get("topics", [None])[:1] == [topic]:
            start = len("0x") + word * WORD
            data = found["data"]
            value = int(data[start : start + WORD], 16) + more
            return {**found, "data": f"{data[:start]}{value:064x}{data[start + WORD :]}"}
        return {**found, "logs": changed(found["logs"])} if "logs" in found else found

    return lambda call, result: changed(result)


def hides(number: int) -> View:
    """A node whose block of that height is empty."""

    def said(call: dict[str, Any], result: Any) -> Any:
        is_block = call["method"].startswith("eth_getBlockBy") and isinstance(result, dict)
        if is_block and int(result["number"], 16) == number:
            return {**result, "transactions": [], "logsBloom": NO_BLOOM}
        is_receipts = call["method"] == "eth_getBlockReceipts" and result
        return [] if is_receipts and int(result[0]["blockNumber"], 16) == number else result

    return said


def state(following: Follower) -> ReserveState:
    with following.database.read() as session:
        found = queries.state(session)
    assert found is not None
    return found


def is_the_contracts(following: Follower, token: TokenOnChain) -> bool:
    found = state(following)
    ours = found.totals.reserve_e6, found.totals.supply, found.totals.owed_e6
    names = ("reserve()", "totalSupply()", "treasuryOwed()")
    theirs = tuple(token.number(name) for name in names)
    return (ours, found.totals.lock.until_ns) == (theirs, token.locked()[1])


def told_a_lie(following: Follower, clocked: Clocked, view: View) -> None:
    """The first node lies from now on."""
    run(place(following.chain, following.deployed), now_utc())
    clocked.rounds(4)
    clocked.wire.view = view


def read_on(following: Follower, clocked: Clocked) -> None:
    clocked.rounds(8)
    clocked.follower._tip = clocked.tip
    run(place(following.chain, following.deployed), now_utc())


def confirmed(following: Follower) -> None:
    call_it_safe(following)
    credit_all(following, rounds=4)


@pytest.mark.parametrize(
    ("event", "word", "more"),
    [("Bought", 0, 7), ("Redeemed", 1, 3)],
)
def test_a_lie_about_an_amount__is_replaced_by_what_nodes_agree_about(
    following: Follower,
    token: TokenOnChain,
    nodes: Callable[..., Clocked],
    event: str,
    word: int,
    more: int,
) -> None:
    """It stayed in each later number until the record was rebuilt."""
    token.buy(OWNER, 50 * USDC)
    clocked = nodes("first", "second")
    told_a_lie(following, clocked, alters(event, word, more))
    token.buy(AGENT, 102 * USDC)
    token.redeem(AGENT, 1_000 * ONE)
    clocked.rounds(4)
    clocked.wire.views = {}
    token.buy(AGENT, 5 * USDC)
    read_on(following, clocked)
    assert not is_the_contracts(following, token)
    confirmed(following)
    assert is_the_contracts(following, token)
    assert found_faults(following, token) == []
    assert run(place(following.chain, following.deployed), now_utc()) == {"differences": 0}


def test_a_lie_about_the_time_of_a_purchase__is_replaced(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    """What a purchase locks is unlocked by its block's time: it was the first node's word for ever."""
    token.buy(OWNER, 50 * USDC)
    clocked = nodes("first", "second")
    told_a_lie(following, clocked, true)
    bought = token.buy(AGENT, 102 * USDC).block_number

    def later(call: dict[str, Any], result: Any) -> Any:
        is_it = call["method"].startswith("eth_getBlockBy") and int(result["number"], 16) == bought
        return {**result, "timestamp": hex(int(result["timestamp"], 16) + 1)} if is_it else result

    clocked.wire.view = later
    read_on(following, clocked)
    assert not is_the_contracts(following, token)
    confirmed(following)
    assert not is_the_contracts(following, token), "the two disagree"
    clocked.wire.views = {}
    confirmed(following)
    assert is_the_contracts(following, token)


def test_a_node_that_says_one_blocks_time_several_times__is_one_node(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    """It answered for another block with that one, and counted twice."""
    token.buy(OWNER, 50 * USDC)
    clocked = nodes("first", "second", "third")
    told_a_lie(following, clocked, true)
    token.buy(OWNER, 5 * USDC)
    bought = hex(token.buy(AGENT, 102 * USDC).block_number)

    def later(call: dict[str, Any], result: Any) -> Any:
        if call["method"] != "eth_getBlockByHash":
            return result
        block = clocked.ask("eth_getBlockByNumber", bought, False)
        return {**block, "timestamp": hex(int(block["timestamp"], 16) + 3_600)}

    read_on(following, clocked)
    clocked.wire.views = {"third": later}
    confirmed(following)
    assert is_the_contracts(following, token)


def test_a_node_that_gives_no_headers_in_time__is_not_said_to_disagree(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    """A plan of few calls a second does not cover those of a long range at once."""
    token.buy(OWNER, 50 * USDC)
    clocked = nodes("first", "second")
    clocked.rounds(4)
    clocked.follower._tip = clocked.tip
    by_hash = "eth_getBlockByHash"
    clocked.wire.views["second"] = lambda call, result: (
        None if call["method"] == by_hash else result
    )
    call_it_safe(following)
    with capture_logs() as said:
        credit_all(following)
    assert [one["event"] for one in said if one["log_level"] == "error"] == []


def test_a_lie_about_a_conversion__is_replaced_and_the_true_one_is_credited(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    mine = account(following.database)
    ref = reference(following.database, mine)
    token.buy(AGENT, 102 * USDC)
    token.unlock()
    clocked = nodes("first", "second")
    told_a_lie(following, clocked, alters("ConvertedToCredit", 1, 5))
    token.convert(AGENT, 4_000 * ONE, ref)
    read_on(following, clocked)
    call_it_safe(following)
    credit_all(following)
    assert statuses(following.database) == ["waiting"], "the two disagree"
    clocked.wire.views = {}
    credit_all(following, rounds=4)
    assert balance(following.database, mine) == Credits(converted=4_079)
    assert found_faults(following, token) == []


def test_a_conversion_that_was_credited_by_a_lie__is_taken_back_and_credited_as_it_was(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    """Of a service whose only node lies for a while."""
    mine = account(following.database)
    ref = reference(following.database, mine)
    token.buy(AGENT, 102 * USDC)
    token.unlock()
    clocked = nodes("first")
    told_a_lie(following, clocked, alters("ConvertedToCredit", 1, 20 * 10**6))
    token.convert(AGENT, 4_000 * ONE, ref)
    read_on(following, clocked)
    call_it_safe(following)
    credit_all(clocked.follower)
    assert balance(following.database, mine) == Credits(converted=6_079)
    clocked.wire.views = {}
    run(place(following.chain, following.deployed), now_utc())  # the contract says otherwise
    confirmed(following)
    assert balance(following.database, mine) == Credits(converted=4_079)
    assert found_faults(following, token) == []


def test_a_block_that_was_hidden__is_found_among_all_since_both_were_the_same(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    token.buy(OWNER, 50 * USDC)
    clocked = nodes("first")
    told_a_lie(following, clocked, true)
    clocked.wire.view = hides(token.buy(AGENT, 102 * USDC).block_number)
    token.redeem(AGENT, 1_000 * ONE)
    read_on(following, clocked)
    clocked.wire.views = {}
    assert not is_the_contracts(following, token)
    confirmed(following)
    assert is_the_contracts(following, token)
    assert found_faults(following, token) == []


def test_a_block_that_was_away_while_a_lie_was_repaired__has_the_right_numbers_once_it_is_back(
    following: Follower, token: TokenOnChain
) -> None:
    """Its rows stood as they were reckoned with the lie, and the repair took them for right."""
    chain = following.deployed
    token.buy(OWNER, 50 * USDC)
    token.fund(AGENT, 5 * USDC)
    following.catch_up()
    run(place(following.chain, chain), now_utc())
    lie = "usdc_e6 = usdc_e6 + 7, reserve_after_e6 = reserve_after_e6 + 7"
    with following.database.write() as session:
        session.execute(text(f"update reserve_event set {lie} where kind = 'bought'"))
    raw = chain.sign(AGENT, token.address, token.buy_data(AGENT, 5 * USDC))
    snapshot, at = chain.anvil.snapshot(), chain.now + 10

    def bought() -> str:
        chain.rpc.call("evm_setNextBlockTimestamp", [at])
        chain.rpc.call("anvil_setNextBlockBaseFeePerGas", [hex(10**9)])
        chain.rpc.call("eth_sendRawTransaction", [raw])
        while chain.now != at:
            time.sleep(0.002)
        following.catch_up()
        return state(following).block_hash

    first = bought()
    chain.anvil.revert(snapshot)
    snapshot = chain.anvil.snapshot()
    chain.rpc.call("evm_setNextBlockTimestamp", [at + 1])
    chain.anvil.mine(1)
    following.catch_up()
    run(place(following.chain, chain), now_utc())
    assert not is_the_contracts(following, token)
    confirmed(following)
    assert is_the_contracts(following, token)
    chain.anvil.revert(snapshot)
    assert bought() == first
    assert is_the_contracts(following, token)


def test_a_second_node_one_block_behind__does_not_hold_up_that_the_token_is_followed(
    follower: Follower, token: TokenOnChain
) -> None:
    token.buy(AGENT, 102 * USDC)
    follower.catch_up()
    follower.be_safe()
    follower.restart(reserve_token=token.address)
    clocked = Clocked(follower, "first", "second")

    def behind(call: Any, result: Any) -> Any:
        if call["method"] != "eth_getBlockByNumber":
            return result
        if call["params"][0] == "latest":
            return clocked.ask("eth_getBlockByNumber", hex(clocked.height - 1), False)
        return None if call["params"][0] == hex(clocked.height) else result

    clocked.wire.views = {"second": behind}
    clocked.follower._tip = clocked.tip
    crediting = Crediting(follower.chain, now_utc)
    try:
        for _ in range(5):
            clocked.rounds(2)
            crediting.round()
    finally:
        clocked.close()
    with follower.database.read() as session:
        assert blocks.cursor(session, RESERVE_FOLLOWED) is not None


def test_nodes_that_give_logs_of_few_blocks_at_once__let_the_token_be_followed(
    follower: Follower, token: TokenOnChain
) -> None:
    """As free plans do; the newest blocks were asked for in one piece, so that it never began."""

    def of_ten_blocks(call: Any, result: Any) -> Any:
        if call["method"] != "eth_getLogs":
            return result
        first, last = (int(call["params"][0][name], 16) for name in ("fromBlock", "toBlock"))
        return result if last - first < 10 else None

    token.buy(AGENT, 102 * USDC)
    follower.catch_up()
    follower.be_safe()
    token.buy(OWNER, 5 * USDC)
    follower.catch_up()
    follower.restart(reserve_token=token.address)
    clocked = Clocked(follower, "first", "second")
    clocked.wire.views = dict.fromkeys(("first", "second"), of_ten_blocks)
    clocked.follower._tip = clocked.tip
    crediting = Crediting(follower.chain, now_utc)
    try:
        for _ in range(12):
            clocked.rounds(1)
            crediting.round()
        assert is_unknown(follower)
        follower.be_safe()
        for _ in range(12):
            clocked.rounds(1)
            crediting.round()
        assert is_the_contracts(follower, token)
    finally:
        clocked.close()


def is_unknown(follower: Follower) -> bool:
    with follower.database.read() as session:
        return queries.state(session) is None

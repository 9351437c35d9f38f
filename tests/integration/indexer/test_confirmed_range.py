"""What nodes are reported to answer to eth_getLogs, and which of it is believed of a range."""

import itertools
import math
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from api.areas.reserve.jobs import run
from core.blocks.queries import RESERVE_CONFIRMED, Cursor, canonical_hash
from core.chain.blocks import RawLog
from indexer.chain.confirmed_range import ConfirmedRanges
from indexer.chain.reserve import Crediting
from indexer.metrics import PREFIX
from tests.integration.chain_fixtures import CHAIN_ID, USDC
from tests.integration.indexer.clocked import Clocked, View, true
from tests.integration.indexer.conftest import Follower, now_utc
from tests.integration.indexer.test_reserve import (
    ONE,
    account,
    call_it_safe,
    following,
    reference,
    statuses,
    token,
)
from tests.integration.indexer.test_reserve_attacks import nodes
from tests.integration.indexer.test_reserve_job import place
from tests.integration.reserve_token import TokenOnChain
from tests.personas import AGENT, OWNER
from tests.slow import few

__all__ = ["following", "nodes", "token"]
HOSTS = ("first", "second", "third")
Log = dict[str, Any]


def of_logs(change: Callable[[list[Log]], Any]) -> View:
    """A node that says this of each range."""
    return lambda call, result: change(result) if call["method"] == "eth_getLogs" else result


def lags(call: dict[str, Any], result: Any) -> Any:
    """It has neither the last block nor its logs, and says so of the block alone."""
    if call["method"] == "eth_getLogs":
        return []
    is_last = call["method"] == "eth_getBlockByNumber" and call["params"][0].startswith("0x")
    return None if is_last else result


def changing(name: str, value: str) -> View:
    """The last log is of another block, place or transaction."""
    return of_logs(lambda logs: [*logs[:-1], *({**log, name: value} for log in logs[-1:])])


def in_capitals(logs: list[Log]) -> list[Log]:
    names = ("address", "blockHash", "data", "transactionHash")
    return [{**log, **{name: "0x" + log[name][2:].upper() for name in names}} for log in logs]


EMPTY = of_logs(lambda logs: [])
NULL = of_logs(lambda logs: None)
TWICE = of_logs(lambda logs: [*logs, *logs[:2]])
BACKWARDS = of_logs(lambda logs: logs[::-1])
CAPITALS = of_logs(in_capitals)
ONE_PLACE = of_logs(lambda logs: [{**log, "logIndex": "0x0"} for log in logs])
NOT_THE_LAST_BLOCK = of_logs(
    lambda logs: [log for log in logs if log["blockNumber"] != logs[-1]["blockNumber"]]
)
OF_AN_ORPHAN = changing("blockHash", "0x" + "11" * 32)
OF_ANOTHER_RANGE = changing("blockNumber", "0xffffff")
OTHER_INDEX = changing("logIndex", "0xff")
OTHER_TRANSACTION = changing("transactionHash", "0x" + "22" * 32)


def seldom() -> View:
    """One of the machines behind the address has no logs, and every other request goes to it."""
    turns = itertools.cycle([False, True])
    return of_logs(lambda logs: [] if next(turns) else logs)


# views, whether the range is confirmed, and which nodes are said to be apart
REPORTED: dict[str, tuple[tuple[View, ...], bool, tuple[str, ...]]] = {
    "geth 24078: behind, and silent about it": ((true, lags), False, ()),
    "geth 24078: with a third": ((true, lags, true), True, ()),
    "openethereum 424, reth 16354: empty": ((true, EMPTY), False, ("first", "second")),
    "openethereum 424, reth 16354: with a third": ((true, true, EMPTY), True, ("third",)),
    "lotus 13749: one machine of an only address has none": ((seldom(),), False, ("first",)),
    "erigon 15233: logs twice": ((TWICE, true), True, ()),
    "erigon 15233: of an only node": ((TWICE,), True, ()),
    "erigon 15219: several at one place": ((ONE_PLACE, ONE_PLACE), False, ()),
    "filecoin 12254: another index": ((true, OTHER_INDEX), False, ("first", "second")),
    "nethermind 1486: without the last block's": (
        (true, NOT_THE_LAST_BLOCK, true),
        True,
        ("second",),
    ),
    "nethermind 4384: of blocks that were not asked for": ((true, OF_ANOTHER_RANGE), False, ()),
    "geth 31593: of the branch before a reorg": ((OF_AN_ORPHAN, true, true), True, ("first",)),
    "geth 31593: of an only node": ((OF_AN_ORPHAN,), False, ()),
    "bane 291: of another transaction": ((true, true, OTHER_TRANSACTION), True, ("third",)),
    "null for none": ((NULL, true, true), True, ()),
    "not sorted, and in capitals": ((BACKWARDS, CAPITALS), True, ()),
    "three stories": ((true, EMPTY, OTHER_INDEX), False, HOSTS),
}


@pytest.mark.parametrize("case", few([*REPORTED], plain=4))
def test_what_nodes_are_reported_to_answer(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked], case: str
) -> None:
    views, is_confirmed, apart = REPORTED[case]
    token.buy(OWNER, 50 * USDC)
    token.buy(AGENT, 102 * USDC)
    clocked = nodes(*HOSTS[: len(views)])
    clocked.rounds(4)
    clocked.wire.views = dict(zip(HOSTS, views, strict=False))
    ranges = ConfirmedRanges(following.chain, RESERVE_CONFIRMED, now_utc)
    with following.database.read() as session:
        at = ranges.at(session)
    logs, to = list[RawLog](), clocked.tip.cursor
    wanted = [{"address": token.address}]
    true_logs, _ = following.deployed.reader.range_logs(at.number + 1, to.number, wanted)
    with capture_logs() as said:
        for _ in range(8):
            at = ranges.confirm(
                at, to, math.inf, lambda *_: wanted, lambda _, some: logs.extend(some.logs)
            )
    assert (logs, at == to) == (true_logs if is_confirmed else [], is_confirmed)
    assert sorted(name for one in said for name in one["nodes"]) == [f"{one}:80" for one in apart]


def test_a_second_node_that_answers_now_and_then__keeps_the_mark_moving(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    """Each answer that was missing halved the range, down to one block: slower than blocks come."""
    following.deployed.anvil.mine(60)
    clocked = nodes("first", "second")
    clocked.rounds(4)
    turns = itertools.cycle([5, 5, None])  # garbled twice
    clocked.wire.views = {"second": of_logs(lambda logs: next(turns) or logs)}
    ranges = ConfirmedRanges(following.chain, RESERVE_CONFIRMED, now_utc)
    with following.database.read() as session:
        at = ranges.at(session)
    to, wanted = clocked.tip.cursor, [{"address": token.address}]
    for _ in range(40):
        clocked.pass_time(3)
        at = ranges.confirm(at, to, math.inf, lambda *_: wanted, lambda *_: None)
    assert at == to


def test_record_and_contract_stay_apart__later_conversions_are_credited_all_the_same(
    following: Follower, token: TokenOnChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was confirmed since they were the same was asked for again each minute, from the first
    block on: with so many blocks that a minute was too short, nothing was credited any more.
    """
    confirm = ConfirmedRanges.confirm

    def some(ranges: ConfirmedRanges, at: Cursor, up_to: Cursor, *rest: Any) -> Cursor:
        """So many blocks as a turn has time for."""
        number = min(up_to.number, at.number + 8)
        with following.database.read() as session:
            found = canonical_hash(session, CHAIN_ID, number)
        assert found is not None
        return confirm(ranges, at, Cursor(number, found), *rest)

    monkeypatch.setattr(ConfirmedRanges, "confirm", some)
    ref = reference(following.database, account(following.database))
    token.buy(AGENT, 102 * USDC)
    following.catch_up()
    run(place(following.chain, following.deployed), now_utc())
    following.deployed.anvil.mine(20)
    token.convert(AGENT, ONE, ref)
    crediting = Crediting(following.chain, now_utc)
    apart = text(
        "update reserve_reading set number = tip.number, is_reconciled = false"
        " from chain_cursor tip where tip.name = 'tip'"
    )
    for _ in range(20):
        following.deployed.anvil.mine()
        following.catch_up()
        call_it_safe(following)
        with following.database.write() as session:
            session.execute(apart)
        crediting.round()
    assert statuses(following.database) == ["credited"]


def test_conversions_that_wait__show_for_how_long(
    following: Follower, token: TokenOnChain, nodes: Callable[..., Clocked]
) -> None:
    token.buy(AGENT, 102 * USDC)
    clocked = nodes("first", "second")
    clocked.rounds(4)
    clocked.follower._tip = clocked.tip
    call_it_safe(following)
    following.crediting.round()
    clocked.wire.views = {"second": EMPTY}
    token.wait(700)
    token.buy(AGENT, USDC)
    clocked.rounds(4)
    call_it_safe(following)
    following.crediting.round()
    registry = following.chain.metrics.registry
    name = PREFIX + "confirmed_behind_seconds"
    assert 700 <= (registry.get_sample_value(name, {"mark": RESERVE_CONFIRMED}) or 0) < 800

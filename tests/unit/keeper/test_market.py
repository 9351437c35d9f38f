"""Fees that no single node decides, and caps beside the market's."""

import json
from typing import Any

import httpx
import pytest

from core.chain.rpc import Rpc
from keeper.attempts import Fees
from keeper.market import GWEI, LEAST_CAP_WEI, MARKET_TIMES, MOST_TIP_WEI, Market, market
from tests.unit.keeper.readings import HEAD, VAULT

LIE = 10_000 * GWEI


def rpc_of(*nodes: dict[str, Any] | None) -> Rpc:
    """Nodes that answer so: method to result; None is one that is down."""

    def handle(request: httpx.Request) -> httpx.Response:
        answers = nodes[int(request.url.host[1:])]
        if answers is None:
            raise httpx.ConnectError("down")
        return httpx.Response(200, json=[{"id": call["id"], "result": answers.get(call["method"])} for call in json.loads(request.content)])

    return Rpc([f"http://n{n}" for n in range(len(nodes))], transport=httpx.MockTransport(handle))


def node(tip: int, base: int, balance: int = 5) -> dict[str, Any]:
    block = {"number": "0x7", "hash": HEAD.hash, "parentHash": HEAD.hash, "timestamp": "0x7", "logsBloom": "0x" + "00" * 256}
    return {
        "eth_maxPriorityFeePerGas": hex(tip),
        "eth_getBlockByNumber": block | {"transactions": [], "baseFeePerGas": hex(base)},
        "eth_getBalance": hex(balance),
    }


def asked(*nodes: dict[str, Any] | None) -> Market:
    return market(rpc_of(*nodes), [VAULT], HEAD)


def test_market__a_node_that_lies__does_not_decide() -> None:
    honest = node(GWEI, 3 * GWEI)
    for lying in (node(LIE, LIE), node(0, 0)):
        found = asked(lying, honest, honest)
        assert (found.tip_wei, found.base_fee_wei) == (GWEI, 3 * GWEI)


def test_market__of_two_tips__the_lower_is_offered() -> None:
    assert asked(node(LIE, 3 * GWEI), node(GWEI, 3 * GWEI)).tip_wei == GWEI


def test_market__one_node_alone__is_believed_within_bounds() -> None:
    assert asked(node(LIE, GWEI)).tip_wei == MOST_TIP_WEI
    assert asked(node(LIE, 50 * GWEI)).tip_wei == 100 * GWEI


def test_market__a_node_that_is_down__is_left_out() -> None:
    assert asked(None, node(GWEI, 3 * GWEI)).base_fee_wei == 3 * GWEI


@pytest.mark.parametrize("junk", [None, "0x", "no", 7, {}, []])
def test_market__junk__is_no_number(junk: Any) -> None:
    found = asked({"eth_maxPriorityFeePerGas": junk, "eth_getBlockByNumber": junk, "eth_getBalance": junk}, node(GWEI, 3 * GWEI, 9))
    assert (found.tip_wei, found.base_fee_wei, found.balances_wei) == (GWEI, 3 * GWEI, {VAULT: 9})


def test_market__a_balance__is_the_most_that_any_node_tells() -> None:
    assert asked(node(1, 1, 0), node(1, 1, 7)).balances_wei == {VAULT: 7}


def test_raised__row_after_row__ends_at_a_multiple_of_the_market() -> None:
    here = Market(base_fee_wei=3 * GWEI, tip_wei=GWEI, balances_wei={})
    last, offers = Fees(7 * GWEI, GWEI), 0
    while (raised := here.raised(last, 1_000_000 * GWEI)) is not None:
        last, offers = raised, offers + 1
        assert offers < 100
    assert last.max_fee_wei <= MARKET_TIMES * 7 * GWEI
    assert last.max_priority_fee_wei <= MARKET_TIMES * GWEI


def test_raised__where_gas_costs_next_to_nothing__there_is_still_room() -> None:
    assert Market(base_fee_wei=7, tip_wei=1, balances_wei={}).cap_wei(100 * GWEI) == LEAST_CAP_WEI

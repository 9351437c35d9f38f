"""Fees that no single node decides, and caps beside the market's."""

import json
from typing import Any

import httpx
import pytest

from core.chain.nodes import Nodes
from keeper.attempts import Fees
from keeper.market import (
    GWEI,
    LEAST_CAP_WEI,
    LEAST_STOP_TIP_WEI,
    MARKET_TIMES,
    MOST_TIP_WEI,
    Market,
    NodeAnswers,
    market,
)
from tests.each import each
from tests.unit.keeper.readings import HEAD, VAULT

LIE = 10_000 * GWEI
SETTING = 500 * GWEI


def same(number: int) -> NodeAnswers:
    return NodeAnswers(number, number, number)


def rpc_of(*nodes: dict[str, Any] | None) -> Nodes:
    """Nodes that answer so: method to result; None is one that is down."""

    def handle(request: httpx.Request) -> httpx.Response:
        answers = nodes[int(request.url.host[1:])]
        if answers is None:
            raise httpx.ConnectError("down")
        return httpx.Response(
            200,
            json=[
                {"id": call["id"], "result": answers.get(call["method"])}
                for call in json.loads(request.content)
            ],
        )

    return Nodes([f"http://n{n}" for n in range(len(nodes))], transport=httpx.MockTransport(handle))


def node(tip: int, base: int, balance: int = 5) -> dict[str, Any]:
    block = {
        "number": "0x7",
        "hash": HEAD.hash,
        "parentHash": HEAD.hash,
        "timestamp": "0x7",
        "logsBloom": "0x" + "00" * 256,
    }
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
        assert (found.tip_wei.middle, found.base_fee_wei.middle) == (GWEI, 3 * GWEI)


def test_market__of_two_tips__the_lower_is_offered() -> None:
    assert asked(node(LIE, 3 * GWEI), node(GWEI, 3 * GWEI)).tip_wei.middle == GWEI


def test_market__one_node_alone__is_believed_within_bounds() -> None:
    assert asked(node(LIE, GWEI)).tip_wei.most == MOST_TIP_WEI
    assert asked(node(LIE, 50 * GWEI)).tip_wei.most == 100 * GWEI


def test_market__a_node_that_is_down__is_left_out() -> None:
    assert asked(None, node(GWEI, 3 * GWEI)).base_fee_wei == same(3 * GWEI)


@each("junk", [None, "0x", "no", 7, {}, []])
def test_market__junk__is_no_number(junk: Any) -> None:
    found = asked(
        {"eth_maxPriorityFeePerGas": junk, "eth_getBlockByNumber": junk, "eth_getBalance": junk},
        node(GWEI, 3 * GWEI, 9),
    )
    assert (found.tip_wei, found.base_fee_wei, found.balances_wei) == (
        same(GWEI),
        same(3 * GWEI),
        {VAULT: 9},
    )


def test_market__a_balance__is_the_most_that_any_node_tells() -> None:
    assert asked(node(1, 1, 0), node(1, 1, 7)).balances_wei == {VAULT: 7}


def test_market__what_a_balance_surely_is__is_the_lower_median() -> None:
    assert asked(node(1, 1, 7), node(1, 1, 10**30)).sure_wei == {VAULT: 7}
    assert asked(node(1, 1, 0), node(1, 1, 7), node(1, 1, 7)).sure_wei == {VAULT: 7}


def test_market__what_is_paid__is_gone_from_both() -> None:
    found = asked(node(1, 1, 7), node(1, 1, 9))
    found.pay(VAULT, 5)
    assert (found.balances_wei, found.sure_wei) == ({VAULT: 4}, {VAULT: 2})


def raises(here: Market, *, is_stop: bool, most: int = 100) -> list[Fees]:
    """The first offer and each replacement until there is none."""
    offer, offers = here.offered(SETTING, is_stop=is_stop), list[Fees]()
    while offer is not None and len(offers) < most:
        offers.append(offer.fees)
        offer = here.raised(offer.fees, SETTING, is_stop=is_stop)
    return offers


@pytest.mark.parametrize("is_stop", [True, False])
def test_raised__row_after_row__ends_at_a_multiple_of_the_market(is_stop: bool) -> None:
    offers = raises(Market(same(3 * GWEI), same(GWEI), {}, {}), is_stop=is_stop)
    assert 1 < len(offers) < 100
    assert offers[-1].max_fee_wei <= MARKET_TIMES * 7 * GWEI
    assert offers[-1].max_priority_fee_wei <= MARKET_TIMES * GWEI


def test_a_stop__one_of_two_nodes_tells_no_tip__offers_what_a_node_takes_at_once_and_what_the_other_tells_next() -> (
    None
):
    offers = raises(asked(node(0, GWEI), node(GWEI, GWEI)), is_stop=True)
    assert [offer.max_priority_fee_wei for offer in offers[:2]] == [LEAST_STOP_TIP_WEI, GWEI]


def test_a_stop__every_node_tells_no_tip__still_offers_one() -> None:
    assert (
        raises(Market(same(GWEI), same(0), {}, {}), is_stop=True)[0].max_priority_fee_wei
        == LEAST_STOP_TIP_WEI
    )


@pytest.mark.parametrize("is_stop", [True, False])
def test_a_base_fee_above_the_cap_at_one_of_two_nodes__offers_the_cap(is_stop: bool) -> None:
    found = asked(node(GWEI, LIE), node(GWEI, 3 * GWEI))
    offer = found.offered(SETTING, is_stop=is_stop)
    assert offer is not None
    assert offer.fees == Fees(SETTING, GWEI)
    assert offer.within(4 * GWEI) == Fees(4 * GWEI, GWEI)
    assert offer.within(4 * GWEI - 1) is None


def test_a_base_fee_above_the_cap_at_every_node__waits() -> None:
    assert Market(same(SETTING + 1), same(GWEI), {}, {}).offered(SETTING, is_stop=True) is None


def test_a_base_fee_too_low_at_one_of_two_nodes__the_next_offer_follows_the_other() -> None:
    found = Market(NodeAnswers(0, 0, 30 * GWEI), same(GWEI), {}, {})
    assert raises(found, is_stop=True)[1].max_fee_wei == 61 * GWEI


def test_raised__where_gas_costs_next_to_nothing__there_is_still_room() -> None:
    assert Market(same(7), same(1), {}, {}).cap_wei(100 * GWEI) == LEAST_CAP_WEI

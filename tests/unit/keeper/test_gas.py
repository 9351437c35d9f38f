"""Fees that no single node decides, and caps beside the market's."""

import json
from typing import Any

import httpx
import pytest

from core.chain.nodes import Nodes
from keeper.gas import (
    GWEI,
    LEAST_CAP_WEI,
    LEAST_STOP_TIP_WEI,
    MARKET_TIMES,
    MOST_TIP_WEI,
    Fees,
    Market,
    NodeAnswers,
    Quotes,
    bumped,
    quotes,
)
from tests.each import each
from tests.node_transport import in_threads
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

    return Nodes(
        [f"http://n{n}" for n in range(len(nodes))],
        transport=in_threads(httpx.MockTransport(handle)),
    )


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
        "eth_getTransactionCount": "0x5",
    }


def asked(*nodes: dict[str, Any] | None) -> Market:
    return quotes(rpc_of(*nodes), [VAULT]).market


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


# Offers


@each(
    ("base_gwei", "tip_gwei", "offered"),
    [(3, 1, (7, 1)), (30, 1, (50, 1)), (50, 1, (50, 1)), (51, 1, None), (0, 90, (50, 50))],
)
def test_offered__is_twice_the_base_fee_plus_the_tip_within_the_cap(
    base_gwei: int, tip_gwei: int, offered: tuple[int, int] | None
) -> None:
    market = Market(same(base_gwei * GWEI), same(tip_gwei * GWEI), {}, {})
    found = market.offered(50 * GWEI, is_stop=False)
    fees = None if offered is None else Fees(offered[0] * GWEI, offered[1] * GWEI)
    assert (found and found.fees) == fees


@each(("last", "next_"), [(0, 1), (1, 2), (8, 9), (9, 11), (1_000, 1_125), (GWEI, 1_125_000_000)])
def test_bumped__offers_an_eighth_more_rounded_up(last: int, next_: int) -> None:
    assert bumped(Fees(last, last), None, 50 * GWEI) == Fees(next_, next_)


def test_bumped__never_below_the_market() -> None:
    assert bumped(Fees(GWEI, 1), Fees(9 * GWEI, 5), 50 * GWEI) == Fees(9 * GWEI, 5)


def test_bumped__a_priority_above_the_fee__raises_the_fee_with_it() -> None:
    assert bumped(Fees(1, 1), Fees(3, 7), 50) == Fees(7, 7)


def test_bumped__at_the_cap_and_one_wei_above_it() -> None:
    assert bumped(Fees(8, 8), None, 9) == Fees(9, 9)
    assert bumped(Fees(8, 8), None, 8) is None


# Counts


def told(*counts: tuple[int, int]) -> Quotes:
    """Nodes that name these counts, pending and mined."""
    answers = {
        f"n{n}": [GWEI, None, 5, pending, mined] for n, (pending, mined) in enumerate(counts)
    }
    return Quotes(answers, [VAULT])


@each(
    ("counts", "pending", "count", "mined"),
    [
        ([(7, 5)], [7], 5, 5),
        ([(7, 5), (4, 4)], [7, 4], 5, 4),
        ([(2**40, 2**40), (7, 5)], [2**40, 7], 5, 5),
        ([(16, 16), (0, 0)], [16, 0], 16, 0),
        ([(17, 17), (0, 0)], [17, 0], 0, 0),
        ([(7, 5), (7, 5), (300, 0)], [300, 7], 5, 0),
    ],
)
def test_counts__are_the_highest_that_is_not_far_above_all_others(
    counts: list[tuple[int, int]], pending: list[int], count: int, mined: int
) -> None:
    found = told(*counts)
    assert (found.pending(VAULT), found.count(VAULT), found.mined(VAULT)) == (
        pending,
        count,
        mined,
    )

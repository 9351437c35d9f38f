"""Open, closed and unknown, per venue, per token and between two venues."""

from itertools import product

from core.market.facts import NetworkStatus
from core.market.rules.transfer import (
    GateState,
    TransferGate,
    TransferReach,
    any_open,
    gate,
    token_transfer,
)
from tests.each import each
from tests.unit.core.market.rules.coins import BSC, ETH, address, says

FLAGS = (True, False, None)


@each(
    ("flags", "is_open"),
    [
        ((True, False, None), True),
        ((False, False), False),
        ((False, None), None),
        ((None,), None),
        ((), None),
    ],
)
def test_a_venue__is_closed_only_where_all_its_chains_are(
    flags: tuple[bool | None, ...], is_open: bool | None
) -> None:
    assert any_open(flags) is is_open


def at(exchange: str, chain: str, deposit: bool | None, withdraw: bool | None) -> NetworkStatus:
    return says(exchange, "XYZ", chain, address(1), deposit=deposit, withdraw=withdraw)


def slow_token(statuses: list[NetworkStatus]) -> TransferReach:
    exchanges = {one.exchange for one in statuses}
    known = {
        exchange
        for exchange in exchanges
        if any(
            flag is not None
            for one in statuses
            if one.exchange == exchange
            for flag in (one.can_deposit, one.can_withdraw)
        )
    }
    if not known:
        return TransferReach.UNKNOWN
    free = {one.exchange for one in statuses if one.can_deposit and one.can_withdraw}
    if free >= known:
        return TransferReach.OPEN
    some = {one.exchange for one in statuses if one.can_deposit or one.can_withdraw}
    return TransferReach.PARTIAL if some else TransferReach.BLOCKED


@each("flags", list(product(FLAGS, repeat=6)))
def test_a_token__is_what_its_venues_come_to(flags: tuple[bool | None, ...]) -> None:
    """Two chains at one venue and one at another, every flag each way."""
    rows = [
        at("a", ETH, flags[0], flags[1]),
        at("a", BSC, flags[2], flags[3]),
        at("b", ETH, flags[4], flags[5]),
    ]

    assert token_transfer(rows) is slow_token(rows)


@each(
    ("withdraw", "deposit", "state"),
    [
        (True, True, "open"),
        (False, True, "closed"),
        (True, False, "closed"),
        (None, True, "unverified"),
        (True, None, "unverified"),
        (None, None, "unverified"),
        (False, None, "closed"),
        (None, False, "closed"),
    ],
)
def test_a_gate__needs_withdrawal_here_and_deposit_there(
    withdraw: bool | None, deposit: bool | None, state: str
) -> None:
    found = gate([at("a", ETH, None, withdraw)], [at("b", ETH, deposit, None)])

    assert found.state == state


def test_a_gate__needs_one_chain_with_one_contract() -> None:
    here = [says("a", "XYZ", ETH, address(1))]

    assert gate(here, [says("b", "XYZ", BSC, address(1))]).state is GateState.CLOSED
    assert gate(here, [says("b", "XYZ", ETH, address(2))]).state is GateState.CLOSED
    assert gate(here, [says("b", "XYZ", ETH, None)]).state is GateState.UNVERIFIED
    assert gate(here, [says("b", "XYZ", "unknown:Q", None)]).state is GateState.UNVERIFIED
    assert gate(here, []).state is GateState.UNVERIFIED


def test_a_chains_own_coin__needs_no_contract() -> None:
    here = [says("a", "ETH", ETH, None, is_native=True)]
    there = [says("b", "ETH", ETH, None, is_native=True)]

    assert gate(here, there) == TransferGate(GateState.OPEN, (ETH,), 0.5, ETH)


def test_the_fee__is_the_least_of_the_chains_that_are_open() -> None:
    here = [
        says("a", "XYZ", ETH, address(1), fee=5.0),
        says("a", "XYZ", BSC, address(2), fee=0.1),
        says("a", "XYZ", "eip155:10", address(3), fee=0.01),
    ]
    there = [
        says("b", "XYZ", ETH, address(1)),
        says("b", "XYZ", BSC, address(2)),
        says("b", "XYZ", "eip155:10", address(3), deposit=False),
    ]

    assert gate(here, there) == TransferGate(GateState.OPEN, (ETH, BSC), 0.1, BSC)


def test_a_fee_that_nobody_tells__is_unknown() -> None:
    here = [says("a", "XYZ", ETH, address(1), fee=None)]

    assert gate(here, [says("b", "XYZ", ETH, address(1))]).fee is None

"""What a stop costs, how many are paid for, and what to send where."""

import pytest

from core.mandate.chain import calldata
from keeper.funds import UNSIGNED_STOP_BYTES, SignerBalance, nonce_gap, stop_cost_wei
from tests.each import each
from tests.personas import KEEPER

GWEI = 10**9
COST_WEI = 400_000 * 50 * GWEI + 1_000  # at the default cap, with a layer-1 fee of 1,000 wei
SIGNATURE_BYTES = 67  # parity, and r and s with their length


def balance(balance_wei: int, cost_wei: int | None = COST_WEI) -> SignerBalance:
    return SignerBalance("keeper", KEEPER.address, balance_wei, cost_wei, 0)


def test_stop_cost__is_gas_at_the_cap_and_the_layer_1_fee() -> None:
    assert stop_cost_wei(50 * GWEI, 1_000) == COST_WEI
    assert stop_cost_wei(50 * GWEI, 0) == 20_000_000_000_000_000


def test_stop_cost__layer_1_fee_unknown__is_unknown_and_not_zero() -> None:
    assert stop_cost_wei(50 * GWEI, None) is None


@each(
    ("balance_wei", "left", "missing_wei"),
    [
        (0, 0, 20 * COST_WEI),
        (COST_WEI - 1, 0, 19 * COST_WEI + 1),
        (COST_WEI, 1, 19 * COST_WEI),
        (20 * COST_WEI - 1, 19, 1),
        (20 * COST_WEI, 20, 0),
        (21 * COST_WEI, 21, 0),
    ],
)
def test_stops_left__is_rounded_down(balance_wei: int, left: int, missing_wei: int) -> None:
    assert (balance(balance_wei).stops_left, balance(balance_wei).missing_wei) == (
        left,
        missing_wei,
    )


def test_attention__too_little__says_what_to_send_where() -> None:
    assert balance(19 * COST_WEI).attention() == (
        f"Send at least 0.020001 ETH to {KEEPER.address} (keeper): its balance pays for 19 "
        "stops, but 20 are required."
    )


def test_attention__enough__is_none() -> None:
    assert balance(20 * COST_WEI).attention() is None


def test_attention__cost_unknown__says_so() -> None:
    told = balance(10**18, None)
    assert (told.stops_left, told.missing_wei) == (None, None)
    assert "is unknown" in (told.attention() or "")


@each(
    ("count", "held", "gap"),
    [(5, set(), 0), (5, {5, 6}, 0), (5, {6}, 1), (5, {5, 8}, 2), (7, {5, 6}, 0), (7, {5, 6, 7}, 0)],
)
def test_nonce_gap__counts_what_nobody_holds_below_what_waits(
    count: int, held: set[int], gap: int
) -> None:
    assert nonce_gap(count, held) == gap


@pytest.mark.parametrize("data", [calldata.mark(), calldata.enforce_stop_line()])
def test_unsigned_stop_bytes__no_stop_is_longer(data: str) -> None:
    most = {
        "chainId": 2**63,
        "nonce": 2**63,
        "gas": 2**31,
        "maxFeePerGas": 2**63,
        "maxPriorityFeePerGas": 2**63,
    }
    raw = KEEPER.signer.sign_transaction(
        {"type": 2, "to": KEEPER.address, "data": data, "value": 0, **most}
    )
    assert len(raw) - SIGNATURE_BYTES <= UNSIGNED_STOP_BYTES

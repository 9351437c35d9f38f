"""What a receipt says that a transaction has cost."""

import json

import pytest

from core.chain import results
from core.domain.blocks import TxCost

HASH = "0x" + "ab" * 32
RECEIPT = {"transactionHash": HASH, "status": "0x1", "gasUsed": "0x5208", "effectiveGasPrice": "0x3b9aca00"}


def cost(**changes: object) -> TxCost | None:
    return results.cost(json.dumps(RECEIPT | changes).encode())


def test_a_cost__is_the_gas_that_was_used_at_its_price() -> None:
    assert cost() == TxCost(HASH, 1, 21_000 * 10**9)


def test_a_cost__has_the_fee_of_layer_1_beside_it() -> None:
    assert cost(l1Fee="0xff", status="0x0") == TxCost(HASH, 0, 21_000 * 10**9 + 255)


def test_a_receipt_without_a_price__is_no_cost_of_zero() -> None:
    with pytest.raises(ValueError, match="effectiveGasPrice"):
        results.cost(json.dumps({name: value for name, value in RECEIPT.items() if name != "effectiveGasPrice"}).encode())


def test_no_receipt__is_no_cost() -> None:
    assert results.cost(b"null") is None

"""What a receipt says that a transaction has cost."""

import json
from typing import Any

from core.chain import results
from core.chain.blocks import TransactionReceipt

HASH, ADDRESS = "0x" + "ab" * 32, "0x" + "cd" * 20
RECEIPT: dict[str, Any] = {
    "transactionHash": HASH,
    "transactionIndex": "0x0",
    "blockNumber": "0x7",
    "blockHash": HASH,
    "status": "0x1",
    "from": ADDRESS,
    "to": ADDRESS,
    "gasUsed": "0x5208",
    "effectiveGasPrice": "0x3b9aca00",
    "logsBloom": "0x" + "00" * 256,
    "logs": [],
}


def receipt(**changes: object) -> TransactionReceipt:
    found = results.receipt(json.dumps(RECEIPT | changes).encode())
    assert found is not None
    return found


def test_a_cost__is_the_gas_that_was_used_at_its_price() -> None:
    assert receipt().cost_wei == 21_000 * 10**9


def test_a_cost__has_the_fee_of_layer_1_beside_it() -> None:
    assert receipt(l1Fee="0xff", status="0x0").cost_wei == 21_000 * 10**9 + 255


def test_a_receipt_without_a_price__is_no_cost_of_zero() -> None:
    assert receipt(effectiveGasPrice=None).cost_wei is None

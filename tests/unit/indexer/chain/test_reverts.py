"""Why a reverted call failed, by running it again."""

import pytest

from core.blocks.reverts import PendingRevert
from core.chain.abi import call_by_signature
from core.chain.errors import RpcRefusedError
from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall
from core.mandate.venues import test_venue
from indexer.chain.fetch import BlockUnavailableError
from indexer.chain.reverts import explain
from tests.each import each

ADAPTER = "0x9fE46736679d2D9a65F0992F2272dE9f3c7fa6e0"
BUY = VaultCall(ADAPTER, 101_000_000, test_venue.buy(101_000_000))
ASKED = {"target": ADAPTER, "selector": "0xd96a094a", "amount_usdc": "101.000000"}
PENDING = PendingRevert(
    tx_hash="0x01",
    block_hash="0x02",
    parent_hash="0x03",
    number=5,
    at=9,
    mandate_id=1,
)


class Node:
    """Knows one transaction, and answers its replay with what it was given."""

    def __init__(
        self, answer: bytes | RpcRefusedError | None, transaction: dict[str, str] | None
    ) -> None:
        self.answer, self.known = answer, transaction

    def transaction(self, tx_hash: str) -> dict[str, str] | None:
        return self.known

    def replay(
        self, transaction: dict[str, str], parent_hash: str, number: int, timestamp: int
    ) -> bytes | None:
        if isinstance(self.answer, RpcRefusedError):
            raise self.answer
        return self.answer


TRANSACTION = {"input": calldata.execute(BUY)}


@each(
    ("answer", "reason"),
    [
        (
            bytes.fromhex(call_by_signature("OverPerTxCap(uint256,uint256)", [101, 100])[2:]),
            "OverPerTxCap",
        ),
        (b"", "unknown"),
        (bytes.fromhex("12345678"), "unknown"),
        (None, "unknown"),
    ],
)
def test_explain__names_the_error_or_says_unknown(answer: bytes | None, reason: str) -> None:
    explained = explain(Node(answer, TRANSACTION), PENDING)  # type: ignore[arg-type]  # the two reads that it needs
    assert (explained.reason, explained.attempted) == (reason, ASKED)


def test_explain__a_transaction_that_the_node_does_not_know__is_asked_for_again() -> None:
    with pytest.raises(BlockUnavailableError):
        explain(Node(b"", None), PENDING)  # type: ignore[arg-type]  # the two reads that it needs

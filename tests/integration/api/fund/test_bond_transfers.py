"""What the chain has to say of a bond in USDC (core/fund/bond_transfers.py)."""

from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from eth_utils.address import to_checksum_address

from core.blocks.queries import DEEP
from core.chain.abi import address_word, topic_of
from core.chain.blocks import TransactionReceipt
from core.chain.reader import ChainReader
from core.errors import InvalidParameterError
from core.fund.bond_transfers import BondTransfer, NotSafeYetError, require_transfer
from tests.integration.api.fund.pilots import TREASURY, USDC, WALLET, TransferChain

BOND = BondTransfer(token=USDC, sender=WALLET, to=TREASURY, amount_usdc_e6=2_500_000_000)


def test_a_block_that_becomes_safe_while_it_is_asked_for__is_not_safe_yet() -> None:
    """The receipt may be of a block that the safe one replaced meanwhile."""
    chain = TransferChain(height=49, grows=10)
    tx = chain.pay(WALLET, TREASURY, BOND.amount_usdc_e6, block=50)
    with pytest.raises(NotSafeYetError):
        require_transfer(cast("ChainReader", chain), tx, BOND, "bond_tx")
    require_transfer(cast("ChainReader", chain), tx, BOND, "bond_tx")


@dataclass
class OddChain(TransferChain):
    """Its transfers have these in their log instead."""

    odd: dict[str, Any] = field(default_factory=dict)

    def receipt(self, tx_hash: str) -> TransactionReceipt | None:
        found = super().receipt(tx_hash)
        assert found is not None
        return replace(found, logs=tuple(replace(log, **self.odd) for log in found.logs))


@pytest.mark.parametrize(
    "odd",
    [
        {"address": to_checksum_address("0x" + "bb" * 20)},  # another token, worth nothing
        {"topics": ("0x" + "12" * 32, address_word(WALLET), address_word(TREASURY))},
        {"topics": (topic_of("Transfer"), address_word(WALLET), address_word(TREASURY), "0x" + "00" * 32)},
        {"topics": (topic_of("Transfer"), address_word(TREASURY), address_word(WALLET))},
        {"data": f"0x{2_500_000_000:064x}{0:064x}"},
        {"data": "0x"},
    ],
)  # fmt: skip
def test_a_log_that_is_no_transfer_of_this_token__pays_nothing(odd: dict[str, Any]) -> None:
    chain = OddChain(mined_at=0, odd=odd)
    tx = chain.pay(WALLET, TREASURY, BOND.amount_usdc_e6)
    with pytest.raises(InvalidParameterError, match="bond_tx"):
        require_transfer(cast("ChainReader", chain), tx, BOND, "bond_tx")


TOP, BLOCK, DENIED = 1_000, 900, None
TRUE = (BLOCK, TOP, True)


# (what it calls safe, its newest block, whether it has the receipt); None: no answer
@pytest.mark.parametrize(
    ("nodes", "is_paid"),
    [
        ([TRUE], True),
        ([TRUE, TRUE], True),
        ([TRUE, (BLOCK, TOP, False)], False),
        ([TRUE, (BLOCK, TOP, False), TRUE], True),
        # one node's word decided while another was away, or knew no such tag
        ([TRUE, None], False),
        ([None, None], False),
        ([(TOP, TOP, True), (DENIED, TOP, False)], False),
        # erigontech/erigon 15498: the newest block is called safe
        ([(TOP, TOP, True), (BLOCK - 1, TOP, True)], False),
        # okx/xlayer-erigon 144, base/base 3793: the safe block stands still; it was never paid
        ([TRUE, (10, TOP, True)], False),
        ([(BLOCK + DEEP, TOP + DEEP, True), (10, TOP + DEEP, True)], True),
        # ethereum/execution-apis 879: no safe block after a start, as null or as an error
        ([TRUE, (DENIED, TOP, True)], False),
        ([(BLOCK + DEEP, TOP + DEEP, True), (DENIED, TOP + DEEP, True)], True),
        # a node that names no block at all
        ([TRUE, (DENIED, DENIED, True)], False),
        # a height that is made up
        ([(10**9, 10**9, True), (10, TOP, False)], False),
    ],
)
def test_a_bond__is_paid_once_two_nodes_have_it_far_enough_below(
    nodes: list[tuple[int | None, int | None, bool] | None], is_paid: bool
) -> None:
    chain = TransferChain(height=TOP)
    tx = chain.pay(WALLET, TREASURY, BOND.amount_usdc_e6, block=BLOCK)

    def named(number: int | None) -> Any:
        return DENIED if number is None else replace(chain.header("latest"), number=number)

    words = {
        f"node{at}": [named(one[0]), named(one[1]), chain.receipt(tx) if one[2] else None]
        for at, one in enumerate(nodes)
        if one is not None
    }
    names = [f"node{at}" for at in range(len(nodes))]
    rpc = SimpleNamespace(names=names, batch_of_each=lambda *_, **__: words)
    asked = cast("ChainReader", SimpleNamespace(rpc=rpc))
    with nullcontext() if is_paid else pytest.raises(NotSafeYetError):
        require_transfer(asked, tx, BOND, "bond_tx")

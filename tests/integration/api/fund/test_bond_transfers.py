"""What the chain has to say of a bond in USDC (core/fund/bond_transfers.py)."""

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from eth_utils.address import to_checksum_address

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


def test_a_bond_that_one_of_two_nodes_makes_up__is_not_paid() -> None:
    chain = TransferChain(height=60)
    tx = chain.pay(WALLET, TREASURY, BOND.amount_usdc_e6, block=50)
    one = [chain.header("safe"), chain.receipt(tx)]
    words = {"one": one, "two": [one[0], None]}
    nodes = cast(
        "ChainReader", SimpleNamespace(rpc=SimpleNamespace(batch_of_each=lambda *_, **__: words))
    )
    with pytest.raises(NotSafeYetError):
        require_transfer(nodes, tx, BOND, "bond_tx")
    words["three"] = one
    require_transfer(nodes, tx, BOND, "bond_tx")


def test_a_node_that_names_no_safe_block__holds_up_no_bond() -> None:
    chain = TransferChain(height=60)
    tx = chain.pay(WALLET, TREASURY, BOND.amount_usdc_e6, block=50)
    words = {"one": [chain.header("safe"), chain.receipt(tx)], "two": [None, chain.receipt(tx)]}
    nodes = cast(
        "ChainReader", SimpleNamespace(rpc=SimpleNamespace(batch_of_each=lambda *_, **__: words))
    )
    require_transfer(nodes, tx, BOND, "bond_tx")

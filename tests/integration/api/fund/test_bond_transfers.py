"""What the chain has to say of a bond in USDC (core/fund/bond_transfers.py)."""

from typing import cast

import pytest

from core.chain.reader import ChainReader
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

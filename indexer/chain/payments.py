"""USDC that reached an agent's wallet, as an entry of its transfer book: seen by the chain, reported by nobody."""

from core.books.transfer_ledger import FourStates, NewTransfer
from core.domain.blocks import BlockHeader
from core.domain.money import usdc_text
from indexer.chain.facts import Payment

DEPOSIT, ASSET = "deposit", "USDC"


def deposit_of(payment: Payment, header: BlockHeader, chain_id: int) -> NewTransfer:
    """The entry: the amount is idle from its block on, and no longer when the block is replaced."""
    return NewTransfer(
        kind=DEPOSIT,
        base_key=deposit_key(payment.tx_hash, payment.log_index),
        chain_id=chain_id,
        asset=ASSET,
        deltas=FourStates(idle_e6=payment.amount),
        reported_by="chain",
        tx_hash=payment.tx_hash,
        payload={
            "from": payment.sender,
            "to": payment.wallet,
            "amount": usdc_text(payment.amount),
            "log_index": payment.log_index,
            "block_number": header.number,
            "block_hash": header.hash,
        },
    )


def deposit_key(tx_hash: str, log_index: int) -> str:
    """The fact's name within the account's book."""
    return f"deposit:{tx_hash}:{log_index}"

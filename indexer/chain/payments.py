"""USDC that reached an agent's linked wallet, as an entry of its transfer ledger: shown by the
chain, reported by nobody.

An agent's own report of the transaction takes its place (core/transfers/reports.py), a reorg takes
it back.
"""

from core.money import usdc_text
from core.transfers.ledger.writer import DEPOSIT, NewTransfer
from core.transfers.rules import USDC, FourStates
from indexer.chain.facts import Deposit


def deposit_of(payment: Deposit, number: int, block_hash: str, chain_id: int) -> NewTransfer:
    """The entry: the amount is idle from its block on, and no longer when the block is replaced."""
    return NewTransfer(
        kind=DEPOSIT,
        base_key=deposit_key(payment.tx_hash, payment.log_index),
        chain_id=chain_id,
        asset=USDC,
        deltas=FourStates(idle_e6=payment.amount),
        reported_by="chain",
        tx_hash=payment.tx_hash,
        payload={
            "from": payment.sender,
            "to": payment.wallet,
            "amount": usdc_text(payment.amount),
            "log_index": payment.log_index,
            "block_number": number,
            "block_hash": block_hash,
        },
    )


def deposit_key(tx_hash: str, log_index: int) -> str:
    """The fact's name within the account's ledger."""
    return f"deposit:{tx_hash}:{log_index}"

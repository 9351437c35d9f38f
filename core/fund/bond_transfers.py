"""What the chain says of a bond in USDC: a transfer from one address to another, of exactly so much.

Law: a bond is paid, and given back, by the token's own log in a successful transaction at or below
the `safe` block, as two nodes say where two are configured; never by anybody's word.
"""

from dataclasses import dataclass

from core.chain.abi import address_word, topic_of
from core.chain.blocks import RawLog
from core.chain.reader import ChainReader
from core.errors import InvalidParameterError, MandateError
from core.money import usdc_text
from core.payments.chain import safe_receipt

WORD_CHARACTERS = 66


@dataclass(frozen=True, slots=True, kw_only=True)
class BondTransfer:
    """Addresses in checksum form, `amount` in base units."""

    token: str
    sender: str
    to: str
    amount_usdc_e6: int


class NotSafeYetError(MandateError):
    """The chain may still take the transaction back, or does not know it yet."""

    def __init__(self, tx_hash: str) -> None:
        super().__init__(f"{tx_hash} is not in a safe block yet")


def require_transfer(chain: ChainReader, tx_hash: str, wanted: BondTransfer, field: str) -> None:
    """Errors: NotSafeYetError; InvalidParameterError for a transaction that is another one; those of
    all reads.
    """
    if (receipt := safe_receipt(chain, tx_hash)) is None:
        raise NotSafeYetError(tx_hash)
    if receipt.status != 1 or not any(_is(log, wanted) for log in receipt.logs):
        raise InvalidParameterError(
            field,
            f"name a transaction that moved exactly {usdc_text(wanted.amount_usdc_e6)} USDC from "
            f"{wanted.sender} to {wanted.to}",
        )


def _is(log: RawLog, wanted: BondTransfer) -> bool:
    topics = (topic_of("Transfer"), address_word(wanted.sender), address_word(wanted.to))
    return (
        log.address == wanted.token
        and log.topics == topics
        and len(log.data) == WORD_CHARACTERS
        and int(log.data, 16) == wanted.amount_usdc_e6
    )

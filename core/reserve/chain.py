"""What the token's contract says of itself, all at one block."""

from dataclasses import dataclass

from core.chain.abi import answer_words
from core.chain.abi_text import call_by_signature
from core.chain.reader import ChainReader


@dataclass(frozen=True, slots=True)
class ContractNumbers:
    """USDC base units and tokens of 1e-18. `usdc_e6`: what the contract holds, donations
    included.
    """

    reserve_e6: int
    supply: int
    owed_e6: int
    usdc_e6: int


def contract_numbers(reader: ChainReader, token: str, block_hash: str) -> ContractNumbers:
    """Of that very block. Errors: the reader's, AbiDecodeError."""
    with reader.rpc.pinned():
        return ContractNumbers(
            reserve_e6=_number(reader, token, "reserve()", block_hash),
            supply=_number(reader, token, "totalSupply()", block_hash),
            owed_e6=_number(reader, token, "treasuryOwed()", block_hash),
            usdc_e6=reader.usdc_balance(token, block_hash),
        )


def _number(reader: ChainReader, token: str, signature: str, block_hash: str) -> int:
    answer = reader.call(token, call_by_signature(signature, []), block_hash)
    return int.from_bytes(answer_words(answer, 1))

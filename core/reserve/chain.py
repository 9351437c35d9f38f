"""What the token's contract says of itself, all at one block."""

from dataclasses import dataclass

from core.chain.abi import answer_words, call_by_signature
from core.chain.reader import ChainReader


@dataclass(frozen=True, slots=True)
class ContractNumbers:
    """USDC base units and tokens of 1e-18. `locked_e6`: a part of the reserve, until `locked_until_ns`,
    unix nanoseconds. `usdc_e6`: what the contract holds, donations included.
    """

    reserve_e6: int
    locked_e6: int
    locked_until_ns: int
    supply: int
    owed_e6: int
    usdc_e6: int


def contract_numbers(reader: ChainReader, token: str, block_hash: str) -> ContractNumbers:
    """Of that very block. Errors: the reader's, AbiDecodeError."""
    with reader.rpc.pinned():
        locked_e6, locked_until_ns = _numbers(reader, token, "locked()", block_hash, 2)
        return ContractNumbers(
            locked_e6=locked_e6,
            locked_until_ns=locked_until_ns,
            reserve_e6=_number(reader, token, "reserve()", block_hash),
            supply=_number(reader, token, "totalSupply()", block_hash),
            owed_e6=_number(reader, token, "treasuryOwed()", block_hash),
            usdc_e6=reader.usdc_balance(token, block_hash),
        )


def _number(reader: ChainReader, token: str, signature: str, block_hash: str) -> int:
    return _numbers(reader, token, signature, block_hash, 1)[0]


def _numbers(
    reader: ChainReader, token: str, signature: str, block_hash: str, count: int
) -> list[int]:
    words = answer_words(reader.call(token, call_by_signature(signature, []), block_hash), count)
    return [int.from_bytes(words[at : at + 32]) for at in range(0, 32 * count, 32)]

"""What the token's contract says of itself, all at one block."""

from dataclasses import dataclass

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
        locked_e6, locked_until_ns = reader.view("ReserveToken", "locked", token, block_hash)
        return ContractNumbers(
            locked_e6=locked_e6,
            locked_until_ns=locked_until_ns,
            reserve_e6=reader.view("ReserveToken", "reserve", token, block_hash),
            supply=reader.view("ReserveToken", "totalSupply", token, block_hash),
            owed_e6=reader.view("ReserveToken", "treasuryOwed", token, block_hash),
            usdc_e6=reader.usdc_balance(token, block_hash),
        )

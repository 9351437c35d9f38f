"""What a sponsored buy asks of the chain: the pool's numbers at one block, the price of gas, and
whether the nodes agree whom the fee is paid to.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from core.chain import results
from core.chain.abi import function
from core.chain.fees import layer_1_fee_wei
from core.chain.reader import ChainReader, block_argument
from core.errors import OutsideError
from core.money import UsdcE6
from core.sponsored.rules import UNSIGNED_BUY_BYTES, GasPrice

OTHERS_S = 2.0


@dataclass(frozen=True, slots=True)
class PoolNow:
    """At one block. `at`: its time, unix seconds."""

    reserve_usdc_e6: UsdcE6
    supply: int
    treasury: str
    is_paused: bool
    block_hash: str
    at: int


class TreasuryDisputedError(OutsideError):
    """Nodes name different treasuries: nobody is asked to sign a payment to either."""


def pool_now(chain: ChainReader, token: str) -> PoolNow:
    """Errors: RpcError; TreasuryDisputedError; OutsideError when the node names no newest block."""
    header = chain.header()
    if header is None:
        raise OutsideError("the node names no newest block")
    names = ("reserve", "totalSupply", "treasury", "paused")
    calls = [_call(token, name, block_argument(header.hash)) for name in names]
    answers = chain.rpc.batch(calls, [results.code] * len(calls))
    reserve, supply, treasury, paused = (
        function("ReserveToken", name).decode_output(answer)[0]
        for name, answer in zip(names, answers, strict=True)
    )
    others = chain.rpc.batch_of_others(
        [_call(token, "treasury", "latest")], OTHERS_S, [results.code]
    )
    said = {
        function("ReserveToken", "treasury").decode_output(answer)[0]
        for (answer,) in others.values()
        if isinstance(answer, bytes)
    }
    if said - {treasury}:
        raise TreasuryDisputedError("nodes name different treasuries of the reserve token")
    return PoolNow(UsdcE6(reserve), supply, treasury, paused, header.hash, header.timestamp)


def _call(token: str, name: str, at: Any) -> tuple[str, list[Any]]:
    return "eth_call", [{"to": token, "data": function("ReserveToken", name).encode()}, at]


def gas_now(chain: ChainReader, unsigned_bytes: int = UNSIGNED_BUY_BYTES) -> GasPrice | None:
    """What gas costs now, for a transaction of that size; None: the node names no base fee, or the
    oracle of the layer-1 fee refuses.

    Errors: RpcError.
    """
    return gas_by_size(chain, [unsigned_bytes]).get(unsigned_bytes)


def gas_by_size(chain: ChainReader, sizes: Collection[int]) -> dict[int, GasPrice]:
    """As `gas_now`, for several sizes; those of which it is not known are left out. The node is asked
    once for what they have in common: anybody may ask for the whole table.
    """
    header, priority_wei = chain.header(), chain.priority_fee_wei()
    if header is None or header.base_fee_wei is None:
        return {}
    layer_1 = {size: layer_1_fee_wei(chain, size) for size in set(sizes)}
    return {
        size: GasPrice(header.base_fee_wei, priority_wei, wei)
        for size, wei in layer_1.items()
        if wei is not None
    }

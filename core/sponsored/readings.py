"""What a sponsored buy asks of the chain: the pool's numbers at one block, the price of gas, and
whether the nodes agree whom the fee is paid to.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from core.chain import results
from core.chain.abi import AbiDecodeError, function
from core.chain.errors import RpcRefusedError, RpcRevertedError
from core.chain.nodes import Request
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


class PoolDisputedError(OutsideError):
    """Nodes say different things of the pool at one block: nobody is asked to sign for either."""


NAMES = ("reserve", "totalSupply", "treasury", "paused")


def pool_now(chain: ChainReader, token: str) -> PoolNow:
    """As one node says it, and none of the others that answer denies at that very block.

    Errors: RpcError; PoolDisputedError; OutsideError when the node names no newest block.
    """
    header = chain.newest()
    at = block_argument(header.hash)
    calls: list[Request] = [
        ("eth_call", [{"to": token, "data": function("ReserveToken", name).encode()}, at])
        for name in NAMES
    ]
    parse = [results.code] * len(calls)
    latest = tuple(map(_decoded, NAMES, chain.rpc.batch(calls, parse)))
    newest = ("eth_call", [calls[NAMES.index("treasury")][1][0], "latest"])
    others = chain.rpc.batch_of_others([*calls, newest], OTHERS_S, [*parse, results.code])
    for answers in others.values():
        *at_block, treasury_now = map(_said, (*NAMES, "treasury"), answers)
        if None not in at_block and tuple(at_block) != latest:
            raise PoolDisputedError(
                "nodes report different values for the reserve token at the same block"
            )
        if treasury_now not in (None, latest[NAMES.index("treasury")]):
            raise PoolDisputedError("nodes name different treasuries of the reserve token")
    reserve, supply, treasury, paused = latest
    return PoolNow(UsdcE6(reserve), supply, treasury, paused, header.hash, header.timestamp)


def _said(name: str, answer: bytes | RpcRefusedError) -> Any:
    """None: it says nothing of it, or what it says cannot be read."""
    try:
        return _decoded(name, answer) if isinstance(answer, bytes) else None
    except AbiDecodeError:
        return None


def _decoded(name: str, answer: bytes) -> Any:
    return function("ReserveToken", name).decode_output(answer)[0]


def takes_fees(chain: ChainReader, usdc: str, token: str, treasury: str) -> bool:
    """Whether USDC moves to the treasury: a transfer of nothing out of the pool is run, not sent.

    False where Circle froze the treasury or the pool, or paused USDC: then no sponsored buy can
    pass, since its fee cannot. Errors: RpcError.
    """
    data = function("MockUSDC", "transfer").encode(treasury, 0)
    called = {"from": token, "to": usdc, "data": data}
    try:
        chain.rpc.call("eth_call", [called, "latest"], parse=results.code)
    except RpcRevertedError:
        return False
    return True


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
    layer_1 = {size: chain.layer_1_fee_wei(size) for size in set(sizes)}
    return {
        size: GasPrice(header.base_fee_wei, priority_wei, wei)
        for size, wei in layer_1.items()
        if wei is not None
    }

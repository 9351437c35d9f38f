"""What a transaction costs who sends it: gas on this chain, and on an OP chain the fee of layer 1
beside it. Wei throughout.
"""

from core.chain.abi import WORD_BYTES, call_by_signature
from core.chain.errors import RpcRefusedError
from core.chain.reader import ChainReader

GAS_PRICE_ORACLE = "0x420000000000000000000000000000000000000F"


def layer_1_fee_wei(reader: ChainReader, unsigned_bytes: int) -> int | None:
    """Upper bound of the layer-1 fee of a transaction of that size; 0 on a chain without that fee,
    None when the oracle refuses.

    Errors: RpcUnreachableError.
    """
    if not reader.code_at(GAS_PRICE_ORACLE):
        return 0
    try:
        answer = reader.call(
            GAS_PRICE_ORACLE, call_by_signature("getL1FeeUpperBound(uint256)", [unsigned_bytes])
        )
    except RpcRefusedError:
        return None
    return int.from_bytes(answer, "big") if len(answer) == WORD_BYTES else None

"""What a refused call had asked of a vault, read from its call data."""

from typing import Any

from core.chain.abi import AbiDecodeError
from core.mandate.chain.calldata import calls_of, function_of
from core.money import usdc_text


def attempted_of(data: str) -> dict[str, Any] | None:
    """What the call data asked the vault for: {target, selector, amount_usdc}; of a batch the first
    call and the sum.

    Another function of the vault: {function}. None when it can't be read.
    """
    try:
        calls = calls_of(data)
    except AbiDecodeError:
        return None
    if not calls:
        named = function_of(data)
        return None if named is None else {"function": named.name}
    asked = {
        "target": calls[0].target,
        "selector": calls[0].data[:10],
        "amount_usdc": usdc_text(sum(call.max_spend for call in calls)),
    }
    return asked if len(calls) == 1 else asked | {"calls": len(calls)}

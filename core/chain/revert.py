"""Revert data -> the Solidity error's name and arguments.

Source: contracts/libraries/ErrorsLib.sol.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from core.chain.abi import (
    SELECTOR_BYTES,
    AbiDecodeError,
    decode_values,
    errors_by_selector,
    types_of,
)
from core.hexes import hex_of


@dataclass(frozen=True, slots=True)
class DecodedRevert:
    """`name` is Solidity's; `Error` and `Panic` are the language's own.

    `args` by their Solidity names.
    """

    name: str
    args: Mapping[str, Any]


def decode_revert(data: bytes) -> DecodedRevert | None:
    """None when the data is empty, cut short, or no error of our contracts: then the reason is not
    known.
    """
    error = errors_by_selector().get(hex_of(data[:SELECTOR_BYTES]))
    if error is None:
        return None
    try:
        values = decode_values(types_of(error.inputs), data[SELECTOR_BYTES:])
    except AbiDecodeError:
        return None
    return DecodedRevert(error.name, dict(zip((p.name for p in error.inputs), values, strict=True)))

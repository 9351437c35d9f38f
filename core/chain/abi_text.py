"""Call data for any function, from its signature as text."""

from collections.abc import Sequence
from typing import Any

from eth_utils.crypto import keccak

from core.chain.abi import (
    SELECTOR_BYTES,
    AbiEncodeError,
    Parameter,
    encode_values,
    hex_text,
)
from core.errors import InvalidParameterError
from core.selectors import argument_types


def selector_of(signature: str) -> str:
    """The selector of a canonical signature such as `buy(uint256)`."""
    return hex_text(keccak(text="".join(signature.split()))[:SELECTOR_BYTES])


def call_by_signature(signature: str, arguments: Sequence[Any]) -> str:
    """Call data for a function written as `name(type,...)`. Structs and arrays are lists. Errors: AbiEncodeError."""
    canonical = "".join(signature.split())
    try:
        parameters = [Parameter.of_type(kind) for kind in argument_types(canonical)]
    except InvalidParameterError as error:
        raise AbiEncodeError(str(error)) from error
    if len(parameters) != len(arguments):
        raise AbiEncodeError(f"{signature} takes {len(parameters)} arguments, not {len(arguments)}")
    return selector_of(canonical) + encode_values(parameters, arguments).hex()

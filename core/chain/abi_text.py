"""Call data for any function, from its signature as text."""

from collections.abc import Sequence
from typing import Any

from core.chain.abi import AbiEncodeError, Parameter, encode_values
from core.errors import InvalidParameterError
from core.selectors import argument_types, selector_of


def call_by_signature(signature: str, arguments: Sequence[Any]) -> str:
    """Call data for a function written as `name(type,...)`.

    Structs and arrays are lists. Errors: AbiEncodeError.
    """
    canonical = "".join(signature.split())
    try:
        selector = selector_of(canonical)
        parameters = [Parameter.of_type(kind) for kind in argument_types(canonical)]
    except InvalidParameterError as error:
        raise AbiEncodeError(str(error)) from error
    if len(parameters) != len(arguments):
        raise AbiEncodeError(f"{signature} takes {len(parameters)} arguments, not {len(arguments)}")
    return selector + encode_values(parameters, arguments).hex()

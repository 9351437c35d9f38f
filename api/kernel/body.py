"""From raw bytes to a JSON object, exactly: numbers keep their literal text, nothing ambiguous passes.

Refused, each with a sentence: bytes that are no UTF-8 or no JSON, a top level that is no object, a name given twice,
NaN and Infinity, lone surrogates and NUL (Postgres stores neither), numbers over 80 characters, nesting over 32 levels.
"""

import json
from typing import Any

from api.kernel.fields import JsonDecimal, JsonInt
from api.kernel.operation import Refusal

MAX_DEPTH = 32
MAX_NUMBER_CHARACTERS = 80  # a uint256 has 78 digits


def parse_object(raw: bytes) -> dict[str, Any]:
    """The object that a body holds; an empty body is an empty object. Errors: Refusal."""
    value = read_object(raw)
    require_storable(value)
    return value


def read_object(raw: bytes) -> dict[str, Any]:
    """As parse_object, but what it holds may be nothing that Postgres keeps. Errors: Refusal."""
    if not raw.strip():
        return {}
    try:
        value = json.loads(
            raw.decode("utf-8"),
            parse_int=_integer,
            parse_float=_decimal,
            parse_constant=_constant,
            object_pairs_hook=_unique,
        )
    except UnicodeDecodeError:
        raise _refused("the body is not UTF-8; send JSON in UTF-8") from None
    except json.JSONDecodeError as error:
        raise _refused(f"the body is not JSON (line {error.lineno}, column {error.colno}: {error.msg}); send one JSON object") from None
    except RecursionError:
        raise _refused(f"the body is nested too deep; stay within {MAX_DEPTH} levels") from None
    if not isinstance(value, dict):
        raise _refused("the body is not a JSON object; send {...} with the fields of the call")
    return value


def require_storable(value: Any, depth: int = 0) -> None:
    """Refuse what Postgres can't keep, and deep nesting. Errors: Refusal."""
    if depth > MAX_DEPTH:
        raise _refused(f"the body is nested too deep; stay within {MAX_DEPTH} levels")
    match value:
        case dict():
            for name, item in value.items():
                require_storable(name, depth + 1)
                require_storable(item, depth + 1)
        case list():
            for item in value:
                require_storable(item, depth + 1)
        case str() if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise _refused("a text holds a NUL or half a surrogate pair; leave it out")


def _refused(detail: str) -> Refusal:
    return Refusal("invalid_parameter", detail[0].upper() + detail[1:] + ".")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _refused(f"the body names {twice[:40]!r} twice; send each field once")
    return found


def _integer(literal: str) -> JsonInt:
    return JsonInt(_bounded(literal))


def _decimal(literal: str) -> JsonDecimal:
    return JsonDecimal(_bounded(literal))


def _bounded(literal: str) -> str:
    if len(literal) > MAX_NUMBER_CHARACTERS:
        raise Refusal("invalid_number", f"A number has more than {MAX_NUMBER_CHARACTERS} characters; write it shorter.")
    return literal


def _constant(literal: str) -> Any:
    raise Refusal("invalid_number", f"{literal} is not JSON; write a decimal, or null where it is unknown.")

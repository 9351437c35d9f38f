"""From raw bytes to a JSON object, exactly: fractions keep their literal text, nothing ambiguous
passes.

Refused, each with a sentence: bytes that are no UTF-8 or no JSON, a top level that is no object, a
name given twice, NaN and Infinity, lone surrogates and NUL (Postgres stores neither), numbers over
80 characters or with an exponent beyond 400, more than 20,000 values, nesting over 32 levels.
Reading takes time in proportion to the bytes, whatever they are: no number is computed before its
length and its exponent are known to be small.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from api.kernel.fields import JsonDecimal
from api.kernel.operation import Refusal
from api.kernel.validation import Place, field_path
from core.texts import code_point

MAX_DEPTH = 32
MAX_VALUES = 20_000
MAX_NUMBER_CHARACTERS = 80  # a uint256 has 78 digits
MAX_EXPONENT = 400  # a double's end at 308

_LONG_NUMBER = re.compile(rb"[0-9]{%d}" % (MAX_NUMBER_CHARACTERS + 1))
# a text without an end goes to the end of the body
_TEXT_OR_COMMA = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|,', re.DOTALL)
_FAR_EXPONENT = re.compile(rb"[eE][+-]?[0-9]{3}")
_NESTS = (dict, list)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def read_object(raw: bytes) -> dict[str, Any]:
    """The object that a body holds; an empty body is an empty object. What it holds may be nothing
    that Postgres keeps (`require_storable`). Errors: Refusal.
    """
    if not raw.strip():
        return {}
    _require_few_values(raw)
    is_long = _LONG_NUMBER.search(raw) is not None
    try:
        value = json.loads(
            raw.decode("utf-8"),
            # each number is looked at where one may be too long, if not in a text
            parse_int=_integer if is_long else None,
            parse_float=_decimal if is_long or _FAR_EXPONENT.search(raw) else JsonDecimal,
            parse_constant=_constant,
            object_pairs_hook=_unique,
        )
    except UnicodeDecodeError:
        raise _refused("the body is not UTF-8; send JSON in UTF-8") from None
    except json.JSONDecodeError as error:
        raise _refused(
            f"the body is not JSON (line {error.lineno}, column {error.colno}: {error.msg}); "
            "send one JSON object"
        ) from None
    except RecursionError:
        raise _refused(f"the body is nested too deep; stay within {MAX_DEPTH} levels") from None
    if not isinstance(value, dict):
        raise _refused("the body is not a JSON object; send {...} with the fields of the call")
    return value


def _require_few_values(raw: bytes) -> None:
    """Values are separated by commas outside texts; nesting is bounded elsewhere.

    Errors: Refusal.
    """
    if raw.count(b",") < MAX_VALUES:
        return
    commas = 0
    for found in _TEXT_OR_COMMA.finditer(raw):
        commas += found[0] == b","
        if commas >= MAX_VALUES:
            raise _refused(f"the body holds more than {MAX_VALUES} values; send fewer at a time")


def require_storable(fields: Mapping[str, Any]) -> None:
    """Refuse what Postgres can't keep, by the field's name, and deep nesting. Errors: Refusal."""
    found = _unstorable(fields, 0)
    if found is not None:
        place, sign = found
        raise Refusal(
            "invalid_parameter",
            f"{field_path(place)}: leave out {code_point(sign)}; NUL and halves of surrogate pairs "
            "are not allowed.",
        )


def _unstorable(value: Any, depth: int) -> tuple[Place, str] | None:
    """The place of the first text of an object or a list that can't be kept, one that is a name at
    itself, and what can't. Errors: Refusal.
    """
    items = value.items() if isinstance(value, Mapping) else enumerate(value)
    for name, item in items:
        if isinstance(name, str) and (in_name := _UNSTORABLE.search(name)) is not None:
            return (name,), in_name[0]
        if type(item) not in _NESTS:
            if isinstance(item, str) and (in_text := _UNSTORABLE.search(item)) is not None:
                return (name,), in_text[0]
        elif depth == MAX_DEPTH:
            raise _refused(f"the body is nested too deep; stay within {MAX_DEPTH} levels")
        elif item and (inner := _unstorable(item, depth + 1)) is not None:
            return (name, *inner[0]), inner[1]
    return None


def _refused(detail: str) -> Refusal:
    return Refusal("invalid_parameter", detail[0].upper() + detail[1:] + ".")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _refused(f"the body names {_first_twice(pairs)[:40]!r} twice; send each field once")
    return found


def _first_twice(pairs: list[tuple[str, Any]]) -> str:
    seen = set[str]()
    for name, _ in pairs:
        if name in seen:
            return name
        seen.add(name)
    raise AssertionError("a name is there twice")


def _integer(literal: str) -> int:
    return int(_bounded(literal))


def _decimal(literal: str) -> JsonDecimal:
    _, _, exponent = _bounded(literal).replace("E", "e").partition("e")
    if exponent and abs(int(exponent)) > MAX_EXPONENT:
        raise Refusal(
            "invalid_number",
            f"A number has an exponent beyond {MAX_EXPONENT}; write it shorter, or as text.",
        )
    return JsonDecimal(literal)


def _bounded(literal: str) -> str:
    if len(literal) > MAX_NUMBER_CHARACTERS:
        raise Refusal(
            "invalid_number",
            f"A number has more than {MAX_NUMBER_CHARACTERS} characters; write it shorter.",
        )
    return literal


def _constant(literal: str) -> Any:
    raise Refusal(
        "invalid_number", f"{literal} is not JSON; write a decimal, or null where it is unknown."
    )

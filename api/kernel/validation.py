"""From the fields of a call to its command, or to a refusal that names each field and its rule.

What a caller sent is never repeated in the answer: it may be a secret in the wrong field.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from api.kernel.operation import Command, Refusal

MAX_SHOWN = 10
MAX_READ = 100  # of the faults of one call, which may have as many as values
NUMBER_ERRORS = ("invalid_number", "int_type", "int_parsing", "int_from_float", "finite_number")
SENTENCES = {
    "missing": "send it; it is required",
    "extra_forbidden": "leave it out; this call has no such field",
    "string_type": "write a text",
    "bool_type": "write true or false",
    "int_type": "write a whole number",
    "int_from_float": "write a whole number",
    "list_type": "write a list",
    "dict_type": "write an object",
    "model_type": "write an object",
    "model_attributes_type": "write an object",
    "string_too_short": "write {min_length} or more characters",
    "string_too_long": "write at most {max_length} characters",
    "too_short": "send {min_length} or more items",
    "too_long": "send at most {max_length} items",
    "greater_than_equal": "write a number of at least {ge}",
    "less_than_equal": "write a number of at most {le}",
    "literal_error": "write {expected}",
    "enum": "write {expected}",
    "string_pattern_mismatch": "write it in the form {pattern}",
}

Place = tuple[int | str, ...]
"""Names and indexes of what was sent, outermost first."""

Called = Mapping[int | str, str]
"""Names of a command's fields, where the caller knows them by others."""


def field_path(place: Place) -> str:
    """As refusals name a field; a name that the caller made up is cut, and shown without odd
    characters.
    """
    return (
        ".".join("".join(c for c in str(part) if c.isprintable())[:40] for part in place) or "body"
    )


def command_of(
    command: type[Command], fields: Mapping[str, Any], called: Called | None = None
) -> Command:
    """Errors: Refusal invalid_number, invalid_parameter, or not_found for an id of a form that
    names nothing.
    """
    try:
        return command.model_validate(fields)
    except ValidationError as error:
        some = error.errors(include_url=False)[:MAX_READ]
        found = [_fault(one, fields, called or {}) for one in some]
        raise _refusal([one for one in found if not _is_beside_the_point(one, found)]) from None


class _Fault(NamedTuple):
    """One rule that a field breaks."""

    place: Place
    type: str
    sentence: str


def _fault(error: ErrorDetails, fields: Mapping[str, Any], called: Called) -> _Fault:
    sentence = SENTENCES.get(error["type"])
    own = error["msg"].replace("Input should", "it should").replace("Value error, ", "")
    words = own if sentence is None else sentence.format_map(error.get("ctx", {}))
    place = tuple(_places(error, fields))
    shown = (called.get(place[0], place[0]), *place[1:]) if place else place
    return _Fault(shown, error["type"], f"{field_path(shown)}: {words}.")


def _places(error: ErrorDetails, value: Any) -> Iterator[int | str]:
    """The parts of the error's path that the caller knows; pydantic puts the tried types of a union
    between them.
    """
    for part in error["loc"]:
        is_there = (
            part in value
            if isinstance(value, Mapping)
            else isinstance(value, list) and isinstance(part, int) and part < len(value)
        )
        if is_there:
            value = value[part]
            yield part
        elif error["type"] == "missing":
            yield part


def _is_beside_the_point(fault: _Fault, found: Sequence[_Fault]) -> bool:
    """Of a union: that the value is of no other type either, where what is wrong with its own type
    is said already.
    """
    if not fault.type.endswith("_type"):
        return False
    within = [
        one for one in found if one is not fault and one.place[: len(fault.place)] == fault.place
    ]
    return any(
        len(one.place) > len(fault.place) or not one.type.endswith("_type") for one in within
    )


def _refusal(faults: Sequence[_Fault]) -> Refusal:
    for fault in faults:
        if fault.type == "not_found":
            return Refusal("not_found", fault.sentence)
    kind = "invalid_number" if faults[0].type in NUMBER_ERRORS else "invalid_parameter"
    missing = [field_path(fault.place) for fault in faults if fault.type == "missing"]
    detail = " ".join(fault.sentence for fault in faults[:MAX_SHOWN])
    return Refusal(kind, detail, missing=missing[:MAX_SHOWN] or None)

"""From the fields of a call to its command, or to a refusal that names each field and its rule.

What a caller sent is never repeated in the answer: it may be a secret in the wrong field.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from api.kernel.operation import Command, Refusal

MAX_SHOWN = 10
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
}


def command_of(command_type: type[Command], fields: Mapping[str, Any]) -> Command:
    """Errors: Refusal invalid_number, invalid_parameter, or not_found for an id of a form that names nothing."""
    try:
        return command_type.model_validate(fields)
    except ValidationError as error:
        raise _refusal(error.errors(include_url=False, include_input=False)) from None


def _refusal(errors: list[ErrorDetails]) -> Refusal:
    for error in errors:
        if error["type"] == "not_found":
            return Refusal("not_found", _sentence(error))
    kinds = ["invalid_number" if error["type"] in NUMBER_ERRORS else "invalid_parameter" for error in errors]
    missing = [_field(error) for error in errors if error["type"] == "missing"]
    detail = " ".join(_sentence(error) for error in errors[:MAX_SHOWN])
    return Refusal(kinds[0], detail, missing=missing[:MAX_SHOWN] or None)


def _sentence(error: ErrorDetails) -> str:
    rule = SENTENCES.get(error["type"]) or error["msg"].replace("Input should", "it should").replace("Value error, ", "")
    return f"{_field(error)}: {rule}."


def _field(error: ErrorDetails) -> str:
    """The field's path; a name that the caller made up is cut, and shown without odd characters."""
    return ".".join("".join(c for c in str(part) if c.isprintable())[:40] for part in error["loc"]) or "body"

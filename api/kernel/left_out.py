"""null leaves an optional field out, whatever its type: models and generated clients write what they
have nothing for so. The published schema says the same.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema

NULL: Mapping[str, Any] = {"type": "null"}
_SAYS_NO_TYPE = frozenset({"title", "description", "default", "examples"})


class NullLeavesOut(BaseModel):
    """Base of what is read from callers."""

    @model_validator(mode="before")
    @classmethod
    def _leave_out(cls, sent: Any) -> Any:
        if not isinstance(sent, Mapping) or None not in sent.values():
            return sent
        return {
            name: value
            for name, value in sent.items()
            if value is not None or not _is_optional(cls, name)
        }

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        schema = handler.resolve_ref_schema(handler(core))
        required = schema.get("required", ())
        found = schema.get("properties", {})
        found |= {name: or_null(one) for name, one in found.items() if name not in required}
        return schema


def _is_optional(command: type[BaseModel], name: str) -> bool:
    """A name that is no field's is not: it is refused, with null too."""
    field = command.model_fields.get(name)
    return field is not None and not field.is_required()


def or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """What describes the field stays beside its types."""
    beside = {name: value for name, value in schema.items() if name in _SAYS_NO_TYPE}
    kind = {name: value for name, value in schema.items() if name not in _SAYS_NO_TYPE}
    if not kind or NULL in kind.get("anyOf", ()):
        return dict(schema)
    kinds = kind["anyOf"] if kind.keys() == {"anyOf"} else [kind]
    return {"anyOf": [*kinds, dict(NULL)], **beside}


def without_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Of a value of the query, which is text."""
    kinds = [one for one in schema.get("anyOf", ()) if one != NULL]
    rest = {
        name: value
        for name, value in schema.items()
        if name != "anyOf" and (name, value) != ("default", None)
    }
    if not kinds:
        return dict(rest)
    return {**kinds[0], **rest} if len(kinds) == 1 else {"anyOf": kinds, **rest}

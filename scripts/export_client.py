"""The typed methods of the Python client, generated from the catalogue and the commands' JSON
schemas.

`python -m scripts.export_client` writes api/client/operations.py, which is not in git: the build
backend (scripts/build_backend.py) and `make build` run it. One class an area, one method a row, one
TypedDict a shape that a command or an answer has. A shape is named after its area, so that a later
one renames nothing.
"""

import keyword
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from api.catalogue import catalogue
from api.kernel.operation import Operation
from api.main import routed

FILE = Path(__file__).resolve().parent.parent / "api" / "client" / "operations.py"

HEAD = '''"""The calls of the service, typed. Generated from the catalogue: do not edit.

Money is text with six decimals, times are RFC 3339 text, unknown is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, cast

from api.client.following import FollowedEvents
from api.client.sending import Calls, Follow, Send, given
'''
SCALARS = {"string": "str", "integer": "int", "boolean": "bool", "number": "float", "null": "None"}
ALSO_ANSWERS: Mapping[str, int] = {"mandates.door": 402, "discovery.ready": 503}
"""Statuses above 399 that are answers of these calls, not refusals."""

_PATH_NAME = re.compile(r"\{(\w+)(?::\w+)?\}")


def module(operations: Sequence[Operation]) -> str:
    """The text of operations.py."""
    areas = sorted({operation.area for operation in operations})
    shapes: dict[str, str] = {}
    classes = [
        _area(area, [one for one in operations if one.area == area], shapes) for area in areas
    ]
    return "\n\n".join([HEAD, *shapes.values(), *classes, _areas(areas)])


def type_of(schema: Mapping[str, Any], prefix: str, array: str = "list") -> str:
    """The Python type of a JSON schema.

    `array`: what a list is called (an argument may be any sequence).
    """
    if "$ref" in schema:
        return prefix + str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        types = dict.fromkeys(type_of(one, prefix, array) for one in schema["anyOf"])
        if "str" in types:
            types.pop("float", None)  # money as text, never as a float
        return " | ".join(types)
    if "const" in schema or "enum" in schema:
        return f"Literal[{', '.join(repr(value) for value in schema.get('enum', [schema.get('const')]))}]"
    kind = schema.get("type")
    if kind == "array":
        return f"{array}[{type_of(schema.get('items', {}), prefix, array)}]"
    if kind == "object":
        return _mapping(schema, prefix, array)
    return SCALARS[kind] if isinstance(kind, str) else "Any"


def _mapping(schema: Mapping[str, Any], prefix: str, array: str) -> str:
    values = schema.get("additionalProperties")
    inner = type_of(values, prefix, array) if isinstance(values, Mapping) else "Any"
    return f"{'Mapping' if array == 'Sequence' else 'dict'}[str, {inner}]"


# Shapes


def _shapes(
    schema: Mapping[str, Any], name: str | None, prefix: str, found: dict[str, str]
) -> None:
    """Add the TypedDicts of a schema to `found` by name: those it refers to, then itself, unless
    `name` is None.
    """
    for inner, definition in schema.get("$defs", {}).items():
        found.setdefault(prefix + inner, _shape(prefix + inner, definition, prefix))
    if name is not None:
        found.setdefault(prefix + name, _shape(prefix + name, schema, prefix))


def _shape(name: str, schema: Mapping[str, Any], prefix: str) -> str:
    """A TypedDict; of what is no object with named fields, the type itself."""
    if "properties" not in schema:
        return f"{name}: TypeAlias = {type_of(schema, prefix)!r}"
    required = schema.get("required", [])
    fields = {field: type_of(one, prefix) for field, one in schema["properties"].items()}
    typed = {
        field: kind if field in required else f"NotRequired[{kind}]"
        for field, kind in fields.items()
    }
    if all(field.isidentifier() and not keyword.iskeyword(field) for field in typed):
        lines = "".join(
            f"    {field}: {kind}{_remark(schema['properties'][field])}\n"
            for field, kind in typed.items()
        )
        return f"class {name}(TypedDict):\n{lines or '    pass'}"
    return (
        f"{name} = TypedDict({name!r}, "
        f"{{{', '.join(f'{field!r}: {kind!r}' for field, kind in typed.items())}}})"
    )


def _remark(schema: Mapping[str, Any]) -> str:
    words = " ".join(str(schema.get("description", "")).split())
    return f"  # {words}" if words else ""


# Methods


def _areas(areas: Sequence[str]) -> str:
    lines = "".join(f"        self.{area} = {_class(area)}Calls(send, follow)\n" for area in areas)
    return (
        "class Areas:\n"
        '    """Every area of the service by its name."""\n'
        "\n"
        "    def __init__(self, send: Send, follow: Follow) -> None:\n"
        f"{lines}"
    )


def _class(area: str) -> str:
    return "".join(part.title() for part in area.split("_"))


def _area(area: str, operations: Sequence[Operation], shapes: dict[str, str]) -> str:
    methods = "\n".join(_method(operation, shapes) for operation in operations)
    return (
        f"class {_class(area)}Calls(Calls):\n"
        f'    """The calls {area}.* of the catalogue."""\n'
        "\n"
        f"{methods}"
    )


def _method(operation: Operation, shapes: dict[str, str]) -> str:
    prefix = _class(operation.area)
    schema = operation.command.model_json_schema()
    _shapes(schema, None, prefix, shapes)
    answer = _answer(operation, prefix, shapes)
    idempotent = ["idempotency_key: str | None = None"] if operation.idempotent else []
    in_path, named = _arguments(operation.path, schema, prefix)
    signature = ", ".join(
        ["self", *in_path, *(["*"] if named or idempotent else []), *named, *idempotent]
    )
    sent = _call(operation, schema)
    is_cast = answer != "dict[str, Any]" and not operation.streams
    result = f'return cast("{answer}", {sent})' if is_cast else f"return {sent}"
    name = _safe(operation.key.partition(".")[2])
    words = (
        f"{operation.summary}\n"
        "\n"
        f"        {operation.method} {operation.path}; credential: {operation.auth}."
    )
    return (
        f"    def {name}({signature}) -> {answer}:\n"
        f'        """{words}\n'
        '        """\n'
        f"        {result}\n"
    )


def _answer(operation: Operation, prefix: str, shapes: dict[str, str]) -> str:
    if operation.streams:
        return "FollowedEvents"
    if operation.media[0] != "application/json":
        return "dict[str, Any]"
    _shapes(operation.answer.model_json_schema(), operation.answer.__name__, prefix, shapes)
    return prefix + operation.answer.__name__


def _arguments(path: str, schema: Mapping[str, Any], prefix: str) -> tuple[list[str], list[str]]:
    """(arguments of the path, keyword arguments: those that must be given first)."""
    fields: Mapping[str, Any] = schema.get("properties", {})
    in_path = [
        f"{_safe(name)}: {type_of(fields.get(name, {'type': 'string'}), prefix)}"
        for name in _PATH_NAME.findall(path)
    ]
    rest = {
        name: type_of(one, prefix, "Sequence")
        for name, one in fields.items()
        if name not in _PATH_NAME.findall(path)
    }
    required = [
        f"{_safe(name)}: {kind}"
        for name, kind in rest.items()
        if name in schema.get("required", [])
    ]
    optional = [
        f"{_safe(name)}: {_or_none(kind)} = None"
        for name, kind in rest.items()
        if name not in schema.get("required", [])
    ]
    return in_path, required + optional


def _or_none(kind: str) -> str:
    """None stands for: not given.

    The service's default is null then, or a value that null is not.
    """
    return kind if kind == "Any" or "None" in kind.split(" | ") else f"{kind} | None"


def _call(operation: Operation, schema: Mapping[str, Any]) -> str:
    fields, required = schema.get("properties", {}), schema.get("required", [])
    must = [
        name
        for name in dict.fromkeys((*_PATH_NAME.findall(operation.path), *fields))
        if name in required or name not in fields
    ]
    may = [name for name in fields if name not in required]
    body = "{" + ", ".join(f'"{name}": {_safe(name)}' for name in must) + "}"
    given = f"given({', '.join(f'{_safe(name)}={_safe(name)}' for name in may)})"
    sent = " | ".join([*([body] if must or not may else []), *([given] if may else [])])
    if operation.streams:
        return f"self._follow({operation.path!r}, {operation.auth.name!r}, {sent})"
    more = ["idempotent=True", "idempotency_key=idempotency_key"] if operation.idempotent else []
    more += [f"also={ALSO_ANSWERS[operation.key]}"] if operation.key in ALSO_ANSWERS else []
    return f"self._send({', '.join([repr(operation.method), repr(operation.path), repr(operation.auth.name), sent, *more])})"


def _safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def main() -> None:
    text = module(routed(catalogue()))
    if not FILE.exists() or FILE.read_text() != text:
        FILE.write_text(text)


if __name__ == "__main__":
    main()

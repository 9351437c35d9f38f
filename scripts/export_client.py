"""The typed methods of the Python client, made of docs/openapi.json.

`python -m scripts.export_client` writes api/client/operations.py, which is not in git: the build
backend (scripts/build_backend.py) and `make build` run it, so it needs the standard library alone.
One class an area, one method an operation, one TypedDict a shape that a call or an answer has. A
shape is named after its area, so that a later one renames nothing.
"""

import json
import keyword
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "openapi.json"
FILE = ROOT / "api" / "client" / "operations.py"
HEAD = '''"""The calls of the service, typed. Generated from docs/openapi.json: do not edit.

Money is text with six decimals, times are RFC 3339 text, unknown is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict, cast

from api.client.following import FollowedEvents
from api.client.sending import Calls, Follow, Send, given
'''
SCALARS = {"string": "str", "integer": "int", "boolean": "bool", "number": "float", "null": "None"}
ALSO_ANSWERS = {"mandates.door": 402, "discovery.ready": 503}
"""Statuses above 399 that are answers of these calls, not refusals."""

DONE = ("200", "201", "202", "402")  # the last is what mandates.door answers
JSON, EVENTS = "application/json", "text/event-stream"
IDEMPOTENCY = "Idempotency-Key"
OF_OTHER_CLIENTS = "tools"  # the endpoint of the Model Context Protocol

_PATH_NAME = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class ClientCall:
    """One operation of the document. `fields`: what it takes, whether in path, query or body;
    `answer`: the name of its shape, None where it is no JSON.
    """

    area: str
    name: str
    method: str
    path: str
    summary: str
    auth: str
    fields: Mapping[str, Any]
    required: Sequence[str]
    answer: str | None
    streams: bool
    idempotent: bool


def calls_of(document: Mapping[str, Any]) -> list[ClientCall]:
    return [
        _call_of(method, path, entry)
        for path, methods in document["paths"].items()
        for method, entry in methods.items()
        if entry["tags"] != [OF_OTHER_CLIENTS]
    ]


def _call_of(method: str, path: str, entry: Mapping[str, Any]) -> ClientCall:
    (area,) = entry["tags"]
    parameters = [one for one in entry["parameters"] if one["in"] != "header"]
    body = entry.get("requestBody", {"content": {JSON: {"schema": {}}}})["content"][JSON]["schema"]
    answered = next(entry["responses"][one] for one in DONE if one in entry["responses"])
    media = answered.get("content", {})
    schema = media.get(JSON, {}).get("schema", {})
    return ClientCall(
        area=area,
        name=entry["operationId"].removeprefix(f"{area}_"),
        method=method.upper(),
        path=path,
        summary=entry["summary"],
        auth=entry["description"].removeprefix("Credential: ").partition(".")[0],
        fields={one["name"]: one["schema"] for one in parameters} | body.get("properties", {}),
        required=[
            *(one["name"] for one in parameters if one["required"]),
            *body.get("required", []),
        ],
        answer=str(schema["$ref"]).rpartition("/")[2] if "$ref" in schema else None,
        streams=EVENTS in media,
        idempotent=any(one["name"] == IDEMPOTENCY for one in entry["parameters"]),
    )


def module(document: Mapping[str, Any]) -> str:
    """The text of operations.py."""
    calls, known = calls_of(document), document["components"]["schemas"]
    areas = sorted({call.area for call in calls})
    shapes: dict[str, str] = {}
    for call in calls:
        for taken in (*call.fields.values(), {"$ref": call.answer} if call.answer else {}):
            _add_shapes(taken, _class(call.area), known, shapes)
    classes = [_area(area, [one for one in calls if one.area == area]) for area in areas]
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


def _add_shapes(schema: Any, prefix: str, known: Mapping[str, Any], found: dict[str, str]) -> None:
    """Add the shapes that a schema refers to, directly or not, to `found` by name."""
    if isinstance(schema, list):
        for one in schema:
            _add_shapes(one, prefix, known, found)
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("$ref"), str):
        name = schema["$ref"].rpartition("/")[2]
        if prefix + name not in found:
            found[prefix + name] = _shape(prefix + name, known[name], prefix)
            _add_shapes(known[name], prefix, known, found)
    for one in schema.values():
        _add_shapes(one, prefix, known, found)


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


def _area(area: str, calls: Sequence[ClientCall]) -> str:
    methods = "\n".join(_method(call) for call in calls)
    return (
        f"class {_class(area)}Calls(Calls):\n"
        f'    """The calls {area}.* of the catalogue."""\n'
        "\n"
        f"{methods}"
    )


def _method(call: ClientCall) -> str:
    prefix = _class(call.area)
    answer = "FollowedEvents" if call.streams else f"{prefix}{call.answer}"
    if call.answer is None and not call.streams:
        answer = "dict[str, Any]"
    idempotent = ["idempotency_key: str | None = None"] if call.idempotent else []
    in_path, named = _arguments(call, prefix)
    signature = ", ".join(
        ["self", *in_path, *(["*"] if named or idempotent else []), *named, *idempotent]
    )
    sent = _sent(call)
    is_cast = answer != "dict[str, Any]" and not call.streams
    result = f'return cast("{answer}", {sent})' if is_cast else f"return {sent}"
    words = f"{call.summary}\n\n        {call.method} {call.path}; credential: {call.auth}."
    return (
        f"    def {_safe(call.name)}({signature}) -> {answer}:\n"
        f'        """{words}\n'
        '        """\n'
        f"        {result}\n"
    )


def _arguments(call: ClientCall, prefix: str) -> tuple[list[str], list[str]]:
    """(arguments of the path, keyword arguments: those that must be given first)."""
    names = _PATH_NAME.findall(call.path)
    in_path = [f"{_safe(name)}: {type_of(call.fields[name], prefix)}" for name in names]
    rest = {
        name: type_of(one, prefix, "Sequence")
        for name, one in call.fields.items()
        if name not in names
    }
    required = [f"{_safe(name)}: {kind}" for name, kind in rest.items() if name in call.required]
    optional = [
        f"{_safe(name)}: {_or_none(kind)} = None"
        for name, kind in rest.items()
        if name not in call.required
    ]
    return in_path, required + optional


def _or_none(kind: str) -> str:
    """None means: not given.

    The service's default is null then, or a value that null is not.
    """
    return kind if kind == "Any" or "None" in kind.split(" | ") else f"{kind} | None"


def _sent(call: ClientCall) -> str:
    must = [name for name in call.fields if name in call.required]
    may = [name for name in call.fields if name not in call.required]
    body = "{" + ", ".join(f'"{name}": {_safe(name)}' for name in must) + "}"
    given = f"given({', '.join(f'{_safe(name)}={_safe(name)}' for name in may)})"
    sent = " | ".join([*([body] if must or not may else []), *([given] if may else [])])
    if call.streams:
        return f"self._follow({call.path!r}, {call.auth!r}, {sent})"
    more = ["idempotent=True", "idempotency_key=idempotency_key"] if call.idempotent else []
    also = ALSO_ANSWERS.get(f"{call.area}.{call.name}")
    more += [] if also is None else [f"also={also}"]
    return f"self._send({', '.join([repr(call.method), repr(call.path), repr(call.auth), sent, *more])})"


def _safe(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) else name


def main() -> None:
    text = module(json.loads(DOCUMENT.read_text()))
    if not FILE.exists() or FILE.read_text() != text:
        FILE.write_text(text)


if __name__ == "__main__":
    main()

"""The tools, generated from the rows of the catalogue that name one: name, title, description, arguments, answer and hints.

Laws
- A tool takes the fields of its twin's command, those of the path included, and what the header Idempotency-Key is to
  the twin in the argument `idempotency_key`. Keys and sessions come in HTTP headers, never in arguments (docs/rules.md#secret-fields).
- What a tool declares as its answer admits a refusal too: clients hold `structuredContent` to it even where `isError` is true.
- All four hints stand on each tool: what is left out would read as destructive and open.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from mcp_types import Tool as Described
from mcp_types import ToolAnnotations
from pydantic.json_schema import GenerateJsonSchema

from api.catalog import ROWS, Row, Tool, ToolKind
from api.kernel.idempotency import KEY_PATTERN
from api.kernel.operation import Operation

IDEMPOTENCY_ARGUMENT = "idempotency_key"
IDEMPOTENCY_SCHEMA: Mapping[str, Any] = {
    "type": "string",
    "pattern": f"^{KEY_PATTERN}$",
    "description": "of your own making; the same key and arguments again get the first answer again, and nothing is written twice",
}


@dataclass(frozen=True, slots=True)
class Entry:
    """A tool that exists: how it is described to clients, and the operation that it enters."""

    tool: Tool
    operation: Operation
    described: Described


def entries_of(operations: Iterable[Operation]) -> Mapping[str, Entry]:
    """By name, in the order of the catalogue."""
    places = list(ROWS)
    bound = [(operation.row.tool, operation) for operation in sorted(operations, key=lambda one: places.index(one.key))]
    return {tool.name: Entry(tool, operation, described(tool, operation)) for tool, operation in bound if tool is not None}


@cache
def described(tool: Tool, operation: Operation) -> Described:
    """Made once for each operation: writing its schemas takes milliseconds, which every application would pay again."""
    row = operation.row
    return Described(
        name=tool.name,
        title=tool.title,
        description=row.summary,
        input_schema=_arguments(operation),
        output_schema=answers_of(operation),
        annotations=hints(tool, row),
    )


def hints(tool: Tool, row: Row) -> ToolAnnotations:
    """`openWorldHint` is false throughout: a tool acts on this service's records and vaults, on nothing beyond.

    `idempotentHint` says that the same arguments again change nothing further: so do reads, and twins whose method promises it.
    """
    return ToolAnnotations(
        read_only_hint=tool.kind is ToolKind.READ,
        destructive_hint=tool.kind is ToolKind.DESTRUCTIVE,
        idempotent_hint=tool.kind is ToolKind.READ or row.method in ("PUT", "DELETE"),
        open_world_hint=False,
    )


class _Untitled(GenerateJsonSchema):
    """Titles that repeat the field's name cost a model's attention and say nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


REFUSED: Mapping[str, Any] = {
    "type": "object",
    "description": "refused; the result has isError",
    "required": ["detail"],
    "properties": {"detail": {"type": "string"}, "service": {"type": "object"}},
}


def answers_of(operation: Operation) -> dict[str, Any]:
    """JSON Schema of the structured content: the twin's answer, or its refusal. MCP wants an object at the root.

    A page of text, which has no type, is {"text": ...}; its refusal may be an offer of x402.
    """
    if operation.answer_type is None:
        return {"type": "object"}
    schema = operation.answer_type.model_json_schema(schema_generator=_Untitled)
    parts = schema.pop("$defs", {})
    return {"type": "object", "anyOf": [schema, dict(REFUSED)]} | ({"$defs": parts} if parts else {})


def _arguments(operation: Operation) -> dict[str, Any]:
    """JSON Schema of an object; the docstring of the command is for readers of the code and stays out."""
    schema = operation.command_type.model_json_schema(schema_generator=_Untitled)
    found = {name: value for name, value in schema.items() if name not in ("title", "description")}
    found.setdefault("properties", {})
    if operation.row.idempotent:
        found["properties"][IDEMPOTENCY_ARGUMENT] = dict(IDEMPOTENCY_SCHEMA)
    return found

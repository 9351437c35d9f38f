"""Types and arguments of the generated client, from the JSON schemas of commands."""

from typing import Any, cast

import pytest
from pydantic import BaseModel

from api.catalog import ROWS, Auth, Row
from api.kernel.operation import Answer, Command, Operation
from scripts import export_client
from scripts.export_client import type_of


@pytest.mark.parametrize(
    ("schema", "kind"),
    [
        ({"type": "string", "pattern": "^0x$"}, "str"),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, "int | None"),
        ({"anyOf": [{"type": "string"}, {"type": "string"}]}, "str"),
        ({"enum": ["keep", "close"], "type": "string"}, "Literal['keep', 'close']"),
        ({"const": "USDC", "type": "string"}, "Literal['USDC']"),
        ({"type": "array", "items": {"$ref": "#/$defs/Step"}}, "list[AreaStep]"),
        ({"type": "array", "items": {}}, "list[Any]"),
        ({"type": "object"}, "dict[str, Any]"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "dict[str, int]"),
        ({"type": "object", "additionalProperties": True}, "dict[str, Any]"),
        ({}, "Any"),
    ],
)
def test_a_schema__has_its_python_type(schema: dict[str, Any], kind: str) -> None:
    assert type_of(schema, "Area") == kind


def test_an_argument__may_be_any_sequence() -> None:
    assert type_of({"type": "array", "items": {"type": "string"}}, "Area", "Sequence") == "Sequence[str]"


class Inner(BaseModel):
    units: int


class Gave(BaseModel):
    inner: Inner
    note: str | None = None


class Give(Command):
    note: str = "x"
    id: int
    amount_usdc: str


def test_a_row__becomes_a_method_with_what_is_needed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    row = Row(key="gifts.import", method="POST", path="/g/{id}", auth=Auth.KEY, section="x", summary="Give it.", idempotent=True)
    monkeypatch.setitem(cast("dict[str, Row]", ROWS), row.key, row)
    text = " ".join(export_client.module([Operation(row.key, Give, lambda call, caller, command: Answer({}), Gave)]).split())

    arguments = "self, id: int, *, amount_usdc: str, note: str | None = None, idempotency_key: str | None = None"
    assert f"def import_({arguments}) -> GiftsGave:" in text.replace("( ", "(").replace(" )", ")")
    assert "class GiftsGave(TypedDict): inner: GiftsInner note: NotRequired[str | None]" in text
    assert '{"id": id, "amount_usdc": amount_usdc} | given(note=note)' in text
    assert "POST /g/{id}; credential: key; section: x." in text

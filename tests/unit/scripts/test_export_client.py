"""Types and arguments of the generated client, from the JSON schemas of commands."""

from typing import Any

from pydantic import BaseModel

from api.kernel.auth import BY_KEY
from api.kernel.caller import AgentCaller
from api.kernel.operation import Answer, AnswerBody, Command, Write, WriteCall
from scripts import export_client
from scripts.export_client import type_of
from tests.each import each


@each(
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
    assert (
        type_of({"type": "array", "items": {"type": "string"}}, "Area", "Sequence")
        == "Sequence[str]"
    )


class Inner(BaseModel):
    units: int


class Gave(AnswerBody):
    inner: Inner
    note: str | None = None


class Give(Command):
    note: str = "x"
    id: int
    amount_usdc: str


def give(call: WriteCall, caller: AgentCaller, command: Give) -> Answer[Gave]:
    raise NotImplementedError


def test_an_operation__becomes_a_method_with_what_is_needed_first() -> None:
    gift = Write(
        key="gifts.import",
        path="/g/{id}",
        auth=BY_KEY,
        summary="Give it.",
        handler=give,
        idempotent=True,
    )
    text = " ".join(export_client.module([gift]).split())
    # however the formatter breaks the lines
    text = text.replace("( ", "(").replace(" )", ")").replace(",)", ")")

    arguments = (
        "self, id: int, *, amount_usdc: str, note: str | None = None, idempotency_key: str | "
        "None = None"
    )
    assert f"def import_({arguments}) -> GiftsGave:" in text
    assert "class GiftsGave(TypedDict): inner: GiftsInner note: NotRequired[str | None]" in text
    assert '{"id": id, "amount_usdc": amount_usdc} | given(note=note)' in text
    assert "POST /g/{id}; credential: key." in text

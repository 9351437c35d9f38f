"""Types and arguments of the generated client, from the service's OpenAPI document."""

from typing import Any

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


DOCUMENT = {
    "paths": {
        "/g/{id}": {
            "post": {
                "tags": ["gifts"],
                "operationId": "gifts_import",
                "summary": "Give it.",
                "description": "Credential: key. Give and take.",
                "parameters": [
                    {"in": "path", "name": "id", "required": True, "schema": {"type": "integer"}},
                    {"in": "header", "name": "Idempotency-Key", "required": False, "schema": {}},
                ],
                "requestBody": {
                    "content": {
                        "application/json": {
                            "schema": {
                                "properties": {
                                    "note": {"type": "string"},
                                    "amount_usdc": {"type": "string"},
                                },
                                "required": ["amount_usdc"],
                            }
                        }
                    }
                },
                "responses": {
                    "200": {
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/Gave"}}
                        }
                    }
                },
            }
        }
    },
    "components": {
        "schemas": {
            "Gave": {
                "properties": {
                    "inner": {"$ref": "#/components/schemas/Inner"},
                    "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
                },
                "required": ["inner"],
            },
            "Inner": {"properties": {"units": {"type": "integer"}}, "required": ["units"]},
        }
    },
}


def test_an_operation__becomes_a_method_with_what_is_needed_first() -> None:
    text = " ".join(export_client.module(DOCUMENT).split())
    arguments = (
        "self, id: int, *, amount_usdc: str, note: str | None = None, idempotency_key: str | "
        "None = None"
    )
    assert f"def import_({arguments}) -> GiftsGave:" in text
    assert "class GiftsGave(TypedDict): inner: GiftsInner note: NotRequired[str | None]" in text
    assert "class GiftsInner(TypedDict): units: int" in text
    assert '{"id": id, "amount_usdc": amount_usdc} | given(note=note)' in text
    assert "POST /g/{id}; credential: key." in text

"""The document says in JSON Schema's own words what a field takes."""

from collections.abc import Iterator
from typing import Any

import pytest

from api.catalogue import catalogue
from api.kernel import auth
from api.tools.registry import entries_of
from tests.unit.api import documented

OF_PYDANTIC = {"ge", "le", "gt", "lt", "max_digits", "decimal_places"}


def schemas_in(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    if isinstance(node, dict):
        yield path, node
        for name, inner in node.items():
            yield from schemas_in(inner, f"{path}/{name}")
    if isinstance(node, list):
        for place, inner in enumerate(node):
            yield from schemas_in(inner, f"{path}/{place}")


@pytest.fixture
def document() -> dict[str, Any]:
    return documented.document()


def test_bounds__are_minimum_and_maximum(document: dict[str, Any]) -> None:
    """`Annotated[Int, Field(ge=1)]` wrote `ge` into the document, a word that no reader of JSON
    Schema knows.
    """
    leaked = [
        path
        for path, schema in schemas_in(document)
        if "properties" not in path.rsplit("/", 1)[-1] and OF_PYDANTIC & schema.keys()
    ]
    assert leaked == []


def test_free_objects__say_that_they_take_any_field(document: dict[str, Any]) -> None:
    """openapi-typescript reads a bare `object` as Record<string, never>: no client that it made
    could send a payload or a payout_rule.
    """
    said = {"properties", "additionalProperties", "anyOf"}
    bare = [
        path
        for path, schema in schemas_in(document)
        if schema.get("type") == "object" and not said & schema.keys()
    ]
    assert bare == []


def test_a_text_beside_other_types__is_a_list_of_one(document: dict[str, Any]) -> None:
    """openapi-python-client took the text alone where it was a constant, and refused each number."""
    constants = [
        path
        for path, schema in schemas_in(document)
        if any("const" in kind for kind in schema.get("anyOf", ()))
    ]
    assert constants == []


def test_bounds__of_tools_are_too() -> None:
    listed = {name: entry.described.input_schema for name, entry in entries_of(catalogue()).items()}
    assert [path for path, schema in schemas_in(listed) if OF_PYDANTIC & schema.keys()] == []


def test_allowed_targets__say_how_many_may_be_named(document: dict[str, Any]) -> None:
    """It said 64, of which the rules take 32."""
    drafts = document["paths"]["/mandate-wallet/mandates"]["post"]["requestBody"]["content"]
    targets = drafts["application/json"]["schema"]["properties"]["allowed_targets"]["anyOf"][0]
    assert (targets["minItems"], targets["maxItems"]) == (1, 32)


def test_level__says_its_bounds(document: dict[str, Any]) -> None:
    body = document["paths"]["/admin/defense"]["put"]["requestBody"]["content"]["application/json"][
        "schema"
    ]
    assert (body["properties"]["level"]["minimum"], body["properties"]["level"]["maximum"]) == (
        0,
        3,
    )


def test_agents_id__is_taken_as_a_number_and_as_text(document: dict[str, Any]) -> None:
    """Core answers user_id as a number, the wallet agent_id as text: either goes in everywhere."""
    places = (
        "/agents/{id}/scopes",
        "/mandate-wallet/agents/{id}/policy",
        "/mandate-wallet/agents/{id}/balances",
    )
    taken = [
        next(iter(document["paths"][path].values()))["parameters"][0]["schema"] for path in places
    ]
    assert [[one["type"] for one in schema["anyOf"]] for schema in taken] == [
        ["string", "integer"]
    ] * 3


def test_what_an_answer_leaves_out__has_no_default(document: dict[str, Any]) -> None:
    """`simulated` defaulted to true, so that what was left out, of a real market, read as simulated."""
    schemas = document["components"]["schemas"]
    assert "simulated" in schemas["FeedData"]["properties"]
    assert "simulated" not in schemas["FeedData"]["required"]
    assert "default" not in schemas["FeedData"]["properties"]["simulated"]


def test_tags__are_the_catalogues_areas(document: dict[str, Any]) -> None:
    assert sorted(tag["name"] for tag in document["tags"]) == sorted(
        {row.area for row in catalogue().operations}
    )


def test_a_credential__is_named_once(document: dict[str, Any]) -> None:
    """What takes keys, sessions and operators named two of them twice: operators send one or the other."""
    twice = [
        (path, method)
        for path, methods in document["paths"].items()
        for method, call in methods.items()
        if len({str(one) for one in call.get("security", [])}) < len(call.get("security", []))
    ]
    assert twice == []


def test_a_call_that_anybody_makes__needs_nothing_and_one_by_key_needs_it() -> None:
    assert auth.ANYBODY.security == []
    assert auth.BY_KEY.security == [{"AgentKey": []}]

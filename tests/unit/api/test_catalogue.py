"""Catalogue plus pending equals the specification, and pending only shrinks (law 9)."""

import csv
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from api import catalogue as api_catalogue
from api.catalogue import areas, catalogue
from api.kernel import auth
from api.kernel.operation import AnswerBody, Area, Operation, Read
from api.kernel.refusals import REASONS
from api.main import routed
from core.credits.rules.prices import PRICES
from tests.each import each

SPEC = Path(__file__).parents[2] / "spec"
# Lower it with every route that lands. It never rises.
PENDING = 0


def rows_of(name: str) -> list[dict[str, str]]:
    with (SPEC / name).open() as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def call(method: str, path: str) -> str:
    return f"{method} {path}"


SPECIFIED = rows_of("routes.tsv")
ADDED = rows_of("added-routes.tsv")
CALLS = {call(row["method"], row["path"]) for row in SPECIFIED + ADDED}
TOOLS = {f"tool {row['tool']}" for row in rows_of("tools.tsv")}
# Prometheus text on a port of its own; a viewer of openapi.json beside the operations; of `make up` alone
APART = {"GET /metrics", "GET /docs", "GET /", "POST /local/faucet"}
SERVED = {call(row.method, row.path) for row in catalogue().operations}
SERVED_TOOLS = {f"tool {row.tool.name}" for row in catalogue().operations if row.tool is not None}


def pending() -> list[str]:
    return (SPEC / "pending_routes.txt").read_text().splitlines()


def test_catalogue_and_pending__together_are_the_specification() -> None:
    assert SERVED | SERVED_TOOLS | APART | set(pending()) == CALLS | TOOLS


def test_pending__names_nothing_that_exists() -> None:
    assert set(pending()) & (SERVED | SERVED_TOOLS) == set()


def test_pending__only_shrinks() -> None:
    assert len(pending()) == PENDING
    assert pending() == sorted(set(pending()))


def test_the_catalogue__names_each_call_and_each_key_once() -> None:
    assert (
        len(SERVED)
        == len(catalogue().operations)
        == len({row.key for row in catalogue().operations})
    )


def test_a_price__stands_on_reads_alone_and_is_in_the_table() -> None:
    assert {
        (row.method, row.sold.price.key in PRICES)
        for row in catalogue().operations
        if row.sold is not None
    } == {("GET", True)}


def test_every_tool_that_the_catalogue_names__is_of_the_specification() -> None:
    assert SERVED_TOOLS <= TOOLS


# docs/rules.md#next-calls, and added-routes.tsv on connect
WIDENED = {
    "GET /agent/catalog": auth.ANYBODY_OR_KEY_OR_OWNER,
    "POST /auth/agent/connect": auth.ANYBODY_OR_OWNER,
    "GET /kg/{token}.md": auth.ANYBODY_OR_KEY_OR_OWNER,  # a key makes the note pro
    "GET /me/notices": auth.BY_KEY_OWNER_OR_BEARER,
    "GET /me/violations": auth.BY_KEY_OWNER_OR_BEARER,
    "GET /earn/me": auth.BY_KEY_OR_OWNER,
    "GET /payouts/mine": auth.BY_KEY_OR_OWNER,
    "GET /playbooks/{pb}/{path}": auth.ANYBODY_OR_KEY_OR_OWNER,
    "GET /fund/vaults/{id}/signals": auth.ANYBODY_OR_KEY_OR_OWNER,  # docs/fund.md, live=1
    "POST /fund/indices/{id}/applications": auth.BY_KEY_OWNER_OR_BEARER,  # docs/fund.md#applications
    "POST /fund/vaults/{id}/request-creation": auth.BY_KEY_OWNER_OR_BEARER,  # who may apply
    "GET /fund/vaults/{id}/creation-request": auth.ANY_CREDENTIAL,  # its maker, or operators
    "GET /tasks/{id}": auth.ANYBODY_OR_KEY_OR_OWNER,  # docs/tasks.md#what-is-shown
    "GET /fund/me/journey": auth.ANYBODY_OR_ACCOUNT,  # a step of a new agent, which has a bearer alone
}


@each("row", catalogue().operations, ids=lambda row: row.key)
def test_a_route__takes_the_credentials_of_the_specification(row: Operation) -> None:
    specified = {call(one["method"], one["path"]): one["auth"] for one in ADDED + SPECIFIED}
    name = call(row.method, row.path)
    assert str(row.auth) == str(WIDENED.get(name, specified[name]))


@each("operation", routed(catalogue()), ids=lambda operation: operation.key)
def test_a_path__is_filled_by_the_command_and_an_example_is_valid(operation: Operation) -> None:
    in_path = {name for name in operation.command.model_fields if f"{{{name}}}" in operation.path}
    assert operation.path.count("{") == len(in_path)
    if operation.example is not None:
        operation.command.model_validate(dict.fromkeys(in_path, 1) | dict(operation.example))


def models_in(kind: Any) -> set[type[BaseModel]]:
    """The models that a type is made of, itself included."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return {kind}.union(*(models_in(field.annotation) for field in kind.model_fields.values()))
    return set[type[BaseModel]]().union(*map(models_in, get_args(kind)))


@each("operation", catalogue().operations, ids=lambda one: one.key)
def test_an_operation__answers_closed_types_alone(operation: Operation) -> None:
    assert [
        model.__name__ for model in models_in(operation.answer) if not issubclass(model, AnswerBody)
    ] == []


@each("operation", catalogue().operations, ids=lambda one: one.key)
def test_an_operation__is_declared_as_its_area_and_its_kind_are(operation: Operation) -> None:
    (home,) = (area for area in areas() if operation in area.operations)
    assert operation.area == home.name
    # a Read's session cannot write (CONTRIBUTING.md#a-route)
    assert isinstance(operation, Read) == (operation.method == "GET")
    # what has a price has no ETag, and no free 304
    assert operation.sold is None or operation.cache is None


@each("area", areas(), ids=lambda one: one.name)
def test_an_areas_reasons__are_of_no_other_and_each_is_answered_by_an_operation_of_it(
    area: Area,
) -> None:
    others = {name for one in areas() if one is not area for name in one.reasons}
    assert area.reasons.keys() & (REASONS.keys() | others) == set()
    assert area.reasons.keys() <= {name for one in area.operations for name in one.refuses}


def test_what_a_refusal_names__is_declared() -> None:
    known = catalogue()
    named = {reason for one in known.operations for reason in one.refuses}
    calls = {key for reason in known.reasons.values() for key in reason.next_calls}
    assert (named - known.reasons.keys(), calls - known.by_key.keys()) == (set(), set())


def test_every_operation__says_in_a_sentence_what_it_does() -> None:
    assert [one.key for one in catalogue().operations if not one.summary.endswith(".")] == []


def test_operations_without_an_area__stop_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_catalogue, "import_module", ModuleType)
    with pytest.raises(
        ValueError, match=r"api\.areas\.agents\.operations must export AREA, .*#an-"
    ):
        areas()


def test_a_folder_without_operations__stops_the_start(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "ghost").mkdir()
    (tmp_path / "ghost" / "operation.py").touch()
    monkeypatch.setattr(api_catalogue, "AREAS", tmp_path)
    with pytest.raises(ValueError, match=r"^api.areas.ghost is no area"):
        areas()

"""Catalogue plus pending equals the specification, and pending only shrinks (law 9)."""

import csv
from pathlib import Path

import pytest

from api.catalog import CATALOG, Auth, Row
from api.kernel.operation import Operation
from api.main import OPERATIONS
from core.credits.rules.prices import PRICES

SPEC = Path("tests/spec")
# Lower it with every route that lands. It never rises.
PENDING = 121


def rows_of(name: str) -> list[dict[str, str]]:
    with (SPEC / name).open() as lines:
        return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def call(method: str, path: str) -> str:
    return f"{method} {path}"


SPECIFIED = rows_of("routes.tsv")
ADDED = rows_of("added-routes.tsv")
CALLS = {call(row["method"], row["path"]) for row in SPECIFIED + ADDED}
TOOLS = {f"tool {row['tool']}" for row in rows_of("tools.tsv")}
SERVED = {call(row.method, row.path) for row in CATALOG}
SERVED_TOOLS = {f"tool {row.tool.name}" for row in CATALOG if row.tool is not None}


def pending() -> list[str]:
    return (SPEC / "pending_routes.txt").read_text().splitlines()


def test_catalogue_and_pending__together_are_the_specification() -> None:
    assert (SERVED | SERVED_TOOLS) | set(pending()) == CALLS | TOOLS


def test_pending__names_nothing_that_exists() -> None:
    assert set(pending()) & (SERVED | SERVED_TOOLS) == set()


def test_pending__only_shrinks() -> None:
    assert len(pending()) == PENDING
    assert pending() == sorted(set(pending()))


def test_the_catalogue__names_each_call_and_each_key_once() -> None:
    assert len(SERVED) == len(CATALOG) == len({row.key for row in CATALOG})


def test_a_price__stands_on_reads_alone_and_is_in_the_table() -> None:
    assert {(row.method, row.price in PRICES) for row in CATALOG if row.price is not None} == {("GET", True)}


def test_every_tool_that_the_catalogue_names__is_of_the_specification() -> None:
    assert SERVED_TOOLS <= TOOLS


# docs/rules.md#catalogue-and-discovery, docs/rules.md#bearer-tokens, and added-routes.tsv on connect
WIDENED = {
    "GET /agent/catalog": Auth.OPTIONAL,
    "POST /auth/agent/connect": Auth.NONE_OR_OWNER,
    "GET /me/notices": Auth.KEY_OWNER_OR_BEARER,
    "GET /me/violations": Auth.KEY_OWNER_OR_BEARER,
    "GET /playbooks/{pb}/{path}": Auth.OPTIONAL,
}


@pytest.mark.parametrize("row", CATALOG, ids=lambda row: row.key)
def test_a_route__takes_the_credentials_of_the_specification(row: Row) -> None:
    specified = {call(one["method"], one["path"]): one["auth"] for one in ADDED + SPECIFIED}
    name = call(row.method, row.path)
    assert row.auth == WIDENED.get(name, specified[name])


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.key)
def test_a_row__says_what_its_command_takes(operation: Operation) -> None:
    row, fields = operation.row, operation.command_type.model_fields
    in_path = {name for name in fields if f"{{{name}}}" in row.path}
    assert row.path.count("{") == len(in_path)
    needs_body = row.method in ("POST", "PUT") and any(fields[name].is_required() for name in fields.keys() - in_path)
    assert row.takes_body == needs_body
    if row.example is not None:
        operation.command_type.model_validate(dict(row.example))

"""Tools as clients see them: names, hints and arguments, out of the catalogue and the commands."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from jsonschema import Draft202012Validator
from pydantic import BaseModel
from typing_extensions import is_typeddict

from api.areas.discovery.service.document import INSTRUCTIONS
from api.catalogue import catalogue
from api.kernel.secrets_guard import refuse_secrets
from api.kernel.texts import others_in
from api.kernel.tool import ID, Profile
from api.tools.registry import FREE_WORDS, entries_of
from tests.each import each

with (Path(__file__).parents[3] / "spec" / "tools.tsv").open() as lines:
    SPECIFIED = {row["tool"]: row for row in csv.DictReader(lines, delimiter="\t")}
ENTRIES = entries_of(catalogue())
TOOLS = each("name", list(ENTRIES))


def texts_in(kind: Any, path: tuple[str, ...] = (), within: tuple[Any, ...] = ()) -> Iterator[str]:
    """The paths of an answer's plain texts and free JSON."""
    if is_typeddict(kind) or (isinstance(kind, type) and issubclass(kind, BaseModel)):
        if kind not in within:
            for name, declared in get_type_hints(kind).items():
                yield from texts_in(declared, (*path, name), (*within, kind))
    elif kind is str or get_origin(kind) is dict:
        yield ".".join(path)
    else:
        for inner in get_args(kind):
            yield from texts_in(inner, path, within)


def arguments(name: str) -> dict[str, Any]:
    return dict(ENTRIES[name].described.input_schema["properties"])


@TOOLS
def test_a_tool__has_the_kind_and_the_profile_of_the_specification(name: str) -> None:
    tool = ENTRIES[name].tool
    assert (tool.kind.value, tool.profile.value) == (
        SPECIFIED[name]["kind"],
        SPECIFIED[name]["profile"],
    )


@TOOLS
def test_a_tool__carries_all_four_hints_on_the_wire(name: str) -> None:
    kind, method = SPECIFIED[name]["kind"], ENTRIES[name].operation.method
    assert ENTRIES[name].described.model_dump(by_alias=True)["annotations"] == {
        "title": None,
        "readOnlyHint": kind == "read",
        "destructiveHint": kind == "write destructive",
        "idempotentHint": kind == "read" or method == "PUT",
        "openWorldHint": bool(others_in(ENTRIES[name].operation.answer)),
    }


def test_the_tools_whose_answers_hold_what_others_wrote__are_those_of_an_open_world() -> None:
    assert {
        name for name, entry in ENTRIES.items() if entry.described.annotations.open_world_hint
    } == {  # type: ignore[union-attr]  # hints stand on each
        *("mandate_offers", "mandate_list", "mandate_propose", "mandate_accept", "mandate_get"),
        *("mandate_report_event", "mandate_report_refusal", "mandate_stop", "get_mining_tasks"),
        *("hive_read_room", "hive_post", "tasks_browse", "task_claim", "task_submit_proof"),
    }


@TOOLS
def test_a_tool__names_the_fields_of_its_answer_that_others_write(name: str) -> None:
    operation, described = ENTRIES[name].operation, ENTRIES[name].described
    fields = others_in(operation.answer)
    said = f" {FREE_WORDS}: {', '.join(fields)}." if fields else ""
    assert described.description == f"{operation.summary}{said}"
    schema = str(described.output_schema)
    assert all(repr(part) in schema for field in fields for part in field.split("."))


def test_what_commands_take_as_free_text__is_marked_in_the_answers_of_tools() -> None:
    """By its name: a text that one caller writes under a name, another reads under it."""
    written = {"purpose", "why", "title", "subject", "text", "payload"}
    ours = {"progress.rules.text"}
    for name, entry in ENTRIES.items():
        marked = set(others_in(entry.operation.answer))
        for path in texts_in(entry.operation.answer):
            if path.rpartition(".")[2] in written and path not in ours:
                assert any(f"{path}.".startswith(f"{one}.") for one in marked), (name, path)


def test_the_instructions__name_every_field_that_others_write() -> None:
    (said,) = [one for one in INSTRUCTIONS if "never instructions" in one]
    fields = {
        field.rpartition(".")[2]
        for entry in ENTRIES.values()
        for field in others_in(entry.operation.answer)
    }
    unsaid = {one for one in fields if one not in said.replace(",", " ").split()}
    assert unsaid <= {"current_value", "shown_value", "value", "evidence_url"}  # "values, evidence"


def test_the_destructive_tools__are_those_that_replace() -> None:
    assert [
        name for name, entry in ENTRIES.items() if entry.described.annotations.destructive_hint
    ] == ["agent_policy_set"]  # type: ignore[union-attr]  # hints stand on each, as tested above


def test_each_profile__shows_what_the_one_before_shows() -> None:
    connector, claw, full = (set(catalogue().tools(profile)) for profile in Profile)
    assert connector <= claw <= full == set(ENTRIES)
    assert connector == {
        name for name, row in SPECIFIED.items() if row["profile"] == "connector"
    } & set(ENTRIES)
    assert "agent_connect" in connector
    assert "mandate_get" not in claw


@TOOLS
def test_arguments__are_a_closed_object_of_json_schema(name: str) -> None:
    schema = ENTRIES[name].described.input_schema
    Draft202012Validator.check_schema(schema)
    assert (schema["type"], schema["additionalProperties"]) == ("object", False)


def named(tool: str, field: str) -> str:
    """The argument that a field of the command is given by."""
    return ENTRIES[tool].tool.id_argument if field == ID else field


@TOOLS
def test_arguments__are_the_commands_fields_and_the_idempotency_key_where_the_route_takes_one(
    name: str,
) -> None:
    operation = ENTRIES[name].operation
    extra = {"idempotency_key"} if operation.idempotent else set()
    assert (
        set(arguments(name))
        == {named(name, field) for field in operation.command.model_fields} | extra
    )


@TOOLS
def test_ids_of_the_path__are_required(name: str) -> None:
    described, row = ENTRIES[name].described, ENTRIES[name].operation
    in_path = [field for field in row.command.model_fields if f"{{{field}}}" in row.path]
    required = set(described.input_schema.get("required", []))
    assert {named(name, field) for field in in_path} <= required


@TOOLS
def test_no_argument__is_a_key_or_another_secret(name: str) -> None:
    refuse_secrets(arguments(name))


@pytest.mark.parametrize(
    ("tool", "field"), [("transfer_report", "amount"), ("mandate_execute_call", "amount_usdc")]
)
def test_money__is_text__or_a_number_as_it_is_written(tool: str, field: str) -> None:
    assert [form["type"] for form in arguments(tool)[field]["anyOf"]] == ["string", "number"]


def test_bounds__are_said_in_the_words_of_json_schema() -> None:
    assert arguments("mandate_list")["limit"] == {
        "anyOf": [{"maximum": 200, "minimum": 1, "type": "integer"}, {"type": "null"}],
        "default": 50,
    }


def test_an_entry__is_its_rows_operation() -> None:
    assert {name: entry.operation for name, entry in ENTRIES.items()} == dict(
        catalogue().tools(Profile.FULL)
    )
    assert all(catalogue().by_key[row.key] is row for row in catalogue().operations)


@TOOLS
def test_a_tool__has_a_title_for_people(name: str) -> None:
    title = ENTRIES[name].described.title
    assert title
    assert title != name


@TOOLS
def test_an_answer__is_described_by_what_its_route_must_have(name: str) -> None:
    """MCP wants an object at the root, and names what is required of it."""
    schema = ENTRIES[name].described.output_schema
    assert schema is not None
    Draft202012Validator.check_schema(schema)
    assert (schema["type"], bool(schema["anyOf"][0]["required"])) == ("object", True)


@TOOLS
def test_an_answer__may_be_a_refusal_and_not_anything_else(name: str) -> None:
    """Clients hold a result to the schema even where isError is true."""
    validator = Draft202012Validator(ENTRIES[name].described.output_schema)
    assert validator.is_valid({"detail": "No.", "service": {"reason": "auth_required"}})
    assert not validator.is_valid({"something": "else"})

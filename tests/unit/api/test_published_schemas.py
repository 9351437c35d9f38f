"""What is published of a call's input is what the service takes: JSON Schema that any provider reads,
and no request that fits it is refused for its form.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any
from urllib.parse import unquote

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from jsonschema import Draft202012Validator

from api.catalogue import catalogue
from api.kernel.body import read_object
from api.kernel.fields import MAX_EXACT_JSON_INT, QueryText
from api.kernel.operation import Command, Refusal
from api.kernel.tool import Profile
from api.kernel.validation import command_of
from api.main import api_document, routed
from api.tools.registry import entries_of
from tests.each import each

KEYS = [one.key for one in routed(catalogue())]
TOOLS = entries_of(catalogue())
EXAMPLES = 12
ADDRESS = re.compile("0x[0-9a-fA-F]{40}")
OF_FORM = ("invalid_parameter", "invalid_number")


def patterns(schema: Any) -> Iterator[str]:
    if isinstance(schema, Mapping):
        if isinstance(found := schema.get("pattern"), str):
            yield found
        for part in schema.values():
            yield from patterns(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from patterns(part)


def with_lookaround(schema: Any) -> list[str]:
    return [one for one in patterns(schema) if any(sign in one for sign in ("(?=", "(?!", "(?<"))]


@each("profile", list(Profile))
def test_no_tool__has_a_pattern_with_lookaround(profile: Profile) -> None:
    """Two providers refuse the whole list of tools for one (JSON Schema core, 6.4)."""
    listed = [one.described for one in TOOLS.values() if profile.shows(one.tool)]
    assert with_lookaround([one.model_dump(by_alias=True) for one in listed]) == []


def without_a_type(schema: Any, place: str) -> Iterator[str]:
    """Where a value's schema does not say what it is."""
    if not schema.keys() & {"type", "anyOf", "enum", "const", "$ref"}:
        yield place
    inner = {**schema.get("properties", {}), **schema.get("$defs", {})}
    inner |= {"items": schema["items"]} if schema.get("type") == "array" else {}
    inner |= {str(number): one for number, one in enumerate(schema.get("anyOf", ()))}
    for name, one in inner.items():
        yield from without_a_type(one, f"{place}.{name}")


def test_every_value_of_a_tools_arguments__has_a_type() -> None:
    """A provider whose functions are declared by types refuses the whole list for one without."""
    schemas = {name: one.described.input_schema for name, one in TOOLS.items()}
    assert [at for name, one in schemas.items() for at in without_a_type(one, name)] == []
    for value in ("x", 5.5, True, {"a": [None]}, [[["0x", 1]]]):
        given = {"id": "1", "stop_conditions": value}
        Draft202012Validator(schemas["agent_policy_set"]).validate(given)


def test_openapi__has_no_pattern_with_lookaround() -> None:
    assert with_lookaround(api_document(catalogue(), "http://testserver")) == []


def test_a_lookaround__would_be_seen() -> None:
    assert with_lookaround({"anyOf": [{"pattern": "^(?=.)a$"}]}) == ["^(?=.)a$"]


# null


def optional_fields() -> list[tuple[type[Command], str]]:
    commands = {one.command for one in catalogue().operations}
    return [
        (command, name)
        for command in sorted(commands, key=lambda one: one.__name__)
        for name, field in command.model_fields.items()
        if not field.is_required()
    ]


@each(("command", "name"), optional_fields())
def test_null__leaves_each_optional_field_out(command: type[Command], name: str) -> None:
    assert f" {name}: " not in f" {refusal_of(command, {name: None})}"  # but of what is missing
    kinds = command.model_json_schema()["properties"][name].get("anyOf", [{"type": "null"}])
    assert kinds[-1] == {"type": "null"}


def test_null__is_no_value_of_a_required_field_and_no_name_of_none() -> None:
    path = catalogue().by_key["rooms.post"].command
    with pytest.raises(Refusal, match=r"text: write a text\. colour: leave it out"):
        command_of(path, {"id": 1, "text": None, "colour": None})


@each("name", list(TOOLS))
def test_a_tool__publishes_null_for_each_argument_that_is_not_required(name: str) -> None:
    schema = TOOLS[name].described.input_schema
    for argument, declared in schema["properties"].items():
        takes_all = not declared.keys() - {"title", "description", "default"}
        is_null = {"type": "null"} in declared.get("anyOf", ())
        assert (is_null or takes_all) is (argument not in schema.get("required", ())), argument


def test_no_value_of_a_query__is_null() -> None:
    """A query is text: there is nothing to write null with."""
    said = api_document(catalogue(), "http://testserver")
    kinds = [
        one["schema"]
        for path in said["paths"].values()
        for method in path.values()
        for one in method["parameters"]
    ]
    assert [one for one in kinds if {"type": "null"} in one.get("anyOf", ())] == []


# What fits the schema is taken


@cache
def strategies() -> dict[str, Any]:
    said = api_document(catalogue(), "http://testserver")
    found: list[Any] = [
        one.ok()  # type: ignore[union-attr]  # a defect would raise
        for one in schemathesis.openapi.from_dict(said).get_all_operations()
    ]
    return {one.definition.raw["operationId"]: one for one in found}


def plain(value: Any) -> Any:
    """As a caller writes it: text of printable ASCII (which signs a text may have besides is its own
    rule), numbers of one decimal (JSON Schema cannot bound decimals without binary fractions), and
    addresses of an account, in lower case (no schema knows a checksum).
    """
    match value:
        case bool() | None:
            return value
        case int() | float() if abs(value) > MAX_EXACT_JSON_INT:
            return 7  # of free JSON: a number of at most 80 characters
        case float():
            few_decimals = round(value, 1)
            if few_decimals.is_integer():
                return int(few_decimals) or (int(value) if value.is_integer() else 0.1)
            return few_decimals
        case str() if ADDRESS.fullmatch(value):
            return value.lower()[:-1] + "1"
        case str():
            shown = "".join(sign if " " <= sign <= "~" else "a" for sign in value)
            return shown if shown == shown.strip() else shown.replace(" ", "a")
        case list():
            return [plain(one) for one in value]
        case dict():
            return {plain(name): plain(one) for name, one in value.items()}
    return value


def fields_of(case: Any) -> dict[str, Any]:
    in_text = {**(case.query or {})} | {
        name: unquote(str(value)) for name, value in (case.path_parameters or {}).items()
    }
    fields: dict[str, Any] = {
        name: QueryText(value if isinstance(value, str) else json.dumps(value))
        for name, value in plain(in_text).items()
    }
    body = plain(case.body) if isinstance(case.body, dict) else {}
    return fields | read_object(json.dumps(body).encode())


def refusal_of(command: type[Command], fields: Mapping[str, Any]) -> str | None:
    try:
        command_of(command, fields)
    except Refusal as refusal:
        return str(refusal) if refusal.reason in OF_FORM else None
    return None


@each("key", KEYS[::12])
def test_no_request_that_fits_its_schema__is_refused_for_its_form(key: str) -> None:
    require_taken(key)


@pytest.mark.slow
@each("key", [key for start in range(1, 12) for key in KEYS[start::12]])
def test_no_request_that_fits_a_schema_of_the_rest__is_refused_for_its_form(key: str) -> None:
    require_taken(key)


def require_taken(key: str) -> None:
    operation = catalogue().by_key[key]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=strategies()[key.replace(".", "_")].as_strategy())
    def is_taken(case: Any) -> None:
        fields = fields_of(case)
        assert refusal_of(operation.command, fields) is None, fields

    is_taken()


@each(
    ("key", "field", "refused", "taken"),
    [
        ("mandates.create", "budget_usdc", "0.000000", "12.5"),
        ("mandates.create", "budget_usdc", 0, 10**12),
        ("mandates.create", "daily_cap_usdc", "-1", "0.000001"),
        ("mandates.create", "horizon_days", 3_651, 3_650),
        ("mandates.create", "stop_floor_bps", 10_001, 10_000),
        ("mandates.create", "target_bps", 0, 1),
        ("mandates.policy_set", "hold_ratio", 1.5, 1),
        ("mandates.assign", "agent_id", "0", "0001"),
        ("mandates.statement", "week", "2026-05", "2026-W5"),
        ("records.many", "ids", "1001,0", "1001,1002"),
        ("board.rows", "exchange", "nyse", "binance"),
        ("board.rows", "offset", 10_001, 10_000),
        ("reports.order", "symbol", "BTC_USDT", "BTC/USDT"),
        ("research.read", "symbol", "BTC/USDT", "BTC_USDT"),
        ("claims.make", "base", "B TC", "btc"),
        ("fund.apply", "fee_bps", 1_001, 1_000),
        ("orders.prepare", "size", "0.00", "0.05"),
        ("sponsored.prepare", "usd", "1000000.000001", "1000000.000000"),
        ("reserve.claim", "account_ref", "0x" + "0" * 64, "0x" + "0" * 63 + "1"),
        ("shadow.attribution", "dims", "", "chain,session"),
        ("rooms.post", "id", 2**53, 2**53 - 1),
        ("board.warnings", "token", "$WIF", "wif"),
        ("board.timeline", "token", "$WIF", "1INCH"),
        ("tasks.submit_proof", "source_url", "http://a.example", "https://a.example/@b?c=[1]#d"),
        ("tasks.submit_proof", "source_url", "https://me@a.example/", "HTTPS://a.example:8443"),
        ("claims.make", "source_url", "a.example", "https://[2001:db8::7]/"),
        ("mining.approve", "source", "https://a.example/a b", "https://a.example"),
    ],
)
def test_a_bound_of_the_service__is_published(
    key: str, field: str, refused: object, taken: object
) -> None:
    """Each of these was refused, and fitted the schema."""
    schema = catalogue().by_key[key].command.model_json_schema()
    published = {**schema["properties"][field], "$defs": schema.get("$defs", {})}
    validator = Draft202012Validator(published)
    assert (validator.is_valid(refused), validator.is_valid(taken)) == (False, True)

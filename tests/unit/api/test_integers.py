"""Every whole number of every command is one however it is written: walked over the catalogue."""

from collections.abc import Iterator, Mapping
from typing import Any

from api.catalogue import catalogue
from api.kernel.fields import JsonDecimal
from api.kernel.operation import Operation, Refusal
from api.kernel.validation import command_of
from tests.each import each

Place = tuple[str, ...]


def places(schema: Any, defs: Mapping[str, Any], at: Place = ()) -> Iterator[tuple[Place, int]]:
    """Where a whole number may stand, with one that is within its bounds."""
    if "$ref" in schema:
        yield from places(defs[schema["$ref"].rsplit("/", 1)[-1]], defs, at)
    for one in schema.get("anyOf", ()):
        yield from places(one, defs, at)
    if schema.get("type") == "integer":
        yield (
            at,
            schema.get("enum", [max(schema.get("minimum", 0), min(5, schema.get("maximum", 5)))])[
                0
            ],
        )
    for name, one in schema.get("properties", {}).items():
        yield from places(one, defs, (*at, name))


def found() -> list[tuple[Operation, Place, int]]:
    return [
        (operation, place, number)
        for operation in catalogue().operations
        for schema in (operation.command.model_json_schema(),)
        for place, number in places(schema, schema.get("$defs", {}))
    ]


def is_named(operation: Operation, place: Place, value: object) -> bool:
    """Whether the refusal, of what is missing beside it, speaks of this field."""
    sent: Any = value
    for name in reversed(place):
        sent = {name: sent}
    try:
        command_of(operation.command, sent)
    except Refusal as refused:
        return f"{'.'.join(place)}: " in refused.detail
    return False


def test_the_walk__finds_the_integers() -> None:
    assert len(found()) >= 100
    assert {place[-1] for _, place, _ in found()} >= {"limit", "days", "horizon_days", "sequence"}


@each(("operation", "place", "number"), found)
def test_an_integer__with_a_fraction_of_zeros_or_an_exponent__is_taken(
    operation: Operation, place: Place, number: int
) -> None:
    for written in (f"{number}.0", f"{number}.000", f"{number}e0"):
        assert not is_named(operation, place, JsonDecimal(written)), written


@each(("operation", "place", "number"), found)
def test_a_number_with_a_fraction__is_refused(
    operation: Operation, place: Place, number: int
) -> None:
    assert is_named(operation, place, JsonDecimal(f"{number}.5"))

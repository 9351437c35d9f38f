"""Every address and every whole number of every command is of the one type: walked over the catalogue."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import pytest

from api.catalogue import catalogue
from api.kernel.fields import ADDRESS_PATTERN, JsonDecimal
from api.kernel.operation import Operation, Refusal
from api.kernel.validation import command_of
from tests.each import each
from tests.unit.core.test_hexes import (
    ACCOUNT,
    EXCHANGED,
    ICAP,
    OF_ANOTHER_CHAIN,
    ONE_CAPITAL,
    ZERO_ADDRESS,
)

Place = tuple[str, ...]
# Last words of names that are an account's, and the fields with such a word that are none.
WORDS = ("address", "wallet", "recipient", "buyer", "signer", "payee", "to", "target", "adapter")
NOT_ACCOUNTS = {
    # its address or its name; the domain reads it (test_mandates_adapters.py)
    ("mandates.unwind_call", ("adapter",)),
    # text of a search, the id of a token whose notes link to it
    ("notes.list", ("links_to",)),
}


def places(schema: Any, defs: Mapping[str, Any], at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Each schema within a command's, at any depth, with the property that it is of."""
    if "$ref" in schema:
        yield from places(defs[schema["$ref"].rsplit("/", 1)[-1]], defs, at)
    yield at, schema
    for one in schema.get("anyOf", ()):
        yield from places(one, defs, at)
    for name, one in schema.get("properties", {}).items():
        yield from places(one, defs, (*at, name))


@cache
def fields() -> list[tuple[Operation, Place, Any]]:
    return [
        (operation, place, one)
        for operation in catalogue().operations
        for schema in (operation.command.model_json_schema(),)
        for place, one in places(schema, schema.get("$defs", {}))
    ]


def addresses() -> list[tuple[Operation, Place]]:
    found = [
        (operation, place)
        for operation, place, one in fields()
        if one.get("pattern") == ADDRESS_PATTERN
    ]
    return list(dict.fromkeys(found))


def integers() -> list[tuple[Operation, Place, int]]:
    """With one that is within its bounds."""
    return [
        (operation, place, one.get("enum", [_within(one)])[0])
        for operation, place, one in fields()
        if one.get("type") == "integer"
    ]


def _within(schema: Mapping[str, Any]) -> int:
    return max(schema.get("minimum", 0), min(5, schema.get("maximum", 5)))


def says(operation: Operation, place: Place, value: object) -> str | None:
    """What the refusal says of this field; None: nothing. The others are missing."""
    sent: Any = value
    for name in reversed(place):
        sent = {name: sent}
    try:
        command_of(operation.command, sent)
    except Refusal as refused:
        _, is_named, said = refused.detail.partition(f"{'.'.join(place)}: ")
        return said if is_named else None
    return None


def test_the_walk__finds_the_addresses_and_the_integers() -> None:
    assert len(addresses()) >= 20
    names = {place[-1] for _, place in addresses()}
    assert names >= {"to", "wallet_address", "agent_wallet", "owner_address", "signer", "pay_to"}
    assert len(integers()) >= 100
    numbers = {place[-1] for _, place, _ in integers()}
    assert numbers >= {"limit", "days", "horizon_days", "sequence"}


@each(("operation", "place"), addresses, ids=lambda one: getattr(one, "key", one))
def test_each_address__with_a_wrong_checksum__is_refused_naming_it(
    operation: Operation, place: Place
) -> None:
    for wrong in (EXCHANGED, ONE_CAPITAL, OF_ANOTHER_CHAIN):
        said = says(operation, place, wrong)
        assert said is not None, wrong
        assert said.startswith("its EIP-55 checksum"), said


@each(("operation", "place"), addresses, ids=lambda one: getattr(one, "key", one))
def test_each_address__of_another_form_or_of_nobody__is_refused(
    operation: Operation, place: Place
) -> None:
    for odd in (ICAP, ACCOUNT[2:], ACCOUNT[:-1], ACCOUNT + "0"):
        said = says(operation, place, odd)
        assert said is not None, odd
        assert said.startswith("write an address: 0x and 40 hex characters"), said
    said = says(operation, place, ZERO_ADDRESS)
    assert said is not None
    assert said.startswith("the zero address belongs to nobody"), said


@each(("operation", "place"), addresses, ids=lambda one: getattr(one, "key", one))
def test_each_address__as_anybody_may_write_it__is_taken(
    operation: Operation, place: Place
) -> None:
    for right in (ACCOUNT, ACCOUNT.lower(), "0x" + ACCOUNT[2:].upper()):
        assert says(operation, place, right) is None, right


def test_no_field_that_is_called_an_account__is_of_another_type() -> None:
    known = {(operation.key, place) for operation, place in addresses()}
    called = {
        (operation.key, place)
        for operation, place, one in fields()
        if place and place[-1].split("_")[-1] in WORDS and "string" in str(one)
    }
    assert called - known == NOT_ACCOUNTS


def test_a_refusal__of_a_checksum__repeats_nothing_of_it() -> None:
    operation, place = addresses()[0]
    with pytest.raises(Refusal) as refused:
        command_of(operation.command, {place[0]: EXCHANGED})
    assert EXCHANGED not in refused.value.detail


@each(("operation", "place", "number"), integers)
def test_an_integer__with_a_fraction_of_zeros_or_an_exponent__is_taken(
    operation: Operation, place: Place, number: int
) -> None:
    for written in (f"{number}.0", f"{number}.000", f"{number}e0"):
        assert says(operation, place, JsonDecimal(written)) is None, written


@each(("operation", "place", "number"), integers)
def test_a_number_with_a_fraction__is_refused(
    operation: Operation, place: Place, number: int
) -> None:
    assert says(operation, place, JsonDecimal(f"{number}.5")) is not None

"""Every field of every command that holds an address is of the one type: walked over the catalogue."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from api.catalogue import catalogue
from api.kernel.fields import ADDRESS_PATTERN
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
FIELDS_AT_LEAST = 20


def places(schema: Any, defs: Mapping[str, Any], at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Each property of a command's schema, at any depth; those of a list's items too."""
    if not isinstance(schema, Mapping):
        return
    if "$ref" in schema:
        yield from places(defs[schema["$ref"].rsplit("/", 1)[-1]], defs, at)
    for one in schema.get("anyOf", ()):
        yield from places(one, defs, at)
    for name, one in schema.get("properties", {}).items():
        yield (*at, name), one
        yield from places(one, defs, (*at, name))


def patterns(schema: Any) -> set[str]:
    own = {schema["pattern"]} if "pattern" in schema else set()
    return own | {pattern for one in schema.get("anyOf", ()) for pattern in patterns(one)}


def found() -> list[tuple[Operation, Place]]:
    return [
        (operation, place)
        for operation in catalogue().operations
        for schema in (operation.command.model_json_schema(),)
        for place, one in places(schema, schema.get("$defs", {}))
        if ADDRESS_PATTERN in patterns(one)
    ]


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


def test_the_walk__finds_the_addresses() -> None:
    assert len(found()) >= FIELDS_AT_LEAST
    names = {place[-1] for _, place in found()}
    assert names >= {"to", "wallet_address", "agent_wallet", "owner_address", "signer", "pay_to"}


@each(("operation", "place"), found, ids=lambda one: getattr(one, "key", one))
def test_each_address__with_a_wrong_checksum__is_refused_naming_it(
    operation: Operation, place: Place
) -> None:
    for wrong in (EXCHANGED, ONE_CAPITAL, OF_ANOTHER_CHAIN):
        said = says(operation, place, wrong)
        assert said is not None, wrong
        assert said.startswith("its EIP-55 checksum"), said


@each(("operation", "place"), found, ids=lambda one: getattr(one, "key", one))
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


@each(("operation", "place"), found, ids=lambda one: getattr(one, "key", one))
def test_each_address__as_anybody_may_write_it__is_taken(
    operation: Operation, place: Place
) -> None:
    for right in (ACCOUNT, ACCOUNT.lower(), "0x" + ACCOUNT[2:].upper()):
        assert says(operation, place, right) is None, right


def test_no_field_that_is_called_an_account__is_of_another_type() -> None:
    odd = [
        (operation.key, place)
        for operation in catalogue().operations
        for schema in (operation.command.model_json_schema(),)
        for place, one in places(schema, schema.get("$defs", {}))
        if place[-1].split("_")[-1] in WORDS and "string" in str(one)
        if ADDRESS_PATTERN not in patterns(one)
        if (operation.key, place) not in NOT_ACCOUNTS
    ]
    assert odd == []


def test_a_refusal__of_a_checksum__repeats_nothing_of_it() -> None:
    operation, place = found()[0]
    with pytest.raises(Refusal) as refused:
        command_of(operation.command, {place[0]: EXCHANGED})
    assert EXCHANGED not in refused.value.detail

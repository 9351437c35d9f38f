"""What a refusal says of a field: its own name, never one of the types that were tried for it."""

from typing import Annotated

import pytest
from pydantic import Field

from api.catalogue import catalogue
from api.kernel.operation import Command, Refusal
from api.kernel.validation import command_of
from tests.each import each

Line = Annotated[str, Field(min_length=1, max_length=5)]


class Declared(Command):
    persona: Line | Annotated[list[Line], Field(max_length=2)]


@each(
    ("sent", "says"),
    [
        ("longer than five", "persona: write at most 5 characters."),
        (["one", "longer than five"], "persona.1: write at most 5 characters."),
        (["a", "b", "c"], "persona: send at most 2 items."),
        (7, "persona: write a text. persona: write a list."),
    ],
)
def test_a_field_of_several_types__is_named_as_it_was_sent(sent: object, says: str) -> None:
    """`persona.constrained-str` and `persona.list[constrained-str]` were no fields of anybody's."""
    with pytest.raises(Refusal) as refusal:
        command_of(Declared, {"persona": sent})
    assert str(refusal.value) == says


class Bounded(Command):
    share: Annotated[int, Field(ge=1, le=9)] = 5
    text: Annotated[str, Field(min_length=1)] = "a"
    code: Annotated[str, Field(pattern=r"^0x[0-9a-f]{8}$")] = "0x12345678"
    names: Annotated[list[str], Field(min_length=2)] | None = None


@each(
    ("sent", "says"),
    [
        ({"share": 0}, "share: write a number of at least 1."),
        ({"share": 10}, "share: write a number of at most 9."),
        ({"text": ""}, "text: write 1 or more characters."),
        ({"code": "0x"}, "code: write it in the form ^0x[0-9a-f]{8}$."),
        ({"names": ["a"]}, "names: send 2 or more items."),
    ],
)
def test_a_bound__is_said_in_the_words_of_all_refusals(sent: dict[str, object], says: str) -> None:
    """Beside `write a text` stood `String should match pattern`, which is a library's."""
    with pytest.raises(Refusal) as refusal:
        command_of(Bounded, sent)
    assert str(refusal.value) == says


def test_a_field_that_is_missing__is_named() -> None:
    with pytest.raises(Refusal) as refusal:
        command_of(Declared, {})
    assert (str(refusal.value), refusal.value.missing) == (
        "persona: send it; it is required.",
        ["persona"],
    )


def test_a_field_that_nobody_has__is_named() -> None:
    with pytest.raises(Refusal, match=r"^nobodys: leave it out"):
        command_of(Declared, {"persona": "one", "nobodys": 1})


@each("sent", [1, "true", False])
def test_what_only_equals_true__is_not_true(sent: object) -> None:
    """`1 == True`: a verdict with "match": 1 was taken."""
    approve = catalogue().by_key["mining.approve"].command
    with pytest.raises(Refusal) as refusal:
        command_of(approve, {"match": sent})
    assert "match: " in str(refusal.value)

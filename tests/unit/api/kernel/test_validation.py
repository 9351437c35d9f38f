"""What a refusal says of a field: its own name, never one of the types that were tried for it."""

from typing import Annotated

import pytest
from pydantic import Field

from api.kernel.operation import Command, Refusal
from api.kernel.validation import command_of

Line = Annotated[str, Field(min_length=1, max_length=5)]


class Declared(Command):
    persona: Line | Annotated[list[Line], Field(max_length=2)]


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        ("longer than five", "persona: String should have at most 5 characters."),
        (["one", "longer than five"], "persona.1: String should have at most 5 characters."),
        (["a", "b", "c"], "persona: List should have at most 2 items after validation, not 3."),
        (7, "persona: write a text. persona: write a list."),
    ],
)
def test_a_field_of_several_types__is_named_as_it_was_sent(sent: object, says: str) -> None:
    """`persona.constrained-str` and `persona.list[constrained-str]` were no fields of anybody's."""
    with pytest.raises(Refusal) as refusal:
        command_of(Declared, {"persona": sent})
    assert str(refusal.value) == says


def test_a_field_that_is_missing__is_named() -> None:
    with pytest.raises(Refusal) as refusal:
        command_of(Declared, {})
    assert (str(refusal.value), refusal.value.missing) == ("persona: send it; it is required.", ["persona"])


def test_a_field_that_nobody_has__is_named() -> None:
    with pytest.raises(Refusal, match=r"^nobodys: leave it out"):
        command_of(Declared, {"persona": "one", "nobodys": 1})

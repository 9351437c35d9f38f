"""What a body may be, and what each refusal says to do."""

import pytest

from api.kernel.body import MAX_NUMBER_CHARACTERS, parse_object
from api.kernel.fields import JsonDecimal, JsonInt
from api.kernel.operation import Refusal


def test_a_fraction__keeps_the_text_it_was_written_as() -> None:
    amount = parse_object(b'{"amount_usdc": 0.10000000000000000001}')["amount_usdc"]
    assert isinstance(amount, JsonDecimal)
    assert amount.literal == "0.10000000000000000001"


def test_an_integer__is_an_integer_and_keeps_its_text() -> None:
    amount = parse_object(b'{"n": 12}')["n"]
    assert isinstance(amount, JsonInt)
    assert (amount, amount.literal) == (12, "12")


def test_an_empty_body__is_an_empty_object() -> None:
    assert parse_object(b" \n") == {}


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"\xff", "The body is not UTF-8; send JSON in UTF-8."),
        (b'{"a":', "The body is not JSON (line 1, column 6: Expecting value); send one JSON object."),
        (b"[1]", "The body is not a JSON object; send {...} with the fields of the call."),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "The body names 'c' twice; send each field once."),
        (b'{"a": NaN}', "NaN is not JSON; write a decimal, or null where it is unknown."),
        (b'{"a": "\\u0000"}', "A text holds a NUL or half a surrogate pair; leave it out."),
        (b'{"a": ["\\ud800"]}', "A text holds a NUL or half a surrogate pair; leave it out."),
        (b'{"a":' + b"[" * 40 + b"]" * 40 + b"}", "The body is nested too deep; stay within 32 levels."),
        (b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}", "The body is nested too deep; stay within 32 levels."),
        (b'{"a": ' + b"9" * (MAX_NUMBER_CHARACTERS + 1) + b"}", "A number has more than 80 characters; write it shorter."),
    ],
    ids=["not UTF-8", "cut off", "a list", "twice", "NaN", "NUL", "half a pair", "33 levels", "a bomb", "81 digits"],
)
def test_an_ambiguous_body__is_refused_with_what_to_do(raw: bytes, says: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_object(raw)
    assert refused.value.detail == says

"""What a body may be, and what each refusal says to do."""

import time
from contextlib import suppress
from typing import Any

import pytest

from api.kernel.body import MAX_NUMBER_CHARACTERS, MAX_VALUES, read_object, require_storable
from api.kernel.fields import JsonDecimal
from api.kernel.operation import Refusal
from tests.each import each

UNSTORABLE = "NUL and halves of surrogate pairs are not allowed."


def parse_object(raw: bytes) -> dict[str, Any]:
    """What a body holds, where all of it is kept."""
    found = read_object(raw)
    require_storable(found)
    return found


def test_a_fraction__keeps_the_text_it_was_written_as() -> None:
    amount = parse_object(b'{"amount_usdc": 0.10000000000000000001}')["amount_usdc"]
    assert isinstance(amount, JsonDecimal)
    assert amount.literal == "0.10000000000000000001"


def test_an_integer__is_an_integer() -> None:
    assert parse_object(b'{"n": 12}') == {"n": 12}


def test_an_empty_body__is_an_empty_object() -> None:
    assert parse_object(b" \n") == {}


@each(
    ("raw", "says"),
    [
        (b"\xff", "The body is not UTF-8; send JSON in UTF-8."),
        (
            b'{"a":',
            "The body is not JSON (line 1, column 6: Expecting value); send one JSON object.",
        ),
        (b"[1]", "The body is not a JSON object; send {...} with the fields of the call."),
        (b'{"a": 1, "b": {"c": 1, "c": 2}}', "The body names 'c' twice; send each field once."),
        (b'{"a": NaN}', "NaN is not JSON; write a decimal, or null where it is unknown."),
        (b'{"a": "\\u0000"}', f"a: leave out U+0000; {UNSTORABLE}"),
        (b'{"b": 1, "a": ["x", "\\ud800"]}', f"a.1: leave out U+D800; {UNSTORABLE}"),
        (b'{"a": {"b": [{"c": "x\\u0000"}]}}', f"a.b.0.c: leave out U+0000; {UNSTORABLE}"),
        (b'{"a": {"b\\u0000c": 1}}', f"a.bc: leave out U+0000; {UNSTORABLE}"),
        (b'{"\\u0000": 1}', f"body: leave out U+0000; {UNSTORABLE}"),
        (
            b'{"a":' + b"[" * 33 + b"]" * 33 + b"}",
            "The body is nested too deep; stay within 32 levels.",
        ),
        (
            b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
            "The body is nested too deep; stay within 32 levels.",
        ),
        (
            b'{"a": ' + b"9" * (MAX_NUMBER_CHARACTERS + 1) + b"}",
            "A number has more than 80 characters; write it shorter.",
        ),
    ],
    ids=[
        "not UTF-8",
        "cut off",
        "a list",
        "twice",
        "NaN",
        "NUL",
        "half a pair",
        "NUL deep inside",
        "NUL in a name",
        "NUL as a name",
        "33 levels",
        "a bomb",
        "81 digits",
    ],
)
def test_an_ambiguous_body__is_refused_with_what_to_do(raw: bytes, says: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_object(raw)
    assert refused.value.detail == says


@each("inner", [b"", b"1", b'"x"', b"{}"])
def test_a_body__may_be_nested_as_deep_as_32_levels(inner: bytes) -> None:
    levels = 31 if inner == b"{}" else 32
    assert parse_object(b'{"a":' + b"[" * levels + inner + b"]" * levels + b"}")


BYTES = 256 * 1024


def filled(item: str) -> bytes:
    """A list of as many of these as a body may hold."""
    count = min(MAX_VALUES - 1, (BYTES - 20) // (len(item) + 1))
    return ('{"a":[' + ",".join([item] * count) + "]}").encode()


def names(count: int, *more: str) -> bytes:
    return (
        "{" + ",".join(f'"{name}":1' for name in (*(f"{n:x}" for n in range(count)), *more)) + "}"
    ).encode()


DENSE = {
    "integers": filled("1"),
    "fractions": filled("1.5"),
    "exponents": filled("1e9"),
    "80 digits": filled("9" * 80),
    "80 digits behind the point": filled("0." + "9" * 78),
    "objects": filled("{}"),
    "lists": filled("[]"),
    "texts": filled('""'),
    "commas in texts": filled('",,,,,,,,,,,"'),
    "a long number in a text": filled('"' + "9" * 81 + '"'),
    "escapes": filled('"\\n\\u20ac\\""'),
    "names": names(19_000),
}


def cpu_s(raw: bytes) -> float:
    """The least of three: a neighbour on the same core makes a run dearer, never cheaper."""

    def once() -> float:
        began = time.process_time()
        with suppress(Refusal):
            parse_object(raw)
        return time.process_time() - began

    return min(once() for _ in range(3))


@each("name", DENSE)
@pytest.mark.slow
def test_a_full_body__takes_no_longer_than_its_bytes(name: str) -> None:
    """Half a second is many times what the worst takes; a name twice among 27,000 took 22 s."""
    parse_object(DENSE[name])
    assert cpu_s(DENSE[name]) < 0.5


@each(
    "raw", [b'{"a":"' + b'\\"' * 131_000, b'{"a":' + b'"",' * 87_000, b'{"a":["' + b",\\" * 131_000]
)
def test_a_full_body__that_ends_too_early__takes_no_longer(raw: bytes) -> None:
    assert cpu_s(raw) < 0.5


@pytest.mark.parametrize(("values", "passes"), [(MAX_VALUES, True), (MAX_VALUES + 1, False)])
def test_a_body__holds_20000_values(values: int, passes: bool) -> None:
    raw = ('{"a":[' + ",".join(["1"] * values) + "]}").encode()
    if passes:
        assert len(parse_object(raw)["a"]) == values
        return
    with pytest.raises(Refusal, match="The body holds more than 20000 values"):
        parse_object(raw)


def test_a_name_given_twice_among_thousands__is_found_in_one_pass() -> None:
    raw = names(19_000, "4a37")
    with pytest.raises(Refusal, match="names '4a37' twice"):
        parse_object(raw)
    assert cpu_s(raw) < 0.5


@each("literal", ["1e401", "1e-401", "1E+99999999", "-1.5e999999999999999999999", "1e" + "9" * 70])
def test_an_exponent_beyond_400__is_refused_before_it_is_computed(literal: str) -> None:
    with pytest.raises(Refusal) as refused:
        parse_object(f'{{"a": {literal}}}'.encode())
    assert (refused.value.reason, refused.value.detail) == (
        "invalid_number",
        "A number has an exponent beyond 400; write it shorter, or as text.",
    )


@each("digits", [81, 5_000, 200_000])
def test_a_number_of_many_digits__is_refused_before_it_is_computed(digits: int) -> None:
    with pytest.raises(Refusal) as refused:
        parse_object(b'{"a": [1, ' + b"9" * digits + b"]}")
    assert refused.value.reason == "invalid_number"


def test_many_digits_in_a_text__are_no_number() -> None:
    assert parse_object(b'{"a": "' + b"9" * 5_000 + b'", "b": 7}')["b"] == 7

"""Each field type: what it reads, and the sentence it refuses with."""

import json
import re
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import Field, TypeAdapter, ValidationError

from api.kernel.body import read_object
from api.kernel.fields import (
    AccountId,
    AccountIdText,
    Address,
    Flag,
    Instant,
    Int,
    JsonDecimal,
    JsonObject,
    Millionths,
    PositiveUsdc,
    PublicId,
    QueryText,
    TxHash,
    UnsignedUsdc,
    Usdc,
    Verbatim,
    storable,
)
from api.kernel.operation import Command, Refusal
from api.kernel.validation import command_of
from tests.each import each


class Everything(Command):
    amount_usdc: Usdc | None = None
    budget_usdc: PositiveUsdc | None = None
    limit: Int = 0
    dry_run: Flag = False
    wallet: Address | None = None
    tx_hash: TxHash | None = None
    id: PublicId | None = None
    payload: JsonObject | None = None
    title: str = ""
    at: Instant | None = None


def read(body: str) -> Everything:
    command = command_of(Everything, read_object(body.encode()))
    assert isinstance(command, Everything)
    return command


def refusal(body: str) -> tuple[str, str]:
    with pytest.raises(Refusal) as refused:
        read(body)
    return refused.value.reason, refused.value.detail


@each(
    ("written", "base_units"),
    [
        ("5e-05", 50),
        ("1e-06", 1),
        ("1E-6", 1),
        ("1e1", 10_000_000),
        ("1e+1", 10_000_000),
        ("1.5e0", 1_500_000),
        ("1.50000000", 1_500_000),
        ("0.1000000000000000000000000000", 100_000),
        ("12.000000", 12_000_000),
        ("1e12", 10**18),
        ("-0", 0),
        ("-0.0", 0),
        ("0e5", 0),
        ("-1e1", -10_000_000),
    ],
)
def test_usdc__a_json_number_as_languages_write_it__is_that_amount_exactly(
    written: str, base_units: int
) -> None:
    """They choose the exponent and the zeros by themselves: 0.00005 is 5e-05 in Python."""
    assert read(f'{{"amount_usdc": {written}}}').amount_usdc == base_units


@each(
    "written",
    ["1e-07", "5.5e-06", "1.50000001", "1e13", "1e99", "1e400", '"5e-05"', '"1e1"', '"1.50000000"'],
)
def test_usdc__of_a_seventh_decimal_or_over_the_bound_or_as_such_a_text__is_invalid_number(
    written: str,
) -> None:
    assert refusal(f'{{"amount_usdc": {written}}}')[0] == "invalid_number"


@each("written", ['"12.5"', "12.5", '"12.500000"'])
def test_usdc__text_or_number__is_base_units(written: str) -> None:
    assert read(f'{{"amount_usdc": {written}}}').amount_usdc == 12_500_000


def test_usdc__at_the_bound__is_read() -> None:
    assert read('{"amount_usdc": -1000000000000}').amount_usdc == -(10**18)


SIX = "write a decimal with at most 6 decimals, such as 12.500000."


@each(
    ("written", "says"),
    [
        ("0.1000001", SIX),
        ('"0.1000001"', SIX),
        ('"1e3"', SIX),
        ('"\u0661"', SIX),
        ('" 1"', SIX),
        ("1000000000000.000001", "stay within plus or minus 1000000000000."),
        ("true", 'write the amount as text with at most 6 decimals, such as "12.500000".'),
    ],
    ids=[
        "seven decimals",
        "seven decimals as text",
        "exponent",
        "another script",
        "space",
        "over the bound",
        "boolean",
    ],
)
def test_usdc__of_another_form__is_invalid_number_with_what_to_write(
    written: str, says: str
) -> None:
    assert refusal(f'{{"amount_usdc": {written}}}') == ("invalid_number", f"amount_usdc: {says}")


def test_usdc__a_number_that_binary_floats_would_round__is_refused_and_not_rounded() -> None:
    assert refusal('{"amount_usdc": 0.10000000000000000001}')[0] == "invalid_number"


@each("written", ["0", "-0.000001"])
def test_positive_usdc__zero_or_less__is_invalid_number(written: str) -> None:
    assert refusal(f'{{"budget_usdc": {written}}}') == (
        "invalid_number",
        "budget_usdc: write an amount above 0, such as 12.500000.",
    )


@each(
    ("written", "number"),
    [
        ("5", 5),
        ("5.0", 5),
        ("30.000", 30),
        ("1e3", 1000),
        ("1E3", 1000),
        ("1.5e1", 15),
        ("5e0", 5),
        ("50e-1", 5),
        ("-0", 0),
        ("-0.0", 0),
        ("-5.0", -5),
        ("123456789012345678", 123456789012345678),
    ],
)
def test_int__a_whole_number_however_it_is_written__is_that_number(
    written: str, number: int
) -> None:
    """JSON Schema: a number without a fraction is an integer, whatever its digits look like."""
    assert read(f'{{"limit": {written}}}').limit == number
    command = command_of(Everything, {"limit": QueryText(written)})
    assert isinstance(command, Everything)
    assert command.limit == number
    assert isinstance(command.limit, int)


@each("written", ["5.5", "1e-1", "1.0000001", "5e99", "1e400"])
def test_int__with_a_fraction_or_beyond_every_bound__is_refused(written: str) -> None:
    says = ("invalid_number", "limit: write a whole number.")
    assert refusal(f'{{"limit": {written}}}') == says
    with pytest.raises(Refusal):
        command_of(Everything, {"limit": QueryText(written)})


@each("written", ["1.5", '"5"', '"5.0"', "true", "[5]"])
def test_int__of_a_body__is_a_json_integer_only(written: str) -> None:
    assert refusal(f'{{"limit": {written}}}') == ("invalid_number", "limit: write a whole number.")


def test_int__of_a_query__is_its_digits() -> None:
    command = command_of(Everything, {"limit": QueryText("50"), "dry_run": QueryText("1")})
    assert isinstance(command, Everything)
    assert (command.limit, command.dry_run) == (50, True)


def test_texts_and_choices__of_a_query__are_plain_text() -> None:
    class Listed(Command):
        agent_id: Annotated[str, Field(pattern=r"^[0-9]{1,18}$")]
        fund: Literal["none", "approve"] = "none"

    command = command_of(Listed, {"agent_id": QueryText("1001"), "fund": QueryText("approve")})
    assert command.model_dump() == {"agent_id": "1001", "fund": "approve"}


def test_text__a_number__is_refused() -> None:
    assert refusal('{"title": 5}') == ("invalid_parameter", "title: write a text.")


def test_tx_hash__is_lower_case() -> None:
    assert read(f'{{"tx_hash": "0x{"AB" * 32}"}}').tx_hash == "0x" + "ab" * 32


def test_public_id__of_another_form__names_no_mandate() -> None:
    assert refusal('{"id": "m_1"}')[0] == "not_found"


@each(
    "written",
    [
        "2026-01-31T12:00:00Z",
        "2026-01-31T13:00:00+01:00",
        "2026-01-31T12:00:00.000000Z",
        "2026-01-31t12:00:00z",
        "2026-01-31T12:00:00.000000999Z",
    ],
)
def test_instant__with_its_zone__is_aware(written: str) -> None:
    at = read(f'{{"at": "{written}"}}').at
    assert at is not None
    assert (at, at.utcoffset() is not None) == (datetime(2026, 1, 31, 12, tzinfo=UTC), True)


@each(
    "sent",
    ["2026-11-28T10:00:00+09:00", "2026-11-28T10:00:00 09:00", "2026-11-28T01:00:00Z"],
)
def test_instant__of_a_query_whose_plus_became_a_space__is_that_time(sent: str) -> None:
    command = command_of(Everything, {"at": QueryText(sent)})
    assert isinstance(command, Everything)
    assert command.at == datetime(2026, 11, 28, 1, tzinfo=UTC)


@each(
    "sent",
    [
        "2026-11-28 10:00:00 09:00",
        "2026-11-28T10:00:00  09:00",
        "2026-11-28T10:00:00 0900",
        "2026-11-28T10:00:00 -09:00",
        "2026-11-28T10:00:00 09:00 ",
        "2026-11-28T10:00:00 ",
    ],
)
def test_instant__of_a_query_with_another_space__is_refused(sent: str) -> None:
    with pytest.raises(Refusal):
        command_of(Everything, {"at": QueryText(sent)})


def test_instant__of_a_body__has_its_plus() -> None:
    assert refusal('{"at": "2026-11-28T10:00:00 09:00"}')[0] == "invalid_parameter"


def test_instant__keeps_microseconds() -> None:
    assert read('{"at": "2026-01-31T12:00:00.000001Z"}').at == datetime(
        2026, 1, 31, 12, tzinfo=UTC
    ) + timedelta(microseconds=1)


@each(
    "written",
    [
        '"2026-01-31"',
        '"2026-01-31T12:00:00"',
        '"2026-02-30T12:00:00Z"',
        '"2026-01-31T24:00:01Z"',
        '"9999-12-31T23:59:59-01:00"',
        "1",
        '""',
    ],
)
def test_instant__of_another_form__says_what_to_write(written: str) -> None:
    assert refusal(f'{{"at": {written}}}') == (
        "invalid_parameter",
        "at: write a time with its zone, such as 2026-01-31T12:00:00Z.",
    )


def test_json_object__holds_no_float() -> None:
    payload = read(
        '{"payload": {"qty": 1.50, "n": 3, "big": 9007199254740993, "list": [0.1, 5e-05, true, null]}}'
    ).payload
    assert payload == {
        "qty": "1.5",
        "n": 3,
        "big": "9007199254740993",
        "list": ["0.1", "0.00005", True, None],
    }
    assert payload is not None
    assert type(payload["n"]) is int

    # a whole number is one however it is written
    sent = '{"a": 5.0, "b": {"c": [1e3, -0.0, -0, 84532.000]}, "d": 1e20, "e": 1e39, "f": 1e400}'
    assert json.dumps(read(f'{{"payload": {sent}}}').payload) == json.dumps(
        {
            "a": 5,
            "b": {"c": [1000, 0, 0, 84532]},
            "d": "1" + "0" * 20,
            "e": "1" + "0" * 39,
            "f": "1e400",
        }
    )


def test_an_unknown_field__is_named() -> None:
    assert refusal('{"colour": 1}') == (
        "invalid_parameter",
        "colour: leave it out; this call has no such field.",
    )


def test_a_refusal__never_repeats_what_was_sent() -> None:
    class Named(Command):
        kind: Any
        wallet: Address

    with pytest.raises(Refusal) as refused:
        command_of(Named, {"wallet": "0xdeadbeef-secret"})
    assert (
        refused.value.detail
        == "kind: send it; it is required. wallet: write an address: 0x and 40 hex characters."
    )
    assert refused.value.missing == ["kind"]


@each(
    "sent",
    [1001, "1001", "001001", QueryText("1001")],
    ids=["number", "text", "leading zeros", "path"],
)
def test_account_id__comes_in_as_it_goes_out(sent: Any) -> None:
    assert (
        TypeAdapter(AccountId).validate_python(sent),
        TypeAdapter(AccountIdText).validate_python(sent),
    ) == (1001, "1001")


def test_account_id__written_with_a_fraction_or_an_exponent__is_that_number() -> None:
    for literal in ("1001.0", "1.001e3"):
        assert TypeAdapter(AccountId).validate_python(JsonDecimal(literal)) == 1001
        assert TypeAdapter(AccountIdText).validate_python(JsonDecimal(literal)) == "1001"


@each("sent", [0, -1, "0", "-1", True, 1.0, "1.0", "", "abc", "1" * 19, 10**18, None, "٣"])
def test_account_id__of_no_account__is_refused(sent: Any) -> None:
    for kind in (AccountId, AccountIdText):
        with pytest.raises(ValidationError):
            TypeAdapter(kind).validate_python(sent)


AMOUNTS = (
    "0", "0.000000", "0.000001", "1", "1.5", "12.500000", "999999999999.999999", "1000000000000",
    "1000000000000.000000",
    "1000000000000.000001", "1000000000001", "9999999999999", "0000000000001", "10000000000000",
    "1.0000001", "1.", ".5", "", "+1", "1e3",
    " 1", "\u0661",
)  # fmt: skip


@each("kind", [Usdc, UnsignedUsdc, PositiveUsdc], ids=["signed", "unsigned", "positive"])
@each("sign", ["", "-"])
@each("written", AMOUNTS)
def test_an_amount__is_taken_just_if_its_schema_says_so(kind: Any, sign: str, written: str) -> None:
    if (kind, sign) == (UnsignedUsdc, "-") and not written.strip("0."):
        pytest.skip("minus zero is no amount that anybody sends")
    if kind == PositiveUsdc and written.startswith("00"):
        pytest.skip("taken; a pattern without lookaround would be as long as a page")
    taken = TypeAdapter(kind)
    forms = taken.json_schema()["anyOf"]
    said = re.search(forms[0]["pattern"], sign + written) is not None
    try:
        taken.validate_python(sign + written)
    except ValidationError:
        assert not said
    else:
        assert said


@each(
    "written",
    ["1", "1.5", "1000000000000", "-1000000000000", "1000000000000.000001", "1000000000001"],
)
def test_an_amount__written_as_a_json_number__is_taken_within_the_bounds_of_the_schema(
    written: str,
) -> None:
    number = TypeAdapter(Usdc).json_schema()["anyOf"][1]
    is_taken = True
    try:
        read(f'{{"amount_usdc": {written}}}')
    except Refusal:
        is_taken = False
    assert is_taken == (number["minimum"] <= Decimal(written) <= number["maximum"])


def test_a_number_that_is_no_amount__is_not_described_as_usdc() -> None:
    described = TypeAdapter(Millionths).json_schema()["description"]
    assert described == "a number with at most six decimals; text, or a number"


def test_free_json__keeps_integers_that_json_can_carry() -> None:
    assert storable(2**53 - 1) == 2**53 - 1
    assert storable(2**53) == str(2**53)


def test_a_verbatim_field__keeps_its_letters() -> None:
    assert TypeAdapter(Verbatim).validate_python("\u00e4") == '"\u00e4"'

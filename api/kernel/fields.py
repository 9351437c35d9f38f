"""Field types of commands, and the one of times in answers.

Each reads what a caller wrote, exactly, and says in a sentence what to write instead.

Laws
- A fraction of a JSON body keeps its literal text (JsonDecimal): no binary float on the way
  (docs/rules.md#numbers).
- Path and query values arrive as QueryText; only those may be numbers written as text.
"""

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from math import isfinite
from typing import Annotated, Any, NoReturn
from unicodedata import normalize

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

from core.chain.signatures import key_signature
from core.errors import InvalidNumberError
from core.hexes import read_account
from core.money import AMOUNT_PATTERN, MAX_ABS_USDC_E6, USDC_E6_PER_USDC, UsdcE6, usdc_e6_from_text
from core.texts import refused_in
from core.times import instant_text

ADDRESS_PATTERN = r"^0x[0-9a-fA-F]{40}$"
TX_HASH_PATTERN = r"^0x[0-9a-fA-F]{64}$"
PUBLIC_ID_PATTERN = r"^m_[a-z2-7]{10}$"
ACCOUNT_ID_PATTERN = r"0{0,17}[1-9][0-9]{0,17}"
MAX_EXACT_JSON_INT = 2**53 - 1  # beyond it RFC 8785 cannot write an integer

_ENDS_OF_LINES = str.maketrans("\u2028\u2029", "\n\n")
_INSTANT = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)
_EXPONENT = re.compile(r"-?[0-9.]{1,40}[eE][+-]?[0-3]?[0-9]", re.ASCII)
_ACCOUNT_ID = re.compile(ACCOUNT_ID_PATTERN)
_INTEGER = re.compile(r"-?\d{1,18}", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,2})?", re.ASCII)
_SPACE_OF_A_PLUS = re.compile(r" (?=\d\d:\d\d\Z)", re.ASCII)


class JsonDecimal:
    """A number with a fraction or an exponent of a JSON body: the text it was written as.

    What computes with it says how.
    """

    __slots__ = ("literal",)

    def __init__(self, literal: str) -> None:
        self.literal = literal

    @property
    def plain(self) -> str:
        """The same number without an exponent or zeros at its end, which writers of JSON choose by
        themselves: 5e-05 is 0.00005, 1e3 is 1000, 5.0 is 5. The literal, where that would be longer
        than any number that is taken.
        """
        if "e" not in self.literal.lower():
            text = self.literal
        elif _EXPONENT.fullmatch(self.literal):
            text = f"{Decimal(self.literal):f}"
        else:
            return self.literal
        return text.rstrip("0").rstrip(".") if "." in text else text


def plain_number(value: Any) -> Any:
    """A number's text where it is written with a fraction or an exponent; all else as it is."""
    return value.plain if isinstance(value, JsonDecimal) else value


class QueryText(str):
    """A value of the path or the query: text, that may stand for a number or a flag."""

    __slots__ = ()


def _refuse(kind: str, rule: str) -> NoReturn:
    raise PydanticCustomError(kind, "{rule}", {"rule": rule})


def _usdc(value: Any) -> UsdcE6:
    if isinstance(value, bool) or not isinstance(value, str | int | JsonDecimal):
        _refuse(
            "invalid_number",
            'write the amount as text with at most 6 decimals, such as "12.500000"',
        )
    try:
        return usdc_e6_from_text(str(plain_number(value)))
    except InvalidNumberError as error:
        _refuse("invalid_number", error.rule)


def _positive(amount: int) -> int:
    if amount <= 0:
        _refuse("invalid_number", "write an amount above 0, such as 12.500000")
    return amount


def _unsigned(amount: int) -> int:
    if amount < 0:
        _refuse("invalid_number", "write an amount of 0 or more, such as 12.500000")
    return amount


def _integer(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, QueryText) and _NUMBER.fullmatch(value):
        value = JsonDecimal(value)
    if isinstance(value, JsonDecimal | QueryText) and _INTEGER.fullmatch(
        digits := str(plain_number(value))
    ):
        return int(digits)
    _refuse("invalid_number", "write a whole number")


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, QueryText) and value in ("1", "0", "true", "false"):
        return value in ("1", "true")
    _refuse("invalid_parameter", "write true or false; in a query, 1 or 0 also work")


def instant_of(text: str) -> datetime | None:
    """RFC 3339 with its zone, in UTC; nanoseconds, which some languages write, are cut to microseconds."""
    if not _INSTANT.fullmatch(text):
        return None
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):
        return None  # a day or an hour that no calendar has, or a year beyond 9999 in UTC


def query_instant_of(text: str) -> datetime | None:
    """As `instant_of`, of a query: a `+` that was not escaped came as a space, which no time has."""
    return instant_of(_SPACE_OF_A_PLUS.sub("+", text))


def _instant(value: Any) -> datetime:
    read = query_instant_of if isinstance(value, QueryText) else instant_of
    found = read(value) if isinstance(value, str) else None
    if found is not None:
        return found
    _refuse("invalid_parameter", "write a time with its zone, such as 2026-01-31T12:00:00Z")


def _written(value: Any) -> Any:
    return instant_text(value) if isinstance(value, datetime) else value


def _address(value: Any) -> str:
    try:
        return read_account(value)
    except ValueError as error:
        _refuse("invalid_parameter", str(error))


def _tx_hash(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(TX_HASH_PATTERN, value):
        _refuse("invalid_parameter", "write a transaction hash: 0x and 64 hex characters")
    return value.lower()


def _account_id(value: Any) -> int:
    value = plain_number(value)
    digits = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    if not _ACCOUNT_ID.fullmatch(digits):
        _refuse(
            "invalid_parameter",
            "write the agent's user id, a whole number from 1 on, as a number or as text",
        )
    return int(digits)


def _public_id(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(PUBLIC_ID_PATTERN, value):
        _refuse(
            "not_found",
            "no mandate has this id; an id is m_ and 10 characters from a to z and 2 to 7",
        )
    return str(value)


def _each(value: Any, read: Callable[[Any], Any]) -> Any:
    """The same JSON, what its lists and objects hold as `read` has it."""
    match value:
        case list() | tuple():
            return [_each(item, read) for item in value]
        case dict():
            return {str(name): _each(item, read) for name, item in value.items()}
    return read(value)


def storable(value: Any) -> Any:
    """Free JSON without floats: a whole number is one however it is written (5.0, 1e3); a fraction, or
    an integer that JSON can't carry exactly, becomes its text without exponent or zeros at its end.
    """
    return _each(value, _stored)


def _stored(value: Any) -> Any:
    match value:
        case bool() | None:
            return value
        case JsonDecimal():
            text = value.plain
            return _stored(int(text)) if _INTEGER.fullmatch(text) else text
        case int():
            return int(value) if abs(value) <= MAX_EXACT_JSON_INT else str(int(value))
        case str():
            return str(value)
    _refuse("invalid_parameter", "write JSON")


def _verbatim(value: Any) -> str | None:
    return None if value is None else json.dumps(_each(_seen(value), _exact), ensure_ascii=False)


def _seen(value: Any) -> Any:
    """The value, each text of which may hold what a text of several lines may (core/texts.py), and
    Unicode's own ends of lines.
    """
    match value:
        case str():
            if (rule := refused_in(value.translate(_ENDS_OF_LINES), lines=True)) is not None:
                _refuse("invalid_parameter", rule)
        case list() | tuple():
            for item in value:
                _seen(item)
        case dict():
            for name, item in value.items():
                _seen(name)
                _seen(item)
    return value


def _composed(value: Any) -> Any:
    """As NFC; names of fields stay, since two could become one."""
    return normalize("NFC", value) if isinstance(value, str) else value


def _exact(value: Any) -> Any:
    """A fraction as a double; one that a double can't carry is refused: it would come back as another
    one.
    """
    if not isinstance(value, JsonDecimal):
        return value
    number = float(value.literal)
    if not isfinite(number) or Decimal(repr(number)) != Decimal(value.literal):
        _refuse(
            "invalid_number",
            f"the number {value.literal} has more digits than every JSON parser keeps; write it "
            "as text",
        )
    return number


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse("invalid_parameter", "write a JSON object")
    found: dict[str, Any] = _each(storable(_seen(value)), _composed)
    return found


def _usdc_schema(pattern: str, what: str = "USDC", **bounds: int) -> dict[str, Any]:
    """What `_usdc` takes: text, or a JSON number whose literal is read as that text."""
    text = {"type": "string", "pattern": f"^{pattern}$", "examples": ["12.500000"]}
    number = {"type": "number", "maximum": _MOST_USDC, **bounds}
    return {
        "anyOf": [text, number],
        "description": f"{what} with at most six decimals; text, or a number",
    }


def above_0(digits: int, decimals: int) -> str:
    """The form of a decimal above 0 without leading zeros: JSON Schema's patterns have no lookaround
    (core 6.4), and whoever holds them to RE2 refuses the whole list of tools for one.
    """
    below_1 = "|".join(f"0{{{n}}}[1-9][0-9]{{0,{decimals - 1 - n}}}" for n in range(decimals))
    below_1 = below_1.replace("0{0}", "").replace("0{1}", "0").replace("[0-9]{0,0}", "")
    return rf"([1-9][0-9]{{0,{digits - 1}}}(\.[0-9]{{1,{decimals}}})?|0\.({below_1}))"


_MOST_USDC = MAX_ABS_USDC_E6 // USDC_E6_PER_USDC


def positive_usdc_schema(zeros: int) -> dict[str, Any]:
    """Of more than 0 and at most 10^zeros USDC."""
    most = 10**zeros
    text = rf"({above_0(zeros, 6)}|{most}(\.0{{1,6}})?)"
    return _usdc_schema(text, exclusiveMinimum=0, maximum=most)


Usdc = Annotated[
    UsdcE6,
    BeforeValidator(_usdc),
    WithJsonSchema(_usdc_schema(f"-?{AMOUNT_PATTERN}", minimum=-_MOST_USDC)),
]
"""USDC base units, read from text or from a JSON number's literal; signed.

Errors: invalid_number.
"""

Millionths = Annotated[
    int,
    BeforeValidator(_usdc),
    WithJsonSchema(_usdc_schema(f"-?{AMOUNT_PATTERN}", "a number", minimum=-_MOST_USDC)),
]
"""A number that is no amount, in whole millionths; read as Usdc is.

Errors: invalid_number.
"""

Share = Annotated[
    int,
    BeforeValidator(_usdc),
    WithJsonSchema(
        {
            "anyOf": [
                {
                    "type": "string",
                    "pattern": r"^(0(\.[0-9]{1,6})?|1(\.0{1,6})?)$",
                    "examples": ["0.25"],
                },
                {"type": "number", "minimum": 0, "maximum": 1},
            ],
            "description": "a share from 0 to 1 with at most six decimals; text or a number",
        }
    ),
]
"""In whole millionths; the domain bounds it. Errors: invalid_number."""

UnsignedUsdc = Annotated[
    UsdcE6,
    BeforeValidator(lambda value: _unsigned(_usdc(value))),
    WithJsonSchema(_usdc_schema(AMOUNT_PATTERN, minimum=0)),
]
"""As Usdc, 0 or above."""

PositiveUsdc = Annotated[
    UsdcE6,
    BeforeValidator(lambda value: _positive(_usdc(value))),
    WithJsonSchema(positive_usdc_schema(12)),
]
"""As Usdc, above 0."""

WHOLE = BeforeValidator(_integer)

Int = Annotated[int, WHOLE]
"""A whole number, however it is written: 5, 5.0 and 1e3 are, as in JSON Schema, and -0 is 0. In path
and query its digits.

Bounds stand before the reader, Annotated[int, Field(ge=..., le=...), WHOLE]: JSON Schema loses
those behind it.
"""

Id = Annotated[int, Field(ge=1, le=MAX_EXACT_JSON_INT), WHOLE]
"""A row's number."""

Count = Annotated[int, Field(ge=0, le=MAX_EXACT_JSON_INT), WHOLE]
"""0 or more."""


def published_bounds(low: int, high: int) -> Any:
    """Of an integer that the domain bounds, in its own words; both inclusive."""
    return Field(json_schema_extra={"minimum": low, "maximum": high})


Flag = Annotated[bool, BeforeValidator(_flag)]
"""true or false; in a query 1 and 0 too."""

NO_NUMBER = BeforeValidator(_flag)
"""Of a Literal[True]: 1 equals True, and is a number."""

Instant = Annotated[
    datetime, BeforeValidator(_instant), WithJsonSchema({"type": "string", "format": "date-time"})
]
"""A time as RFC 3339 writes it, with its zone; UTC out."""

InstantText = Annotated[str, BeforeValidator(_written)]
"""A time of an answer, given as a time."""

Address = Annotated[
    str, BeforeValidator(_address), WithJsonSchema({"type": "string", "pattern": ADDRESS_PATTERN})
]
"""An account: in lower or upper case, or with its checksum, which is verified; checksum form out.

Every command's field of an address is of this type. Errors: invalid_parameter.
"""

TxHash = Annotated[
    str, BeforeValidator(_tx_hash), WithJsonSchema({"type": "string", "pattern": TX_HASH_PATTERN})
]
"""0x and 64 hex characters, lower case out."""

_ACCOUNT_ID_SCHEMA = {
    "anyOf": [
        {"type": "string", "pattern": f"^{ACCOUNT_ID_PATTERN}$"},
        {"type": "integer", "minimum": 1, "maximum": MAX_EXACT_JSON_INT},
    ],
    "description": "the agent's user id",
}

AccountId = Annotated[int, BeforeValidator(_account_id), WithJsonSchema(_ACCOUNT_ID_SCHEMA)]
"""An agent's user id as core writes it, a number, or as the wallet does, text."""

AccountIdText = Annotated[
    str, BeforeValidator(lambda value: str(_account_id(value))), WithJsonSchema(_ACCOUNT_ID_SCHEMA)
]
"""The same, as text: its digits without leading zeros."""

PublicId = Annotated[
    str,
    BeforeValidator(_public_id),
    WithJsonSchema(
        {"type": "string", "pattern": PUBLIC_ID_PATTERN, "description": "the mandate's id"}
    ),
]
"""A mandate's id. One of another form names no mandate: not_found."""

Json = Annotated[Any, BeforeValidator(storable)]
"""Any JSON, storable in a ledger: as JsonObject.

A plain Any would keep JsonDecimal, which no column takes.
"""

Verbatim = Annotated[str | None, BeforeValidator(_verbatim), WithJsonSchema({})]
"""Any JSON, kept as its text: what is read from it again are the values that were sent, fractions
included, and no text is composed. None is null. Errors: invalid_parameter for characters that no text has.
"""

JsonObject = Annotated[
    dict[str, Any],
    BeforeValidator(_object),
    WithJsonSchema({"type": "object", "additionalProperties": True}),
]
"""Free JSON, storable in a ledger: strings, ints, booleans, nulls, lists and objects; fractions as
text, texts held to core/texts.py, as NFC.
"""

KeySignature = Annotated[
    str,
    Field(pattern=r"^0x([0-9a-fA-F]{128}|[0-9a-fA-F]{130})$"),
    AfterValidator(key_signature),
]
"""A signature that a key alone may make: 65 bytes r, s, v with v 27, 28, 0 or 1, or 64 bytes (EIP-2098)
in; 65 bytes with v 27 or 28 out.
"""

Signature = Annotated[
    str,
    Field(
        pattern=r"^0x([0-9a-fA-F]{2})*$",
        max_length=16_384,
        description="0x and hex: 65 bytes of an EOA (v 27, 28, 0 or 1) or 64 (EIP-2098), or what an "
        "ERC-1271 wallet takes (0x for a hash that it approved before)",
    ),
]

"""Values out of a venue's rows, and of what ccxt parsed: row by row, so that one bad row is its own
trouble. What is missing, or of another kind than expected, is None: never false, never zero.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, TypeVar

from core.market.facts import VenueFault
from core.market.rules.book import LEAST_NUMBER, MOST_NUMBER
from indexer.venues.port import MAX_FAULTS, MAX_ID, MAX_LEVELS, Parsed

R = TypeVar("R")
Row = Mapping[str, Any]

_TRUE: Final = ("true", "1")
_FALSE: Final = ("false", "0")
_FIRST_MS: Final = 1_230_000_000_000  # no exchange is older than 2009
_LAST_MS: Final = 4_102_444_800_000  # 2100


class RowError(Exception):
    """A row that cannot be taken. `what`: snake_case."""

    def __init__(self, what: str, about: object = "") -> None:
        super().__init__(what)
        self.what = what
        self.about = shortened(about)


def shortened(value: object, limit: int = MAX_ID) -> str:
    """A text of the outside, for a log or a fault: printable, and cut."""
    return "".join(sign if sign.isprintable() else " " for sign in str(value)[:limit])


def row_of(value: object) -> Row:
    """Errors: RowError for anything but an object."""
    if not isinstance(value, dict):
        raise RowError("not_an_object", type(value).__name__)
    return value


def rows_in(value: object, limit: int) -> list[object]:
    """Errors: RowError for anything but a list of at most `limit`."""
    if not isinstance(value, list):
        raise RowError("not_a_list", type(value).__name__)
    if len(value) > limit:
        raise RowError("too_many_rows", len(value))
    return value


def at_path(value: object, *keys: str) -> object:
    for key in keys:
        value = row_of(value).get(key)
    return value


def text_in(row: Row, key: str, limit: int = MAX_ID) -> str | None:
    """None where it is missing or empty. Errors: RowError for a text that is too long, or has what
    cannot be seen (and no database keeps).
    """
    value = row.get(key)
    if not isinstance(value, str | int) or isinstance(value, bool) or value == "":
        return None
    if len(str(value)) > limit:
        raise RowError("text_too_long", key)
    if not str(value).isprintable():
        raise RowError("not_printable", value)
    return str(value)


def needed_text(row: Row, key: str) -> str:
    """Errors: RowError where it is missing, empty, too long or not printable ASCII."""
    value = text_in(row, key)
    if value is None:
        raise RowError("missing_text", key)
    if not value.isascii() or not value.isprintable():
        raise RowError("not_printable", value)
    return value


def flag_in(row: Row, key: str) -> bool | None:
    """True, 1, "true" and "1"; and their opposites."""
    value = row.get(key)
    if isinstance(value, bool):
        return value
    written = str(value).lower() if isinstance(value, int | str) else ""
    return True if written in _TRUE else False if written in _FALSE else None


def opposite(value: bool | None) -> bool | None:
    return None if value is None else not value


def number_of(value: object) -> float | None:
    """Of a number or its text; None where no market has such a figure."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        found = float(value)
    except (ValueError, OverflowError):
        return None
    return found if found == 0 or LEAST_NUMBER <= abs(found) <= MOST_NUMBER else None


def number_in(row: Row, key: str) -> float | None:
    return number_of(row.get(key))


def positive_in(row: Row, key: str) -> float | None:
    found = number_in(row, key)
    return found if found is not None and found > 0 else None


def amount_in(row: Row, key: str) -> float | None:
    """Zero or more."""
    found = number_in(row, key)
    return found if found is not None and found >= 0 else None


def time_of_ms(value: object) -> datetime | None:
    found = number_of(value)
    if found is None or not _FIRST_MS <= found <= _LAST_MS:
        return None
    return datetime.fromtimestamp(int(found) / 1_000, UTC)


def time_of_s(value: object) -> datetime | None:
    found = number_of(value)
    return None if found is None else time_of_ms(found * 1_000)


# What ccxt's parser raises for an answer of another shape: it reads dicts and lists as they come.
UNEXPECTED_SHAPES: Final = (
    *(KeyError, TypeError, ValueError),
    *(AttributeError, IndexError, ArithmeticError),
)


def parsed(
    rows: Iterable[object], read: Callable[[Any], R], about: Callable[[Any], object]
) -> Parsed[R]:
    """Each row by itself. A row that `read` refuses is a fault; so is one of a shape that it did not
    expect.
    """
    values: list[R] = []
    faults: list[VenueFault] = []
    left_out = 0
    for row in rows:
        try:
            values.append(read(row))
        except RowError as error:
            fault = VenueFault(error.what, _named(row, about) or error.about)
        except UNEXPECTED_SHAPES as error:
            fault = VenueFault("another_shape", _named(row, about), {"error": type(error).__name__})
        else:
            continue
        if len(faults) < MAX_FAULTS - 1:
            faults.append(fault)
        else:
            left_out += 1
    if left_out:
        faults.append(VenueFault("more_faults", str(left_out)))
    return Parsed(tuple(values), tuple(faults))


def of_rows(read: Callable[[Row], R]) -> Callable[[object], R]:
    return lambda row: read(row_of(row))


def _named(row: object, about: Callable[[Any], object]) -> str:
    try:
        return shortened(about(row) or "")
    except RowError:
        return ""


def about_row(row: object) -> object:
    found = row_of(row)
    return next(
        (
            found[one]
            for one in ("coin", "currency", "ccy", "symbol", "id", "title", "key")
            if one in found
        ),
        "",
    )


def side_of(value: object) -> tuple[tuple[float, float], ...]:
    """NaN and what is not above zero are left to who judges the book; what is no number at all is
    none. Errors: RowError.
    """
    if not isinstance(value, list):
        raise RowError("not_a_list", "book")
    levels = []
    for one in value[: MAX_LEVELS + 1]:
        if not isinstance(one, list | tuple) or len(one) < 2:
            raise RowError("not_a_level", one)
        price, size = one[0], one[1]
        if not isinstance(price, int | float) or not isinstance(size, int | float):
            raise RowError("not_a_number", one)
        levels.append((float(price), float(size)))
    return tuple(levels)


def volume_of(row: Row) -> float | None:
    """In the quote; of the base's where the venue gives no other."""
    quote = number_of(row.get("quoteVolume"))
    if quote is None:
        base, last = number_of(row.get("baseVolume")), number_of(row.get("last"))
        quote = None if base is None or last is None else number_of(base * last)
    return quote if quote is not None and quote >= 0 else None


def smallest_of(row: Row) -> float | None:
    limits = row.get("limits")
    cost = limits.get("cost") if isinstance(limits, dict) else None
    return positive_in(cost, "min") if isinstance(cost, dict) else None

"""Values out of what ccxt parsed: row by row, so that one bad row is its own trouble."""

from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

from core.market.facts import VenueFault
from indexer.venues.port import MAX_FAULTS, MAX_LEVELS, Parsed
from indexer.venues.reading import (
    Row,
    RowError,
    number_of,
    positive_in,
    row_of,
    shortened,
)

R = TypeVar("R")

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

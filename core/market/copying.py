"""COPY in binary form from arrays: a sample's 25 columns are written without a loop over rows.

    header | per row: count of columns, per column its length (-1: null) and its bytes | trailer

Rows are laid out at their full width, as one structured array; then the bytes that a row has not (of
nulls, of shorter texts) are left out, all at once.

Law
- Nothing else runs on the connection while it copies: all bytes are at hand before.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
from sqlalchemy.orm import Session

from core.db.engine import WriteSession, driver_of

HEADER: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER: Final = b"\xff\xff"
EPOCH_US: Final = int(datetime(2000, 1, 1, tzinfo=UTC).timestamp()) * 1_000_000

ALL_NULL: Final = "V0"  # a column of which no row has a byte

Array: TypeAlias = npt.NDArray[Any]
_Gap: TypeAlias = tuple[npt.NDArray[np.bool_], slice]


@dataclass(frozen=True, slots=True)
class CopyColumn:
    """`values`: in the database's byte order and type, or texts' places in `texts`; `is_null`."""

    values: Array
    is_null: npt.NDArray[np.bool_]
    texts: tuple[bytes, ...] | None = None

    def of(self, rows: npt.NDArray[np.bool_]) -> "CopyColumn":
        """Those rows of it."""
        return CopyColumn(self.values[rows], self.is_null[rows], self.texts)


@dataclass(frozen=True, slots=True)
class CopyRows:
    """Rows as COPY takes them, of the columns of these names."""

    names: tuple[str, ...]
    count: int
    body: bytes


def integers(values: Array, *, bits: int = 64) -> CopyColumn:
    return CopyColumn(values.astype(f">i{bits // 8}"), np.zeros(len(values), dtype=np.bool_))


def floats(values: Array) -> CopyColumn:
    """NaN is null. Infinite is refused: it is no figure. Errors: ValueError."""
    return floats_of(values.reshape(1, -1))[0]


def floats_of(grid: Array) -> list[CopyColumn]:
    """A column of each row of the grid, as `floats`. Errors: ValueError."""
    numbers = grid.astype(np.float64)
    if np.isinf(numbers).any():
        raise ValueError("an infinite number is no figure")
    return [
        CopyColumn(values, is_null)
        for values, is_null in zip(numbers.astype(">f8"), np.isnan(numbers), strict=True)
    ]


def flags(values: Array) -> CopyColumn:
    """Of 1, 0 and anything below for null, or of floats with NaN."""
    return CopyColumn((values > 0).astype(np.int8), ~(values >= 0))


def times(unix_us: Array) -> CopyColumn:
    """Microseconds since 1970; a value below 0 is null."""
    found = unix_us.astype(np.int64)
    return CopyColumn((found - EPOCH_US).astype(">i8"), found < 0)


def words(values: Sequence[str | None]) -> CopyColumn:
    """Few different ones."""
    found = set(values)
    if len(found) == 1:
        return same_word(found.pop(), len(values))
    known = sorted(value for value in found if value is not None)
    place: dict[str | None, int] = {value: at for at, value in enumerate(known)} | {None: -1}
    codes = np.fromiter(map(place.__getitem__, values), np.int64, len(values))
    return CopyColumn(codes, codes < 0, tuple(value.encode() for value in known))


def same_word(value: str | None, count: int) -> CopyColumn:
    codes = np.full(count, -1 if value is None else 0, dtype=np.int64)
    return CopyColumn(codes, codes < 0, () if value is None else (value.encode(),))


def unix_us(value: datetime | None) -> int:
    """-1: there is none."""
    return -1 if value is None else round(value.timestamp() * 1_000_000)


def encoded(columns: Sequence[CopyColumn]) -> bytes:
    """The rows as COPY takes them, header and trailer included."""
    return RowGrid(columns).as_copied()


class RowGrid:
    """Rows at their full width, and which of its bytes are sent: a null has none, a short text fewer
    than the longest. `types`: those of the columns, for rows that are sent as values too (arrays.py).

    Rows that miss a byte of the width stand after those that miss none: these are copied as they are.
    """

    def __init__(self, columns: Sequence[CopyColumn], types: tuple[int, ...] | None = None) -> None:
        self.layout = _layout(tuple(map(_kind, columns)), types)
        self.count, width = len(columns[0].values), self.layout.row.itemsize
        full = np.frombuffer(bytearray(self.layout.blank * self.count), dtype=self.layout.row)
        missing = [
            gap for place, column in enumerate(columns) for gap in self._put(full, place, column)
        ]
        is_short = np.zeros(self.count, dtype=np.bool_)
        for rows, _ in missing:
            is_short |= rows
        cells = full.view(np.uint8).reshape(self.count, width)
        self._whole, self._short = cells[~is_short], cells[is_short]
        self._kept = np.ones(self._short.shape, dtype=np.bool_)
        for rows, at in missing:
            self._kept[rows[is_short], at] = False

    def _put(self, full: Array, place: int, column: CopyColumn) -> Iterator[_Gap]:
        """The rows that have not all of the column's bytes, and the bytes that they have not."""
        at, has_null = self.layout.values[place], np.count_nonzero(column.is_null)
        if at.start == at.stop:
            return
        if column.texts is None:
            full[f"value{place}"] = column.values
        else:
            texts, width = (*column.texts, b""), at.stop - at.start  # the last: of null
            body = b"".join(one.ljust(width, b"\0") for one in texts)
            full[f"value{place}"] = np.frombuffer(body, dtype=f"V{width}")[column.values]
            for number, text in enumerate(column.texts):
                if len(text) < width:
                    rows = column.values == number
                    full[f"length{place}"][rows] = len(text)
                    yield rows, slice(at.start + len(text), at.stop)
        if has_null:
            full[f"length{place}"][column.is_null] = -1
            yield column.is_null, at

    def as_copied(self) -> bytes:
        of, short = self.layout.in_copy, self._kept & self.layout.is_in_copy
        whole = self._whole if of is None else np.take(self._whole, of, axis=1)
        return HEADER + whole.tobytes() + self._short[short].tobytes() + TRAILER

    def as_values(self) -> bytes:
        """Of a typed grid: each row with its size before it, which the size itself is no part of."""
        sizes = np.count_nonzero(self._kept, axis=1) - 4
        self._whole.view(self.layout.row)["size"] = self._whole.shape[1] - 4
        self._short.view(self.layout.row)["size"] = sizes.reshape(-1, 1)
        return self._whole.tobytes() + self._short[self._kept].tobytes()


@dataclass(frozen=True, slots=True)
class _Layout:
    """Of a row at its full width; `blank`: one without values; `in_copy`: the places of the bytes
    that COPY has too; None: it has all.
    """

    row: np.dtype[Any]
    blank: bytes
    values: tuple[slice, ...]
    is_in_copy: npt.NDArray[np.bool_]
    in_copy: npt.NDArray[np.intp] | None


@lru_cache(maxsize=256)
def _layout(kinds: tuple[str, ...], types: tuple[int, ...] | None) -> _Layout:
    """`types`: as those of a RowGrid."""
    fields = [("count", ">i2")] if types is None else [("size", ">i4"), ("count", ">i4")]
    for place, kind in enumerate(kinds):
        if types is not None:
            fields.append((f"type{place}", ">u4"))
        fields += [(f"length{place}", ">i4"), (f"value{place}", kind)]
    row = np.dtype(fields)
    assert row.fields is not None
    where = {name: slice(one[1], one[1] + one[0].itemsize) for name, one in row.fields.items()}
    blank = np.zeros(1, dtype=row)
    blank["count"] = len(kinds)
    is_in_copy = np.ones(row.itemsize, dtype=np.bool_)
    for place, kind in enumerate(kinds):
        blank[f"length{place}"] = -1 if kind == ALL_NULL else np.dtype(kind).itemsize
        if types is not None:
            blank[f"type{place}"] = types[place]
            is_in_copy[where[f"type{place}"]] = False
    if types is not None:
        is_in_copy[:6] = False  # the lower half of the count is COPY's
    return _Layout(
        row,
        blank.tobytes(),
        tuple(where[f"value{place}"] for place in range(len(kinds))),
        is_in_copy,
        None if types is None else np.flatnonzero(is_in_copy),
    )


def _kind(column: CopyColumn) -> str:
    if np.count_nonzero(column.is_null) == len(column.is_null):
        return ALL_NULL
    if column.texts is None:
        return column.values.dtype.str
    return f"V{max(1, *map(len, column.texts))}"


def copy_columns(session: WriteSession, table: str, columns: Mapping[str, CopyColumn]) -> int:
    """Append rows to a table in the session's transaction; how many.

    Errors: the database's, as psycopg raises them.
    """
    return copy_rows(session, table, rows_of(columns))


def rows_of(columns: Mapping[str, CopyColumn]) -> CopyRows:
    """Encoded, so that they can be made while the session's connection is at work."""
    count = len(next(iter(columns.values())).values)
    return CopyRows(tuple(columns), count, encoded(tuple(columns.values())) if count else b"")


def copy_rows(session: WriteSession, table: str, rows: CopyRows) -> int:
    """As `copy_columns`, of rows that are encoded."""
    if not rows.count:
        return 0
    session.flush()
    names = ", ".join(f'"{name}"' for name in rows.names)
    statement = f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)"
    with driver_of(session).cursor() as cursor, cursor.copy(statement.encode()) as copy:
        copy.write(rows.body)
    return rows.count


def row_of(*types: str) -> np.dtype[Any]:
    """How a row of columns that are never null is sent: `v0`, `v1` ... are their values."""
    fields = [((f"l{at}", ">i4"), (f"v{at}", one)) for at, one in enumerate(types)]
    return np.dtype([("n", ">i2"), *(field for pair in fields for field in pair)])


def read_rows(session: Session, statement: bytes, row: np.dtype[Any]) -> Array:
    """What `copy (select ...) to stdout (format binary)` answers, all at once: rows of one width, so
    that a million of them are one array.
    """
    session.connection()
    with driver_of(session).cursor() as cursor, cursor.copy(statement) as copy:
        body = b"".join(copy)
    count = (len(body) - len(HEADER) - len(TRAILER)) // row.itemsize
    return np.frombuffer(body, dtype=row, count=count, offset=len(HEADER))

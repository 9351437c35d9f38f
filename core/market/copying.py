"""COPY in binary form from arrays: a sample's 25 columns are written without a loop over rows.

    header | per row: count of columns, per column its length (-1: null) and its bytes | trailer

Rows are laid out at their full width, as one structured array; then the bytes that a row has not (of
nulls, of shorter texts) are left out, all at once.

Law
- Nothing else runs on the connection while it copies: all bytes are at hand before.
"""

from collections.abc import Mapping, Sequence
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

Array: TypeAlias = npt.NDArray[Any]


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
    numbers = np.nan_to_num(values.astype(np.float64), nan=-1)
    return CopyColumn((numbers > 0).astype(np.int8), numbers < 0)


def times(unix_us: Array) -> CopyColumn:
    """Microseconds since 1970; a value below 0 is null."""
    found = unix_us.astype(np.int64)
    return CopyColumn((found - EPOCH_US).astype(">i8"), found < 0)


def words(values: Sequence[str | None]) -> CopyColumn:
    """Few different ones."""
    known = sorted({value for value in values if value is not None})
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
    """

    def __init__(self, columns: Sequence[CopyColumn], types: tuple[int, ...] | None = None) -> None:
        kinds = tuple(map(_kind, columns))
        self.layout = _layout(kinds, types is not None)
        self.count = len(columns[0].values)
        self.packed = np.empty(self.count, dtype=self.layout.row)
        self.kept = np.ones((self.count, self.layout.row.itemsize), dtype=np.bool_)
        self.packed["count"] = len(columns)
        for place, column in enumerate(columns):
            if types is not None:
                self.packed[f"type{place}"] = types[place]
            self._put(place, column)

    def _put(self, place: int, column: CopyColumn) -> None:
        lengths, at = self.packed[f"length{place}"], self.layout.values[place]
        if column.texts is None:
            lengths[:] = at.stop - at.start
            self.packed[f"value{place}"] = column.values
        else:
            texts, width = (*column.texts, b""), at.stop - at.start  # the last: of null
            sizes = np.array(list(map(len, texts)))
            lengths[:] = sizes[column.values]
            body = b"".join(one.ljust(width, b"\0") for one in texts)
            self.packed[f"value{place}"] = np.frombuffer(body, dtype=f"V{width}")[column.values]
            for number, size in enumerate(sizes[:-1].tolist()):
                if size < width:
                    self.kept[column.values == number, at.start + size : at.stop] = False
        if column.is_null.any():
            lengths[column.is_null] = -1
            self.kept[column.is_null, at] = False

    def as_copied(self) -> bytes:
        return HEADER + self.sent(self.layout.in_copy) + TRAILER

    def sent(self, of: npt.NDArray[np.bool_] | None = None) -> bytes:
        """The bytes of the rows, those of `of` alone."""
        cells = self.packed.view(np.uint8).reshape(self.kept.shape)
        return cells[self.kept if of is None else self.kept & of].tobytes()


@dataclass(frozen=True, slots=True)
class _Layout:
    """Of a row at its full width; `in_copy`: the bytes that COPY has too."""

    row: np.dtype[Any]
    values: tuple[slice, ...]
    in_copy: npt.NDArray[np.bool_] | None


@lru_cache(maxsize=256)
def _layout(kinds: tuple[str, ...], is_typed: bool) -> _Layout:
    fields = [("size", ">i4"), ("count", ">i4")] if is_typed else [("count", ">i2")]
    for place, kind in enumerate(kinds):
        if is_typed:
            fields.append((f"type{place}", ">u4"))
        fields += [(f"length{place}", ">i4"), (f"value{place}", kind)]
    row = np.dtype(fields)
    where = {
        name: slice(field[1], field[1] + field[0].itemsize)
        for name, field in (row.fields or {}).items()
    }
    in_copy = None
    if is_typed:
        in_copy = np.ones(row.itemsize, dtype=np.bool_)
        in_copy[:6] = False  # the lower half of the count is COPY's
        for place in range(len(kinds)):
            in_copy[where[f"type{place}"]] = False
    return _Layout(row, tuple(where[f"value{place}"] for place in range(len(kinds))), in_copy)


def _kind(column: CopyColumn) -> str:
    if column.texts is None:
        return column.values.dtype.str
    return f"V{max(1, *map(len, column.texts), 0)}"


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

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


def integers(values: Array, *, bits: int = 64) -> CopyColumn:
    return CopyColumn(values.astype(f">i{bits // 8}"), np.zeros(len(values), dtype=np.bool_))


def floats(values: Array) -> CopyColumn:
    """NaN is null. Infinite is refused: it is no figure. Errors: ValueError."""
    numbers = values.astype(">f8")
    if np.isinf(numbers).any():
        raise ValueError("an infinite number is no figure")
    return CopyColumn(numbers, np.isnan(numbers))


def flags(values: Array) -> CopyColumn:
    """Of 1, 0 and anything below for null, or of floats with NaN."""
    return CopyColumn((values > 0).astype(np.int8), ~(values >= 0))


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


def unix_us(value: datetime | None) -> int:
    """-1: there is none."""
    return -1 if value is None else round(value.timestamp() * 1_000_000)


def encoded(columns: Sequence[CopyColumn]) -> bytes:
    """The rows as COPY takes them, header and trailer included. Rows that miss a byte of the width
    stand after those that miss none, which are copied as they are.
    """
    count = len(columns[0].values)
    parts = [("count", ">i2")]
    for place, column in enumerate(columns):
        parts += [(f"length{place}", ">i4"), (f"value{place}", _kind(column))]
    rows = np.zeros(count, dtype=np.dtype(parts))
    rows["count"] = len(columns)
    is_short, cuts = np.zeros(count, dtype=np.bool_), list[tuple[slice, Array]]()
    assert rows.dtype.fields is not None
    for place, column in enumerate(columns):
        kind, at = rows.dtype.fields[f"value{place}"][:2]
        width = kind.itemsize
        lengths = np.full(count, width)
        if width and column.texts is None:
            rows[f"value{place}"] = column.values
        elif width and column.texts is not None:
            padded = [one.ljust(width, b"\0") for one in (*column.texts, b"")]  # the last: of null
            rows[f"value{place}"] = np.array(padded, dtype=kind)[column.values]
            lengths = np.array([*map(len, column.texts), 0])[column.values]
        rows[f"length{place}"] = np.where(column.is_null, -1, lengths)
        sent = np.where(column.is_null, 0, lengths)
        if (sent < width).any():
            is_short |= sent < width
            cuts.append((slice(at, at + width), sent))
    cells = rows.view(np.uint8).reshape(count, rows.itemsize)
    short = cells[is_short]
    is_sent = np.ones(short.shape, dtype=np.bool_)
    for where, sent in cuts:
        is_sent[:, where] = np.arange(where.stop - where.start) < sent[is_short][:, None]
    return HEADER + cells[~is_short].tobytes() + short[is_sent].tobytes() + TRAILER


def _kind(column: CopyColumn) -> str:
    """Of a column of nulls alone no byte."""
    if column.is_null.all():
        return "V0"
    if column.texts is None:
        return column.values.dtype.str
    return f"V{max(1, *map(len, column.texts), 1)}"


def copy_columns(session: WriteSession, table: str, columns: Mapping[str, CopyColumn]) -> int:
    """Append rows to a table in the session's transaction; how many.

    Errors: the database's, as psycopg raises them.
    """
    count = len(next(iter(columns.values())).values)
    if not count:
        return 0
    body = encoded(tuple(columns.values()))
    session.flush()
    names = ", ".join(f'"{name}"' for name in columns)
    statement = f"COPY {table} ({names}) FROM STDIN (FORMAT BINARY)"
    with driver_of(session).cursor() as cursor, cursor.copy(statement.encode()) as copy:
        copy.write(body)
    return count


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

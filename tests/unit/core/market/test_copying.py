"""Rows for COPY and for an array of rows, against an encoder that goes value by value."""

import struct
from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from core.market.arrays import TYPES, array_of
from core.market.copying import (
    EPOCH_US,
    HEADER,
    TRAILER,
    CopyColumn,
    RowGrid,
    encoded,
    flags,
    floats,
    integers,
    times,
    words,
)

Row = tuple[int, float | None, str | None, bool | None, int | None]
ELEMENT = 4_711
KINDS = ("bigint", "float8", "text", "boolean", "timestamptz")
TYPED = tuple(TYPES[kind] for kind in KINDS)

ROWS = st.lists(
    st.tuples(
        st.integers(-(2**63), 2**63 - 1),
        st.none() | st.floats(allow_nan=False, allow_infinity=False),
        st.none() | st.sampled_from(("", "usdt", "unreadable", "ä")),
        st.none() | st.booleans(),
        st.none() | st.integers(0, 2**52),
    ),
    min_size=1,
    max_size=30,
)


def columns_of(rows: Sequence[Row]) -> tuple[CopyColumn, ...]:
    ids, figures, texts, marks, moments = zip(*rows, strict=True)
    return (
        integers(np.array(ids, dtype=np.int64)),
        floats(np.array([np.nan if one is None else one for one in figures])),
        words(texts),
        flags(np.array([-1 if one is None else int(one) for one in marks])),
        times(np.array([-1 if one is None else one for one in moments])),
    )


def cells_of(row: Row) -> list[bytes | None]:
    number, figure, text, mark, moment = row
    return [
        struct.pack(">q", number),
        None if figure is None else struct.pack(">d", figure),
        None if text is None else text.encode(),
        None if mark is None else struct.pack(">?", mark),
        None if moment is None else struct.pack(">q", moment - EPOCH_US),
    ]


def sized(cell: bytes | None) -> bytes:
    return struct.pack(">i", -1) if cell is None else struct.pack(">i", len(cell)) + cell


def as_copied(row: Row) -> bytes:
    return struct.pack(">h", len(KINDS)) + b"".join(map(sized, cells_of(row)))


def as_value(row: Row) -> bytes:
    body = struct.pack(">i", len(KINDS)) + b"".join(
        struct.pack(">I", kind) + sized(cell)
        for kind, cell in zip(TYPED, cells_of(row), strict=True)
    )
    return sized(body)


def rows_in_copy(body: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(body):
        begun = at
        at += 2
        for _ in KINDS:
            (size,) = struct.unpack_from(">i", body, at)
            at += 4 + max(0, size)
        found.append(body[begun:at])
    return found


def values_in(body: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(body):
        (size,) = struct.unpack_from(">i", body, at)
        found.append(body[at : at + 4 + size])
        at += 4 + size
    return found


@given(ROWS)
def test_what_copy_takes__is_each_row_once(rows: list[Row]) -> None:
    wanted = sorted(map(as_copied, rows))
    for body in (
        encoded(columns_of(rows)),
        RowGrid(columns_of(rows), TYPED).as_copied(),
    ):
        assert (body[: len(HEADER)], body[-len(TRAILER) :]) == (HEADER, TRAILER)
        assert sorted(rows_in_copy(body[len(HEADER) : -len(TRAILER)])) == wanted


@given(ROWS)
def test_an_array_of_rows__has_each_row_once(rows: list[Row]) -> None:
    body = array_of(RowGrid(columns_of(rows), TYPED), ELEMENT).body
    assert body[:20] == struct.pack(">IIIII", 1, 0, ELEMENT, len(rows), 1)
    assert sorted(values_in(body[20:])) == sorted(map(as_value, rows))

"""Columns as array parameters in binary form, so that a statement takes thousands of rows at once
without reading them anywhere.

    dimensions | has nulls | type of elements | count | lower bound | per element its length and bytes
"""

from typing import Any, Final

import numpy as np
from psycopg import adapters
from psycopg.adapt import Dumper
from psycopg.pq import Format

from core.market.copying import CopyColumn


class _Array:
    """An encoded array; each type has its class, by which psycopg names it to the database."""

    __slots__ = ("body",)
    element_oid: int

    def __init__(self, body: bytes) -> None:
        self.body = body


class _ArrayDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: Any) -> bytes:
        body: bytes = obj.body
        return body


def _kind(name: str, element_oid: int, oid: int) -> type[_Array]:
    kind = type(f"{name}_array", (_Array,), {"__slots__": (), "element_oid": element_oid})
    adapters.register_dumper(kind, type(f"{name}_dumper", (_ArrayDumper,), {"oid": oid}))
    return kind


KINDS: Final = {
    "bigint": _kind("bigint", 20, 1016),
    "integer": _kind("integer", 23, 1007),
    "float8": _kind("float8", 701, 1022),
    "boolean": _kind("boolean", 16, 1000),
    "text": _kind("text", 25, 1009),
    "timestamptz": _kind("timestamptz", 1184, 1185),
}
"""By the name of the elements' type."""


def array(column: CopyColumn, kind: str) -> _Array:
    """`kind`: of KINDS, as the column's values are."""
    made, count = KINDS[kind], len(column.values)
    has_null = bool(column.is_null.any())
    head = np.array([1, has_null, made.element_oid, count, 1], dtype=">i4").tobytes()
    if column.texts is not None:
        cells = [_cell(text) for text in column.texts] + [_cell(None)]
        return made(head + b"".join([cells[place] for place in column.values.tolist()]))
    size = column.values.dtype.itemsize
    packed = np.empty(count, dtype=[("length", ">i4"), ("value", column.values.dtype)])
    packed["length"], packed["value"] = size, column.values
    if not has_null:
        return made(head + packed.tobytes())
    packed["length"][column.is_null] = -1
    kept = np.ones((count, 4 + size), dtype=np.bool_)
    kept[column.is_null, 4:] = False
    return made(head + packed.view(np.uint8).reshape(count, 4 + size)[kept].tobytes())


def _cell(text: bytes | None) -> bytes:
    return b"\xff\xff\xff\xff" if text is None else len(text).to_bytes(4) + text

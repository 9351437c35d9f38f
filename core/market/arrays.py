"""Rows as one parameter: an array of a composite type in binary form, so that a statement takes
thousands of rows at once without reading them anywhere. One array a column costs the database twice
as much to take apart.

    dimensions | has nulls | type of elements | count | lower bound
    per element: its length | count of columns | per column its type, its length and its bytes
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from psycopg import adapters
from psycopg.adapt import Dumper
from psycopg.pq import Format

from core.market.copying import RowGrid

TYPES: Final = {
    "bigint": 20,
    "integer": 23,
    "float8": 701,
    "boolean": 16,
    "text": 25,
    "timestamptz": 1184,
}
"""Postgres's numbers of its own types, the same everywhere."""


@dataclass(frozen=True, slots=True)
class RowArray:
    """Encoded; the statement names its type."""

    body: bytes


class _RowArrayDumper(Dumper):
    format = Format.BINARY
    oid = 0

    def dump(self, obj: Any) -> bytes:
        body: bytes = obj.body
        return body


adapters.register_dumper(RowArray, _RowArrayDumper)


def array_of(grid: RowGrid, element: int) -> RowArray:
    """`element`: the number of the composite type in this database, whose columns are those of the
    grid, a typed one, in their order.
    """
    head = np.array([1, 0, element, grid.count, 1], dtype=">u4")
    return RowArray(head.tobytes() + grid.as_values())

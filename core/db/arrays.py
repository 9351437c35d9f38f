"""Columns of values as a table in a statement: many rows in one round trip, whatever their number,
by one plan.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import cast, func
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.sql.selectable import TableValuedAlias
from sqlalchemy.types import TypeEngine

Columns = Mapping[str, tuple[TypeEngine[Any] | type[TypeEngine[Any]], Sequence[Any]]]

T = TypeVar("T")


def parts_of(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """The values in their order, at most `size` at a time."""
    return (values[first : first + size] for first in range(0, len(values), size))


def table_of(name: str, columns: Columns) -> TableValuedAlias:
    """A table of that name: by column its type and its values, one a row.

    All columns are of the same length.
    """
    arrays = [cast(list(values), ARRAY(kind)) for kind, values in columns.values()]
    return func.unnest(*arrays).table_valued(*columns).render_derived(name)

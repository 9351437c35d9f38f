"""Columns of values as a table in a statement: many rows in one round trip, whatever their number,
by one plan.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import cast, func
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.sql.selectable import TableValuedAlias
from sqlalchemy.types import TypeEngine

Columns = Mapping[str, tuple[TypeEngine[Any] | type[TypeEngine[Any]], Sequence[Any]]]


def table_of(name: str, columns: Columns) -> TableValuedAlias:
    """A table of that name: by column its type and its values, one a row.

    All columns are of the same length.
    """
    arrays = [cast(list(values), ARRAY(kind)) for kind, values in columns.values()]
    return func.unnest(*arrays).table_valued(*columns).render_derived(name)

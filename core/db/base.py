"""The declarative base: one naming convention, so that migrations and errors name constraints
predictably.
"""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Any

from sqlalchemy import BigInteger, DateTime, Dialect, LargeBinary, MetaData, Numeric, TypeDecorator
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import DeclarativeBase

from core.hexes import address_or_none, bytes_of, hex_of

Timestamp = DateTime(timezone=True)
Hash32 = LargeBinary(32)

# Tables whose rows are only ever added, as the last of their `__table_args__`: triggers and grants
# guard them.
APPEND_ONLY = "append_only"
LEDGER = {"info": {APPEND_ONLY: "ledger"}}  # its rows are chained by hashes
LOG = {"info": {APPEND_ONLY: "log"}}


class Uint256(TypeDecorator[int]):
    """numeric(78, 0), a Python int on both sides.

    Signed; wide enough for uint256 and for sums of USDC base units.
    """

    impl = Numeric(78, 0)
    cache_ok = True

    def process_result_value(self, value: Decimal | None, dialect: Dialect) -> int | None:
        return None if value is None else int(value)


class HexColumn(TypeDecorator[str]):
    """bytea, 0x and lower-case hex in Python."""

    impl = LargeBinary
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        return None if value is None else bytes_of(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        return None if value is None else hex_of(value)


class AddressColumn(HexColumn):
    """bytea, a checksummed address in Python."""

    cache_ok = True

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        return address_or_none(value)


def sql_list(words: Iterable[StrEnum]) -> str:
    """The words as SQL writes a list: ('a', 'b'). Postgres uses a partial index only for a query
    with the words of its predicate.
    """
    return "(" + ", ".join(f"'{word}'" for word in words) + ")"


class Base(DeclarativeBase):
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_N_name)s",
            "uq": "uq_%(table_name)s_%(column_0_N_name)s",
            "ck": "ck_%(table_name)s_%(constraint_name)s",
            "fk": "fk_%(table_name)s_%(column_0_N_name)s",
            "pk": "pk_%(table_name)s",
        }
    )
    type_annotation_map = {  # noqa: RUF012 (SQLAlchemy reads a plain dict)
        int: BigInteger,
        datetime: Timestamp,
        dict[str, Any]: JSONB,
        list[Any]: JSONB,
    }

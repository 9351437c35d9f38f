"""The credit ledger: one row is one posting, its deltas sum to zero with the counter account's
(double entry).

Credits are integers. Buckets in spend order: welcome, earned, converted; bonded is what bonds hold,
owed what the account owes.
"""

from datetime import date, datetime
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Date,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from core.credits.rules.buckets import BUCKETS
from core.db.base import LEDGER, Base, Hash32


class CreditEntry(Base):
    __tablename__ = "credit_entry"
    __table_args__ = (
        UniqueConstraint("account_id", "seq"),
        UniqueConstraint("account_id", "base_key"),
        CheckConstraint(
            "welcome_delta + earned_delta + converted_delta + bonded_delta - owed_delta + "
            "counter_delta = 0",
            name="sums_to_zero",
        ),
        Index(
            "ix_credit_entry_reserve", "account_id", postgresql_where=text("counter = 'reserve'")
        ),
        LEDGER,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    seq: Mapped[int]
    # welcome, earn, spend, convert, bond, release, debt ...
    kind: Mapped[str] = mapped_column(Text)
    base_key: Mapped[str] = mapped_column(Text)
    # the service's account on the other side: issuance, sales, reserve, penalties, bonds
    counter: Mapped[str] = mapped_column(Text)
    welcome_delta: Mapped[int]
    earned_delta: Mapped[int]
    converted_delta: Mapped[int]
    bonded_delta: Mapped[int]
    owed_delta: Mapped[int]
    counter_delta: Mapped[int]
    payload: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    prev_hash: Mapped[bytes] = mapped_column(Hash32)
    row_hash: Mapped[bytes] = mapped_column(Hash32)


class CreditHead(Base):
    __tablename__ = "credit_head"
    __table_args__ = tuple(CheckConstraint(f"{bucket} >= 0", name=bucket) for bucket in BUCKETS)

    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"), primary_key=True)
    seq: Mapped[int]
    row_hash: Mapped[bytes] = mapped_column(Hash32)
    welcome: Mapped[int]
    earned: Mapped[int]
    converted: Mapped[int]
    bonded: Mapped[int]
    owed: Mapped[int]
    updated_at: Mapped[datetime]


class FreeReadCount(Base):
    """Free metered reads of an agent account in a UTC day."""

    __tablename__ = "free_read_count"

    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"), primary_key=True)
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    n: Mapped[int] = mapped_column(Integer)


class FreeReadPool(Base):
    """The same of all agents of a pool (core/credits/rules/free_reads.py): the sum of their
    counts.
    """

    __tablename__ = "free_read_pool"

    pool: Mapped[str] = mapped_column(Text, primary_key=True)
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    n: Mapped[int] = mapped_column(Integer)

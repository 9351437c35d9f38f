"""Pairs that subscribers have scanned each minute."""

from datetime import date, datetime

from sqlalchemy import CheckConstraint, Date, ForeignKey, Identity, Index, Integer, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class PriorityTarget(Base):
    """`captures_used`: high-frequency captures started on `captures_day` (UTC), of
    `microburst_hf_captures` that a day may have.
    """

    __tablename__ = "priority_target"
    __table_args__ = (
        UniqueConstraint("account_id", "listing_id"),
        CheckConstraint("microburst_hf_captures between 0 and 100", name="microburst_hf_captures"),
        CheckConstraint("captures_used >= 0", name="captures_used"),
        Index("ix_priority_target_listing_id", "listing_id"),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    listing_id: Mapped[int] = mapped_column(ForeignKey("listing.id"))
    microburst_hf_captures: Mapped[int] = mapped_column(Integer)
    captures_day: Mapped[date | None] = mapped_column(Date)
    captures_used: Mapped[int] = mapped_column(Integer)
    added_at: Mapped[datetime]

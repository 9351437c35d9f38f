"""The pairs that exchanges list."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Identity, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class ExchangeListing(Base):
    __tablename__ = "listing"
    __table_args__ = (
        UniqueConstraint("exchange", "base", "quote"),
        CheckConstraint(
            "token_id = lower(exchange || '_' || base || '_' || quote)", name="token_id"
        ),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    token_id: Mapped[str] = mapped_column(Text, unique=True)
    exchange: Mapped[str] = mapped_column(Text)
    base: Mapped[str] = mapped_column(Text)
    quote: Mapped[str] = mapped_column(Text)
    is_simulated: Mapped[bool]
    created_at: Mapped[datetime]

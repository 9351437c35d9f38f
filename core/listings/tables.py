"""The pairs that exchanges list, how many of them each exchange has, and the tokens that they are of."""

from datetime import datetime

from sqlalchemy import CheckConstraint, Identity, Text, UniqueConstraint, text
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


class ListingCount(Base):
    """Kept by whoever adds listings, in the same transaction. `simulated`: of the `listings`.
    `tokens`: those that no exchange had listed before, so that all exchanges' are the tokens there are.
    """

    __tablename__ = "listing_count"

    exchange: Mapped[str] = mapped_column(Text, primary_key=True)
    listings: Mapped[int]
    simulated: Mapped[int]
    tokens: Mapped[int] = mapped_column(server_default=text("0"))


class ListingToken(Base):
    """A ticker that some exchange lists. `facts`: approved values of all its listings."""

    __tablename__ = "listing_token"

    token: Mapped[str] = mapped_column(Text, primary_key=True)
    facts: Mapped[int] = mapped_column(server_default=text("0"))

"""Which feeds accounts read."""

from datetime import datetime

from sqlalchemy import ForeignKey, Text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class FeedSubscription(Base):
    """A feed that an account reads; made once."""

    __tablename__ = "feed_subscription"

    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"), primary_key=True)
    feed_key: Mapped[str] = mapped_column(Text, primary_key=True)
    subscribed_at: Mapped[datetime]

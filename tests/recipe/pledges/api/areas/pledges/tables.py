"""What agents pledged."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Index, Text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base


class Pledge(Base):
    """One pledge of an agent."""

    __tablename__ = "pledge"
    __table_args__ = (
        CheckConstraint("state in ('open', 'withdrawn', 'lapsed')", name="state"),
        Index("ix_pledge_agent_id_id", "agent_id", "id"),
        Index("ix_pledge_state_made_at", "state", "made_at"),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    cause: Mapped[str] = mapped_column(Text)
    amount_usdc_e6: Mapped[int]
    state: Mapped[str] = mapped_column(Text)
    made_at: Mapped[datetime]

"""What operators do for everybody's safety: cases against agents, the notices that they make, and
the defense level.
"""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Index, Integer, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import LOG, Base


class ViolationCase(Base):
    """A lock on an agent's account, from its opening until an operator closes it.

    One open case a rule and agent.
    """

    __tablename__ = "violation_case"
    __table_args__ = (
        CheckConstraint("(closed_at is null) = (closed_by is null)", name="closed"),
        Index(
            "uq_violation_case_open",
            "agent_id",
            "rule",
            unique=True,
            postgresql_where=text("closed_at is null"),
        ),
        Index("ix_violation_case_agent_id_id", "agent_id", "id"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    reference: Mapped[str] = mapped_column(Text, unique=True)  # v_ + 10 lower-case base32
    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    rule: Mapped[str] = mapped_column(Text)
    deadline_at: Mapped[datetime]  # until when the agent may explain
    opened_at: Mapped[datetime]
    opened_by: Mapped[int] = mapped_column(ForeignKey("account.id"))
    closed_at: Mapped[datetime | None]
    closed_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))


class Notice(Base):
    """A message in an account's inbox. A lock writes exactly one; it says what its case says."""

    __tablename__ = "notice"
    __table_args__ = (Index("ix_notice_account_id_id", "account_id", "id"),)

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    case_id: Mapped[int] = mapped_column(ForeignKey("violation_case.id"), unique=True)
    created_at: Mapped[datetime]


class DefenseChange(Base):
    """The protection level is the newest row's, 0 before the first.

    Append-only: who set it, when, and what it was before.
    """

    __tablename__ = "defense_change"
    __table_args__ = (
        CheckConstraint("level between 0 and 3 and previous_level between 0 and 3", name="level"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    level: Mapped[int] = mapped_column(Integer)
    previous_level: Mapped[int] = mapped_column(Integer)
    changed_by: Mapped[int] = mapped_column(ForeignKey("account.id"))
    at: Mapped[datetime]

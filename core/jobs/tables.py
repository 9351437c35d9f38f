"""What the slow jobs did: one row a run."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, Identity, Index, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base
from core.jobs.rules import RunOutcome


class JobRun(Base):
    """One run.

    `outcome` null: it is under way, or its process ended and the job has not been tried since.
    """

    __tablename__ = "job_run"
    __table_args__ = (
        CheckConstraint("outcome in ('ok', 'failed', 'skipped')", name="outcome"),
        CheckConstraint("(outcome is null) = (ended_at is null)", name="ended"),
        Index("ix_job_run_name_id", "name", "id"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    every_s: Mapped[int]  # how often the job is due, as it was then
    started_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    outcome: Mapped[RunOutcome | None] = mapped_column(Text)
    # why it failed or was skipped, one short sentence
    error: Mapped[str | None] = mapped_column(Text)
    did: Mapped[dict[str, Any]] = mapped_column(JSONB)  # what it did, in few words and numbers
    holder: Mapped[str] = mapped_column(Text)

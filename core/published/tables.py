"""What is published once a UTC day, with its versions. Import them from here."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import CheckConstraint, Date, Integer, Text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import LOG, Base, sql_list
from core.published.rules import PublishCause


class PublishedDay(Base):
    """A version of a day of a subject (core/published/rules.py)."""

    __tablename__ = "published_day"
    __table_args__ = (
        CheckConstraint(f"cause in {sql_list(PublishCause)}", name="cause"),
        CheckConstraint("version >= 1 and (version = 1) = (cause = 'first')", name="version"),
        LOG,
    )

    subject: Mapped[str] = mapped_column(Text, primary_key=True)
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    version: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    as_of: Mapped[datetime]
    computed_at: Mapped[datetime]
    cause: Mapped[str] = mapped_column(Text)
    rules: Mapped[str] = mapped_column(Text)
    figures: Mapped[dict[str, Any]]

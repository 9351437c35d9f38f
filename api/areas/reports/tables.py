"""Reports of pairs, and who has them."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Index, Integer, Text, UniqueConstraint
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from api.areas.reports.rules import ReportFailure, ReportState
from core.db.base import Base, Hash32, sql_list


class StoredReport(Base):
    """One report of a pair, version, language and two hours, for everybody who asks for it.

    `state_at`: when it came to its state. The figures are those that it prints; null: unknown.
    """

    __tablename__ = "pair_report"
    __table_args__ = (
        UniqueConstraint("listing_id", "version", "lang", "bucket"),
        CheckConstraint("version in ('v1', 'v2')", name="version"),
        CheckConstraint("lang in ('en', 'ko')", name="lang"),
        CheckConstraint(f"state in {sql_list(ReportState)}", name="state"),
        CheckConstraint(f"failure in {sql_list(ReportFailure)}", name="failure"),
        CheckConstraint("(state = 'failed') = (failure is not null)", name="failed"),
        CheckConstraint(
            "(state = 'ready') = (pdf is not null) and (pdf is null) = (sha256 is null)",
            name="ready",
        ),
        Index("ix_pair_report_state_id", "state", "id"),
        Index("ix_pair_report_bucket", "bucket"),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    listing_id: Mapped[int] = mapped_column(ForeignKey("listing.id"))
    version: Mapped[str] = mapped_column(Text)
    lang: Mapped[str] = mapped_column(Text)
    bucket: Mapped[datetime]
    state: Mapped[str] = mapped_column(Text)
    state_at: Mapped[datetime]
    attempts: Mapped[int] = mapped_column(Integer)
    failure: Mapped[str | None] = mapped_column(Text)
    grade: Mapped[str | None] = mapped_column(Text)
    score: Mapped[int | None]
    probability: Mapped[float | None]
    coverage: Mapped[float | None]
    is_simulated: Mapped[bool | None]
    sha256: Mapped[bytes | None] = mapped_column(Hash32)
    pdf: Mapped[bytes | None] = mapped_column(BYTEA)
    requested_at: Mapped[datetime]


class ReportHolder(Base):
    """An account that asked for a report; counted once a report."""

    __tablename__ = "pair_report_holder"
    __table_args__ = (
        Index("ix_pair_report_holder_account_id_requested_at", "account_id", "requested_at"),
    )

    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"), primary_key=True)
    report_id: Mapped[int] = mapped_column(ForeignKey("pair_report.id"), primary_key=True)
    requested_at: Mapped[datetime]

"""The ledger of warnings, and those that are open (docs/market-store.md#the-ledger-of-warnings)."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, Integer, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import LEDGER, Base, Hash32

WARNING_FILTERS = ("exchange", "type", "severity")


class MarketWarning(Base):
    """A row of the ledger of warnings: one was issued, or is over, or is not over after all.

    `at`: the database's own clock when the row was written, which it refuses to have otherwise;
    of imported rows (`is_imported`, only before any other) when the simulator issued it.
    `clears_seq`: the row that is over; `reopens_seq`: the row that was, and within 24 hours is not.
    """

    __tablename__ = "warning_event"
    __table_args__ = (
        CheckConstraint("action in ('issued', 'cleared', 'reopened')", name="action"),
        CheckConstraint("(action = 'cleared') = (clears_seq is not null)", name="clears_seq"),
        CheckConstraint("(action = 'reopened') = (reopens_seq is not null)", name="reopens_seq"),
        Index("ix_warning_event_clears_seq", "clears_seq"),
        Index("ix_warning_event_asset_id_seq", "asset_id", "seq"),
        Index("ix_warning_event_at_seq", "at", "seq"),
        *(
            Index(
                f"ix_warning_event_{name}_seq",
                name,
                "seq",
                postgresql_where=text("action = 'issued'"),
            )
            for name in WARNING_FILTERS
        ),
        LEDGER,
    )

    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    action: Mapped[str] = mapped_column(Text)
    clears_seq: Mapped[int | None]
    reopens_seq: Mapped[int | None]
    exchange: Mapped[str] = mapped_column(Text)
    asset_id: Mapped[int] = mapped_column(ForeignKey("market_asset.id"))
    token: Mapped[str] = mapped_column(Text)
    listing_id: Mapped[int | None] = mapped_column(ForeignKey("listing_state.listing_id"))
    type: Mapped[str] = mapped_column(Text)
    severity: Mapped[str] = mapped_column(Text)
    is_predictive: Mapped[bool]
    at: Mapped[datetime]
    evidence: Mapped[dict[str, Any]]
    rule_version: Mapped[str] = mapped_column(Text)
    source_event: Mapped[str | None] = mapped_column(Text)
    is_imported: Mapped[bool]
    prev_hash: Mapped[bytes] = mapped_column(Hash32)
    row_hash: Mapped[bytes] = mapped_column(Hash32)


class MarketWarningHead(Base):
    """One row: where the ledger of warnings is."""

    __tablename__ = "warning_head"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    seq: Mapped[int]
    row_hash: Mapped[bytes] = mapped_column(Hash32)


class MarketWarningStanding(Base):
    """The warnings that are open now, one per exchange, asset and type; a projection."""

    __tablename__ = "warning_standing"
    __table_args__ = (
        UniqueConstraint("exchange", "asset_id", "type"),
        Index("ix_warning_standing_asset_id", "asset_id"),
        Index("ix_warning_standing_issued_at_seq", text("issued_at desc"), text("seq desc")),
        *(Index(f"ix_warning_standing_{name}_seq", name, "seq") for name in WARNING_FILTERS),
    )

    seq: Mapped[int] = mapped_column(
        ForeignKey("warning_event.seq"), primary_key=True, autoincrement=False
    )
    exchange: Mapped[str] = mapped_column(Text)
    asset_id: Mapped[int]
    token: Mapped[str] = mapped_column(Text)
    listing_id: Mapped[int | None]
    type: Mapped[str] = mapped_column(Text)
    severity: Mapped[str] = mapped_column(Text)
    issued_at: Mapped[datetime]
    evidence: Mapped[dict[str, Any]]

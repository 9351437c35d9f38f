"""Legs of mandates at the perpetuals venue; binding and unbinding are rows of the mandate's ledger
too, which keeps them.
"""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Index, Integer, Text, text
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Uint256, sql_list
from core.perps.rules.leg import Degraded, LegStatus

LIVE = f"status = '{LegStatus.BOUND}'"


class PerpsLeg(Base):
    """One binding. Unbound ones stay as they were."""

    __tablename__ = "perps_leg"
    __table_args__ = (
        CheckConstraint(f"status in {sql_list(LegStatus)}", name="status"),
        CheckConstraint(
            f"(status = '{LegStatus.BOUND}') = (unbound_at is null)", name="unbound_at"
        ),
        CheckConstraint(f"last_reason in {sql_list(Degraded)}", name="last_reason"),
        Index("uq_perps_leg_live_owner", "owner_address", unique=True, postgresql_where=text(LIVE)),
        Index("uq_perps_leg_live_mandate", "mandate_id", unique=True, postgresql_where=text(LIVE)),
        Index("ix_perps_leg_due", "next_read_at", postgresql_where=text(LIVE)),
        Index("ix_perps_leg_mandate_id_id", "mandate_id", "id"),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    mandate_id: Mapped[int] = mapped_column(ForeignKey("mandate.id"))
    status: Mapped[str] = mapped_column(Text)
    owner_address: Mapped[bytes] = mapped_column(BYTEA)
    agent_address: Mapped[bytes] = mapped_column(BYTEA)
    dex: Mapped[str] = mapped_column(Text)  # empty: the venue's own
    bound_at: Mapped[datetime]
    unbound_at: Mapped[datetime | None]
    last_worth_usdc_e6: Mapped[int | None] = mapped_column(Uint256)
    last_read_at: Mapped[datetime | None]
    last_reason: Mapped[str | None] = mapped_column(Text)
    degraded_ticks: Mapped[int] = mapped_column(Integer)
    source: Mapped[str | None] = mapped_column(Text)
    next_read_at: Mapped[datetime]

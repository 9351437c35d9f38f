"""Legs of mandates at the perpetuals venue, the orders that close them, and how far that is; what
happens to them is rows of the mandate's ledger too, which keeps them.
"""

from datetime import datetime

from sqlalchemy import (
    CheckConstraint,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Uint256, sql_list
from core.perps.rules.closing import ClosingStatus, LeftOpen
from core.perps.rules.leg import Degraded, LegStatus
from core.perps.rules.operator_orders import LIVE_TYPES, ClaimedOutcome, OrderState
from core.perps.rules.orders import OPEN, OrderOutcome, Side

LIVE = f"status = '{LegStatus.BOUND}'"
CLOSING = f"status = '{ClosingStatus.PENDING}'"
UNANSWERED = f"outcome in {sql_list(OPEN)}"


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


class PerpsOrder(Base):
    """An order, written before it is sent; the mandate's ledger keeps what it asked and what became
    of it.
    """

    __tablename__ = "perps_order"
    __table_args__ = (
        CheckConstraint(f"outcome in {sql_list(OrderOutcome)}", name="outcome"),
        CheckConstraint(f"side in {sql_list(Side)}", name="side"),
        UniqueConstraint("mandate_id", "seq"),
        UniqueConstraint("cloid"),
        Index("ix_perps_order_open", "leg_id", postgresql_where=text(UNANSWERED)),
        Index("ix_perps_order_mandate_id_placed_at", "mandate_id", "placed_at"),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    leg_id: Mapped[int] = mapped_column(ForeignKey("perps_leg.id"))
    mandate_id: Mapped[int] = mapped_column(ForeignKey("mandate.id"))
    seq: Mapped[int] = mapped_column(Integer)  # of the mandate's orders, from 1
    cloid: Mapped[bytes] = mapped_column(BYTEA)
    asset: Mapped[int] = mapped_column(Integer)  # the venue's number of the market
    coin: Mapped[str] = mapped_column(Text)
    side: Mapped[str] = mapped_column(Text)
    size_e8: Mapped[int] = mapped_column(Uint256)
    limit_px_e8: Mapped[int] = mapped_column(Uint256)
    reduce_only: Mapped[bool]
    placed_at: Mapped[datetime]
    expires_at: Mapped[datetime]  # the venue takes it no later
    outcome: Mapped[str] = mapped_column(Text)


class PerpsOperatorOrder(Base):
    """An order of the operator's own account, written before there is anything to sign. `by_id`: who
    prepared it; `reported`: what whoever signed it said became of it.
    """

    __tablename__ = "perps_operator_order"
    __table_args__ = (
        CheckConstraint(f"state in {sql_list(OrderState)}", name="state"),
        CheckConstraint(f"side in {sql_list(Side)}", name="side"),
        CheckConstraint(f"kind in {sql_list(LIVE_TYPES)}", name="kind"),
        CheckConstraint(f"reported in {sql_list(ClaimedOutcome)}", name="reported"),
        CheckConstraint("(reported is null) = (reported_at is null)", name="reported_at"),
        UniqueConstraint("cloid"),
        UniqueConstraint("account", "nonce_ms"),
        Index("ix_perps_operator_order_account_placed_at", "account", "placed_at"),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    by_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    account: Mapped[bytes] = mapped_column(BYTEA)
    cloid: Mapped[bytes] = mapped_column(BYTEA)
    nonce_ms: Mapped[int]
    asset: Mapped[int] = mapped_column(Integer)  # the venue's number of the market
    coin: Mapped[str] = mapped_column(Text)
    side: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(Text)
    size_e8: Mapped[int] = mapped_column(Uint256)
    limit_px_e8: Mapped[int] = mapped_column(Uint256)
    reduce_only: Mapped[bool]
    largest_usdc_e6: Mapped[int] = mapped_column(Uint256)
    placed_at: Mapped[datetime]
    expires_at: Mapped[datetime]  # the venue takes it no later
    state: Mapped[str] = mapped_column(Text)
    asked_at: Mapped[datetime | None]  # when the venue last answered for it
    avg_px_e8: Mapped[int | None] = mapped_column(Uint256)
    total_sz_e8: Mapped[int | None] = mapped_column(Uint256)
    oid: Mapped[int | None]
    venue_words: Mapped[str | None] = mapped_column(Text)  # of its refusal
    reported: Mapped[str | None] = mapped_column(Text)
    reported_at: Mapped[datetime | None]
    signal_seq: Mapped[int | None] = mapped_column(ForeignKey("fund_signal.seq"))


class PerpsClosing(Base):
    """How far the closing of a leg is whose mandate has ended."""

    __tablename__ = "perps_closing"
    __table_args__ = (
        CheckConstraint(f"status in {sql_list(ClosingStatus)}", name="status"),
        CheckConstraint(f"why in {sql_list(LeftOpen)}", name="why"),
        Index("ix_perps_closing_due", "next_try_at", postgresql_where=text(CLOSING)),
    )

    leg_id: Mapped[int] = mapped_column(
        ForeignKey("perps_leg.id"), primary_key=True, autoincrement=False
    )
    status: Mapped[str] = mapped_column(Text)
    is_transient: Mapped[bool]
    is_key_lost: Mapped[bool]
    why: Mapped[str | None] = mapped_column(Text)
    rows: Mapped[int] = mapped_column(Integer)  # stop-line rows of the ledger; 0: not tried yet
    tries: Mapped[int] = mapped_column(Integer)  # in a row that filled nothing
    next_try_at: Mapped[datetime]

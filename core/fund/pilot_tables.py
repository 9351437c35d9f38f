"""Indices with their days, applications for pilots, and what vaults are worth on paper."""

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
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import LOG, Base, Hash32, Uint256, sql_list
from core.fund.rules.applications import (
    ApplicationMoveKind,
    ApplicationState,
    BondCurrency,
    Cadence,
    FundType,
)


class FundIndex(Base):
    """An index that a file defines (core/fund/index_files)."""

    __tablename__ = "fund_index"
    __table_args__ = (UniqueConstraint("key"),)

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    key: Mapped[str] = mapped_column(Text)
    name: Mapped[str] = mapped_column(Text)
    delivery_chain: Mapped[str] = mapped_column(Text)
    registered_at: Mapped[datetime]


class FundApplication(Base):
    """`state`: where its newest FundApplicationMove brought it. The bond: `bond_usdc_e6` by the
    transaction `bond_tx` from `bond_from` to `bond_to`, or `bond_credits` of the ledger of credits.
    `vault_id`: the pilot, of an approved one.
    """

    __tablename__ = "fund_application"
    __table_args__ = (
        CheckConstraint(f"state in {sql_list(ApplicationState)}", name="state"),
        CheckConstraint(f"fund_type in {sql_list(FundType)}", name="fund_type"),
        CheckConstraint(f"cadence in {sql_list(Cadence)}", name="cadence"),
        CheckConstraint(f"bond_currency in {sql_list(BondCurrency)}", name="bond_currency"),
        CheckConstraint(
            "(bond_currency = 'usdc') = (bond_usdc_e6 is not null) and "
            "(bond_currency = 'credit') = (bond_credits is not null)",
            name="bond",
        ),
        CheckConstraint(
            "(bond_currency = 'usdc') = (bond_tx is not null) and "
            "(bond_tx is null) = (bond_from is null) and (bond_tx is null) = (bond_to is null)",
            name="bond_tx",
        ),
        CheckConstraint("(vault_id is not null) = (state = 'approved')", name="vault_id"),
        UniqueConstraint("bond_tx"),
        UniqueConstraint("vault_id"),
        Index(
            "uq_fund_application_submitted",
            "account_id",
            "index_id",
            unique=True,
            postgresql_where=text("state = 'submitted'"),
        ),
        Index("ix_fund_application_account_id_id", "account_id", "id"),
        Index("ix_fund_application_waiting", "id", postgresql_where=text("state = 'submitted'")),
        Index(
            "ix_fund_application_bond_held",
            "id",
            postgresql_where=text("bond_currency = 'credit' and not is_bond_returned"),
        ),
        Index(
            "ix_fund_application_bond_owed",
            "id",
            postgresql_where=text(
                "bond_currency = 'usdc' and not is_bond_returned and state <> 'submitted'"
            ),
        ),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    index_id: Mapped[int] = mapped_column(ForeignKey("fund_index.id"))
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    state: Mapped[str] = mapped_column(Text)
    categories: Mapped[list[str]] = mapped_column(ARRAY(Text))
    fund_type: Mapped[str] = mapped_column(Text)
    plan_text: Mapped[str] = mapped_column(Text)
    cadence: Mapped[str] = mapped_column(Text)
    leverage_e2: Mapped[int] = mapped_column(Integer)
    fee_bps: Mapped[int] = mapped_column(Integer)
    tvl_cap_usdc_e6: Mapped[int] = mapped_column(Uint256)
    bond_currency: Mapped[str] = mapped_column(Text)
    bond_usdc_e6: Mapped[int | None] = mapped_column(Uint256)
    bond_credits: Mapped[int | None]
    bond_tx: Mapped[bytes | None] = mapped_column(Hash32)
    bond_from: Mapped[bytes | None] = mapped_column(BYTEA)
    bond_to: Mapped[bytes | None] = mapped_column(BYTEA)
    is_bond_returned: Mapped[bool] = mapped_column(server_default=text("false"))
    vault_id: Mapped[int | None] = mapped_column(ForeignKey("fund_vault.id"))
    submitted_at: Mapped[datetime]
    decided_at: Mapped[datetime | None]


class FundApplicationMove(Base):
    """`by_id` null: the slow job, which gives bonds in credits back. `tx`: of a bond in USDC that was
    given back.
    """

    __tablename__ = "fund_application_move"
    __table_args__ = (
        CheckConstraint(f"kind in {sql_list(ApplicationMoveKind)}", name="kind"),
        CheckConstraint("(reason is not null) = (kind = 'rejected')", name="reason"),
        CheckConstraint("tx is null or kind = 'bond_returned'", name="tx"),
        CheckConstraint("by_id is not null or kind = 'bond_returned'", name="by_id"),
        UniqueConstraint("tx"),
        LOG,
    )

    application_id: Mapped[int] = mapped_column(ForeignKey("fund_application.id"), primary_key=True)
    kind: Mapped[str] = mapped_column(Text, primary_key=True)
    reason: Mapped[str | None] = mapped_column(Text)
    tx: Mapped[bytes | None] = mapped_column(Hash32)
    by_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    at: Mapped[datetime]


class FundPaper(Base):
    """The paper follower of a vault (core/fund/rules/paper.py)."""

    __tablename__ = "fund_paper"

    vault_id: Mapped[int] = mapped_column(
        ForeignKey("fund_vault.id"), primary_key=True, autoincrement=False
    )
    opened_at: Mapped[datetime]
    cash_usdc_e6: Mapped[int] = mapped_column(Uint256)
    peak_usdc_e6: Mapped[int] = mapped_column(Uint256)
    max_drawdown_bps_e2: Mapped[int]
    trades: Mapped[int]
    fees_usdc_e6: Mapped[int] = mapped_column(Uint256)
    impact_usdc_e6: Mapped[int] = mapped_column(Uint256)
    fund_fees_usdc_e6: Mapped[int] = mapped_column(Uint256)
    accrued_at: Mapped[datetime]


class FundPaperPosition(Base):
    """`quantity_e18`: coins in 1e-18; negative: short. What is not held has no row."""

    __tablename__ = "fund_paper_position"

    vault_id: Mapped[int] = mapped_column(
        ForeignKey("fund_paper.vault_id"), primary_key=True, autoincrement=False
    )
    market: Mapped[str] = mapped_column(Text, primary_key=True)
    quantity_e18: Mapped[int] = mapped_column(Uint256)


class FundPaperTrade(Base):
    """What the paper follower made of a signal, once. `reason`: why it did nothing."""

    __tablename__ = "fund_paper_trade"
    __table_args__ = (
        CheckConstraint("(reason is null) = (quantity_e18 is not null)", name="reason"),
        LOG,
    )

    signal_seq: Mapped[int] = mapped_column(
        ForeignKey("fund_signal.seq"), primary_key=True, autoincrement=False
    )
    vault_id: Mapped[int] = mapped_column(ForeignKey("fund_paper.vault_id"))
    reason: Mapped[str | None] = mapped_column(Text)
    side: Mapped[str | None] = mapped_column(Text)
    quantity_e18: Mapped[int | None] = mapped_column(Uint256)
    usdc_e6: Mapped[int | None] = mapped_column(Uint256)
    fee_usdc_e6: Mapped[int | None] = mapped_column(Uint256)
    impact_usdc_e6: Mapped[int | None] = mapped_column(Uint256)
    at: Mapped[datetime]


class FundPaperMark(Base):
    """What it was worth in an hour, net of everything, with all figures up to then."""

    __tablename__ = "fund_paper_mark"
    __table_args__ = (LOG,)

    vault_id: Mapped[int] = mapped_column(ForeignKey("fund_paper.vault_id"), primary_key=True)
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    at: Mapped[datetime]
    nav_usdc_e6: Mapped[int] = mapped_column(Uint256)
    drawdown_bps_e2: Mapped[int]
    max_drawdown_bps_e2: Mapped[int]
    trades: Mapped[int]
    fees_usdc_e6: Mapped[int] = mapped_column(Uint256)
    impact_usdc_e6: Mapped[int] = mapped_column(Uint256)
    fund_fees_usdc_e6: Mapped[int] = mapped_column(Uint256)

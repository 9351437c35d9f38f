"""Vaults that publish signals, who follows them, and what followers planned and did with them."""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import LEDGER, LOG, Base, Hash32, Uint256, sql_list
from core.fund.pilot_tables import FundApplication as FundApplication
from core.fund.pilot_tables import FundApplicationMove as FundApplicationMove
from core.fund.pilot_tables import FundIndex as FundIndex
from core.fund.pilot_tables import FundPaper as FundPaper
from core.fund.pilot_tables import FundPaperMark as FundPaperMark
from core.fund.pilot_tables import FundPaperPosition as FundPaperPosition
from core.fund.pilot_tables import FundPaperTrade as FundPaperTrade
from core.fund.rules.creation import WAITING, CreationState
from core.fund.rules.frozen import FundKind
from core.fund.rules.plan import Disposition, PlanReason
from core.fund.rules.signals import FillSide


class FundVault(Base):
    """`is_paused`: as its newest FundVaultEvent says; `rules_version`: its newest rules'. `maker_id`:
    whose fund it is; null: the service's own. `index_id`: what its universe was taken from.
    """

    __tablename__ = "fund_vault"
    __table_args__ = (
        CheckConstraint(f"kind in {sql_list(FundKind)}", name="kind"),
        Index("ix_fund_vault_maker_id", "maker_id"),
        Index("ix_fund_vault_index_id_id", "index_id", "id"),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    name: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(Text)
    is_paused: Mapped[bool] = mapped_column(server_default=text("false"))
    rules_version: Mapped[int] = mapped_column(Integer)
    maker_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    index_id: Mapped[int | None] = mapped_column(ForeignKey("fund_index.id"))
    is_simulated: Mapped[bool]
    created_at: Mapped[datetime]


class FundVaultEvent(Base):
    """A vault was paused, or resumed. `by_id` null, as of rules and signals: the simulator."""

    __tablename__ = "fund_vault_event"
    __table_args__ = (
        CheckConstraint("kind in ('paused', 'resumed')", name="kind"),
        Index("ix_fund_vault_event_vault_id_id", "vault_id", "id"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    vault_id: Mapped[int] = mapped_column(ForeignKey("fund_vault.id"))
    kind: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime]
    by_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))


class FundRules(Base):
    """A version of a vault's rules. `document` is what `rules_hash` is the hash of."""

    __tablename__ = "fund_rules"
    __table_args__ = (UniqueConstraint("rules_hash"), LOG)

    vault_id: Mapped[int] = mapped_column(ForeignKey("fund_vault.id"), primary_key=True)
    version: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    document: Mapped[dict[str, Any]]
    rules_hash: Mapped[bytes] = mapped_column(Hash32)
    frozen_at: Mapped[datetime]
    by_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))


class FundSignal(Base):
    """A row of the ledger of signals, one chain for all vaults. `mid`: of the market's book when it
    was published, as text; null: unknown.
    """

    __tablename__ = "fund_signal"
    __table_args__ = (
        ForeignKeyConstraint(
            ["vault_id", "rules_version"], ["fund_rules.vault_id", "fund_rules.version"]
        ),
        CheckConstraint("abs(weight_e4) <= 10000", name="weight_e4"),
        CheckConstraint("leverage_e2 between 1 and 2000", name="leverage_e2"),
        Index("ix_fund_signal_vault_id_market_seq", "vault_id", "market", "seq"),
        Index("ix_fund_signal_vault_id_at_seq", "vault_id", "at", "seq"),
        Index("ix_fund_signal_at", "at"),
        LEDGER,
    )

    seq: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    vault_id: Mapped[int] = mapped_column(ForeignKey("fund_vault.id"))
    rules_version: Mapped[int] = mapped_column(Integer)
    market: Mapped[str] = mapped_column(Text)
    weight_e4: Mapped[int] = mapped_column(Integer)
    leverage_e2: Mapped[int] = mapped_column(Integer)
    mid: Mapped[str | None] = mapped_column(Text)
    at: Mapped[datetime]
    by_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    prev_hash: Mapped[bytes] = mapped_column(Hash32)
    row_hash: Mapped[bytes] = mapped_column(Hash32)


class FundSignalHead(Base):
    """One row: where the ledger of signals is. `at`: of its newest row."""

    __tablename__ = "fund_signal_head"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    seq: Mapped[int]
    row_hash: Mapped[bytes] = mapped_column(Hash32)
    at: Mapped[datetime | None]


class FundMirror(Base):
    """A follower's consent to mirror a vault in an account of its own. It holds for one version of
    the rules; a follower has one current consent per vault.
    """

    __tablename__ = "fund_mirror"
    __table_args__ = (
        CheckConstraint("max_order_usdc_e6 > 0", name="max_order_usdc_e6"),
        CheckConstraint("max_leverage_e2 between 1 and 2000", name="max_leverage_e2"),
        CheckConstraint("revoked_at >= given_at", name="revoked_at"),
        Index(
            "uq_fund_mirror_standing",
            "account_id",
            "vault_id",
            unique=True,
            postgresql_where=text("revoked_at is null"),
        ),
        Index("ix_fund_mirror_vault_id", "vault_id", postgresql_where=text("revoked_at is null")),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    vault_id: Mapped[int] = mapped_column(ForeignKey("fund_vault.id"))
    address: Mapped[bytes] = mapped_column(BYTEA)
    max_order_usdc_e6: Mapped[int] = mapped_column(Uint256)
    max_leverage_e2: Mapped[int] = mapped_column(Integer)
    rules_hash: Mapped[bytes] = mapped_column(Hash32)
    given_at: Mapped[datetime]
    revoked_at: Mapped[datetime | None]


class FundSignalSale(Base):
    """A follower paid for a signal: once, whichever call it was and however it was paid."""

    __tablename__ = "fund_signal_sale"
    __table_args__ = (
        CheckConstraint("paid_by in ('credits', 'usdc')", name="paid_by"),
        LOG,
    )

    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"), primary_key=True)
    signal_seq: Mapped[int] = mapped_column(ForeignKey("fund_signal.seq"), primary_key=True)
    paid_by: Mapped[str] = mapped_column(Text)
    price_key: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime]


class FundPlan(Base):
    """A plan as it was answered. `mid`: of the book that it was made with, as text."""

    __tablename__ = "fund_plan"
    __table_args__ = (
        CheckConstraint(f"disposition in {sql_list(Disposition)}", name="disposition"),
        CheckConstraint(f"reason in {sql_list(PlanReason)}", name="reason"),
        CheckConstraint("(reason is null) = (notional_usdc_e6 is not null)", name="order"),
        Index("ix_fund_plan_account_id_signal_seq_id", "account_id", "signal_seq", "id"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    signal_seq: Mapped[int] = mapped_column(ForeignKey("fund_signal.seq"))
    mirror_id: Mapped[int] = mapped_column(ForeignKey("fund_mirror.id"))
    disposition: Mapped[str] = mapped_column(Text)
    reason: Mapped[str | None] = mapped_column(Text)
    is_charged: Mapped[bool]
    notional_usdc_e6: Mapped[int | None] = mapped_column(Uint256)
    mid: Mapped[str | None] = mapped_column(Text)
    at: Mapped[datetime]


class FundFill(Base):
    """What a follower says that it traded; nothing that is proven is made of it."""

    __tablename__ = "fund_fill"
    __table_args__ = (
        UniqueConstraint("signal_seq", "account_id", "identity"),
        CheckConstraint(f"side in {sql_list(FillSide)}", name="side"),
        Index("ix_fund_fill_account_id_vault_id_id", "account_id", "vault_id", "id"),
        Index("ix_fund_fill_vault_id", "vault_id"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    vault_id: Mapped[int] = mapped_column(ForeignKey("fund_vault.id"))
    signal_seq: Mapped[int] = mapped_column(ForeignKey("fund_signal.seq"))
    mirror_id: Mapped[int] = mapped_column(ForeignKey("fund_mirror.id"))
    identity: Mapped[bytes] = mapped_column(Hash32)
    side: Mapped[str] = mapped_column(Text)
    price: Mapped[str] = mapped_column(Text)
    quantity: Mapped[str] = mapped_column(Text)
    venue_order_id: Mapped[str | None] = mapped_column(Text)
    filled_at: Mapped[datetime]
    reported_at: Mapped[datetime]


class FundCreationRequest(Base):
    """A maker asks for the vault of its pilot. `state`: where its newest FundCreationMove brought
    it.
    """

    __tablename__ = "fund_creation_request"
    __table_args__ = (
        CheckConstraint(f"state in {sql_list(CreationState)}", name="state"),
        Index(
            "uq_fund_creation_request_standing",
            "vault_id",
            unique=True,
            postgresql_where=text("state <> 'rejected'"),
        ),
        Index("ix_fund_creation_request_vault_id_id", "vault_id", "id"),
        Index(
            "ix_fund_creation_request_waiting",
            "id",
            postgresql_where=text(f"state in {sql_list(WAITING)}"),
        ),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    vault_id: Mapped[int] = mapped_column(ForeignKey("fund_vault.id"))
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    state: Mapped[str] = mapped_column(Text)
    requested_at: Mapped[datetime]


class FundCreationMove(Base):
    """An operator brought a request to this state. `address`: where the vault is, as the operator
    says.
    """

    __tablename__ = "fund_creation_move"
    __table_args__ = (
        CheckConstraint("state in ('approved', 'created', 'rejected')", name="state"),
        CheckConstraint("(address is not null) = (state = 'created')", name="address"),
        CheckConstraint("(reason is not null) = (state = 'rejected')", name="reason"),
        UniqueConstraint("address"),
        LOG,
    )

    request_id: Mapped[int] = mapped_column(
        ForeignKey("fund_creation_request.id"), primary_key=True
    )
    state: Mapped[str] = mapped_column(Text, primary_key=True)
    address: Mapped[bytes | None] = mapped_column(BYTEA)
    reason: Mapped[str | None] = mapped_column(Text)
    by_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    at: Mapped[datetime]

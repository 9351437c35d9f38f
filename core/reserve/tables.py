"""What the reserve token's contract logged, and what became of conversions into credit.

An event's row carries the contract's numbers after it, so that the state at any block is the row of
the newest event up to it. Events can be rebuilt; conversions, references and claims cannot.
"""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Index, Integer, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import AddressColumn, Base, HexColumn, Uint256, sql_list
from core.reserve.rules import (
    ConversionStatus,
    ReserveEventKind,
    ReserveFact,
    ReserveLock,
    ReserveTotals,
)


class ReserveEvent(Base):
    """One log of the token, and the contract's numbers after it. Whether it counts is its block's
    (chain_block).
    """

    __tablename__ = "reserve_event"
    __table_args__ = (
        CheckConstraint(f"kind in {sql_list(ReserveEventKind)}", name="kind"),
        Index("ix_reserve_event_chain_id_number_log_index", "chain_id", "number", "log_index"),
        Index(
            "ix_reserve_event_buyer",
            "party",
            "number",
            "log_index",
            postgresql_where=text("kind = 'bought'"),
        ),
        Index(
            "ix_reserve_event_recipient",
            "recipient",
            "number",
            "log_index",
            postgresql_where=text("recipient is not null"),
        ),
        Index("ix_reserve_event_tx_hash", "tx_hash"),
    )

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    block_hash: Mapped[str] = mapped_column(HexColumn, primary_key=True)
    log_index: Mapped[int] = mapped_column(Integer, primary_key=True)
    number: Mapped[int]
    at: Mapped[int]  # unix seconds of the block
    tx_hash: Mapped[str] = mapped_column(HexColumn)
    kind: Mapped[str] = mapped_column(Text)
    party: Mapped[str | None] = mapped_column(AddressColumn)  # buyer, holder or treasury
    recipient: Mapped[str | None] = mapped_column(AddressColumn)  # of a purchase
    account_ref: Mapped[str | None] = mapped_column(HexColumn)  # of a conversion
    tokens: Mapped[int] = mapped_column(Uint256)
    usdc_e6: Mapped[int] = mapped_column(Uint256)
    reserve_after_e6: Mapped[int] = mapped_column(Uint256)
    supply_after: Mapped[int] = mapped_column(Uint256)
    owed_after_e6: Mapped[int] = mapped_column(Uint256)
    is_paused_after: Mapped[bool]
    treasury_after: Mapped[str | None] = mapped_column(AddressColumn)
    # rules.ReserveLock; zeros: nothing was ever locked
    lock_after_e6: Mapped[int] = mapped_column(Uint256, server_default=text("0"))
    lock_since_after: Mapped[int] = mapped_column(server_default=text("0"))
    lock_until_after_ns: Mapped[int] = mapped_column(server_default=text("0"))

    @property
    def fact(self) -> ReserveFact:
        return ReserveFact(
            ReserveEventKind(self.kind),
            self.party,
            self.recipient,
            self.account_ref,
            self.tokens,
            self.usdc_e6,
        )

    @property
    def totals(self) -> ReserveTotals:
        """The contract's numbers after it."""
        return ReserveTotals(
            self.reserve_after_e6,
            self.supply_after,
            self.owed_after_e6,
            self.is_paused_after,
            self.treasury_after,
            ReserveLock(self.lock_after_e6, self.lock_since_after, self.lock_until_after_ns),
        )

    @totals.setter
    def totals(self, after: ReserveTotals) -> None:
        self.reserve_after_e6, self.supply_after = after.reserve_e6, after.supply
        self.owed_after_e6, self.is_paused_after = after.owed_e6, after.is_paused
        self.treasury_after, lock = after.treasury, after.lock
        self.lock_after_e6, self.lock_since_after = lock.amount_e6, lock.since
        self.lock_until_after_ns = lock.until_ns


class ReserveConversion(Base):
    """A conversion on its way to credit. `occurrence`: how often its block became part of the
    chain. `credits`: what it brought, 0 where it is carried; null until it is credited.
    """

    __tablename__ = "reserve_conversion"
    __table_args__ = (
        CheckConstraint(f"status in {sql_list(ConversionStatus)}", name="status"),
        CheckConstraint(
            "(status <> 'credited') or (account_id is not null and credits is not null)",
            name="credited",
        ),
        Index(
            "ix_reserve_conversion_due",
            "holder",
            "number",
            "log_index",
            postgresql_where=text("status in ('waiting', 'set_aside')"),
        ),
        Index(
            "uq_reserve_conversion_credited",
            "chain_id",
            "tx_hash",
            "log_index",
            unique=True,
            postgresql_where=text("status = 'credited'"),
        ),
        Index("ix_reserve_conversion_chain_id_number", "chain_id", "number"),
        # a page of an account's own is read backwards in each of these
        Index("ix_reserve_conversion_account_ref", "account_ref", "number", "log_index"),
        Index("ix_reserve_conversion_holder", "holder", "number", "log_index"),
        Index(
            "ix_reserve_conversion_account_id",
            "account_id",
            "number",
            "log_index",
            postgresql_where=text("account_id is not null"),
        ),
    )

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    block_hash: Mapped[str] = mapped_column(HexColumn, primary_key=True)
    log_index: Mapped[int] = mapped_column(Integer, primary_key=True)
    number: Mapped[int]
    tx_hash: Mapped[str] = mapped_column(HexColumn)
    holder: Mapped[str] = mapped_column(AddressColumn)
    account_ref: Mapped[str] = mapped_column(HexColumn)
    tokens: Mapped[int] = mapped_column(Uint256)
    usdc_e6: Mapped[int] = mapped_column(Uint256)
    status: Mapped[str] = mapped_column(Text)
    occurrence: Mapped[int] = mapped_column(Integer)
    account_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    credits: Mapped[int | None]
    trouble: Mapped[str | None] = mapped_column(Text)  # why it is set aside
    tries: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    due_at: Mapped[datetime | None]  # of what is set aside: not before
    seen_at: Mapped[datetime]
    credited_at: Mapped[datetime | None]


class ReserveRef(Base):
    """The reference of an account, which the service issued."""

    __tablename__ = "reserve_ref"

    account_ref: Mapped[str] = mapped_column(HexColumn, primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"), unique=True)
    issued_at: Mapped[datetime]


class ReserveClaim(Base):
    """Whose account gets what `holder` converts for a reference that nobody registered."""

    __tablename__ = "reserve_claim"

    account_ref: Mapped[str] = mapped_column(HexColumn, primary_key=True)
    holder: Mapped[str] = mapped_column(AddressColumn, primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"), index=True)
    claimed_at: Mapped[datetime]


class ReserveConverted(Base):
    """All that was converted and credited to an account by one reference: its credits are the whole
    10,000s of it.
    """

    __tablename__ = "reserve_converted"
    __table_args__ = (CheckConstraint("usdc_e6 >= 0", name="usdc_e6"),)

    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"), primary_key=True)
    account_ref: Mapped[str] = mapped_column(HexColumn, primary_key=True)
    usdc_e6: Mapped[int] = mapped_column(Uint256)


class ReserveReading(Base):
    """What the contract itself said at one block, the last time that it was asked."""

    __tablename__ = "reserve_reading"

    chain_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int]
    block_hash: Mapped[str] = mapped_column(HexColumn)
    at: Mapped[int]  # unix seconds of the block
    reserve_e6: Mapped[int] = mapped_column(Uint256)
    supply: Mapped[int] = mapped_column(Uint256)
    owed_e6: Mapped[int] = mapped_column(Uint256)
    locked_e6: Mapped[int] = mapped_column(Uint256, server_default=text("0"))
    locked_until_ns: Mapped[int] = mapped_column(Uint256, server_default=text("0"))
    usdc_e6: Mapped[int] = mapped_column(Uint256)  # what the contract holds, donations included
    is_reconciled: Mapped[bool]
    read_at: Mapped[datetime]
    right_number: Mapped[int | None]  # the last block at which record and contract had the same

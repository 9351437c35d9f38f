"""The transfer ledger of agent wallets: four-state balances, each the sum of a signed column
(docs/transfers.md#the-four-states).

One row is one posting. Amounts are base units of the asset with six decimals. A constraint on
balances would block the unwind of a deposit that was spent in between: negative is allowed, and
shown.
"""

from datetime import datetime
from typing import Any, Literal

from sqlalchemy import (
    CheckConstraint,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    literal_column,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import LEDGER, Base, Hash32, Uint256, sql_list
from core.transfers.rules import State

# Money in of at least 1 USDC, whether the agent reported it or not: less says nothing of who funds a wallet, since
# anybody may send dust. A confirmed report may have no sender.
FUNDS = "payload ->> 'from' is not null and reverses_id is null and idle_delta_e6 >= 1000000"
SENDER = literal_column("lower(transfer_entry.payload ->> 'from')", Text)
# The order of the chain: a report of an early transfer may stand late in the ledger.
PLACE_ON_CHAIN = ("((payload ->> 'block_number')::bigint)", "((payload ->> 'log_index')::bigint)")


class TransferEntry(Base):
    """As with the mandates' rows, the account is vouched for by the head."""

    __tablename__ = "transfer_entry"
    __table_args__ = (
        UniqueConstraint("account_id", "seq"),
        UniqueConstraint("account_id", "base_key", "incarnation"),
        Index(
            "uq_transfer_entry_reverses_id",
            "reverses_id",
            unique=True,
            postgresql_where=text("reverses_id is not null"),
        ),
        Index("ix_transfer_entry_chain_id_tx_hash", "chain_id", "tx_hash"),
        Index(
            "ix_transfer_entry_funds",
            "account_id",
            *(text(one) for one in PLACE_ON_CHAIN),
            "seq",
            postgresql_where=text(FUNDS),
        ),
        Index(
            "ix_transfer_entry_funders",
            text("lower(payload ->> 'from')"),
            "account_id",
            postgresql_where=text(FUNDS),
        ),
        LEDGER,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    account_id: Mapped[int]
    seq: Mapped[int]
    # reported, confirmed, failed, restored, bid, release, delivery
    kind: Mapped[str] = mapped_column(Text)
    base_key: Mapped[str] = mapped_column(Text)
    incarnation: Mapped[int] = mapped_column(Integer)
    reverses_id: Mapped[int | None] = mapped_column(ForeignKey("transfer_entry.id"))
    chain_id: Mapped[int]
    asset: Mapped[str] = mapped_column(Text)
    idle_delta_e6: Mapped[int] = mapped_column(Uint256)
    reserved_delta_e6: Mapped[int] = mapped_column(Uint256)
    in_transit_delta_e6: Mapped[int] = mapped_column(Uint256)
    delivered_delta_e6: Mapped[int] = mapped_column(Uint256)
    tx_hash: Mapped[bytes | None] = mapped_column(Hash32)
    reported_by: Mapped[str] = mapped_column(Text)
    payload: Mapped[dict[str, Any]]
    created_at: Mapped[datetime]
    prev_hash: Mapped[bytes] = mapped_column(Hash32)
    row_hash: Mapped[bytes] = mapped_column(Hash32)


class TransferHead(Base):
    __tablename__ = "transfer_head"

    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"), primary_key=True)
    seq: Mapped[int]
    row_hash: Mapped[bytes] = mapped_column(Hash32)
    updated_at: Mapped[datetime]


class TransferBalance(Base):
    """Running totals of an account by chain and asset: the projection of its transfer ledger."""

    __tablename__ = "transfer_balance"

    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"), primary_key=True)
    chain_id: Mapped[int] = mapped_column(primary_key=True)
    asset: Mapped[str] = mapped_column(Text, primary_key=True)
    idle_e6: Mapped[int] = mapped_column(Uint256)
    reserved_e6: Mapped[int] = mapped_column(Uint256)
    in_transit_e6: Mapped[int] = mapped_column(Uint256)
    delivered_e6: Mapped[int] = mapped_column(Uint256)
    updated_at: Mapped[datetime]


class TransferReport(Base):
    """What an agent says it moved, and how far the chain has borne it out
    (core/transfers/rules.py).

    One report a transaction; only one that the chain contradicts gives its transaction free.
    `next_look_at` null: nobody looks any more, because it is confirmed (then a reorg finds it by
    its block) or closed.
    """

    __tablename__ = "transfer_report"
    __table_args__ = (
        CheckConstraint("direction in ('in', 'out')", name="direction"),
        CheckConstraint(f"state in {sql_list(State)}", name="state"),
        CheckConstraint("amount_e6 > 0", name="amount_e6"),
        CheckConstraint(f"(failure is not null) = (state = '{State.FAILED}')", name="failure"),
        Index(
            "uq_transfer_report_chain_id_tx_hash",
            "chain_id",
            "tx_hash",
            unique=True,
            postgresql_where=text("failure is distinct from 'contradicted'"),
        ),
        Index(
            "ix_transfer_report_next_look_at",
            "chain_id",
            "next_look_at",
            postgresql_where=text("next_look_at is not null"),
        ),
        Index(
            "ix_transfer_report_block_hash",
            "chain_id",
            "block_hash",
            postgresql_where=text("block_hash is not null"),
        ),
        Index("ix_transfer_report_account_id_id", "account_id", "id"),
        Index(
            "ix_transfer_report_watched",
            "account_id",
            "id",
            postgresql_where=text("next_look_at is not null"),
        ),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    chain_id: Mapped[int]
    asset: Mapped[str] = mapped_column(Text)
    direction: Mapped[str] = mapped_column(Text)
    amount_e6: Mapped[int] = mapped_column(Uint256)
    tx_hash: Mapped[bytes] = mapped_column(Hash32)
    reported_by: Mapped[Literal["agent", "chain"]] = mapped_column(Text)
    reported_at: Mapped[datetime]
    override_reason: Mapped[str | None] = mapped_column(Text)
    state: Mapped[str] = mapped_column(Text)
    # reverted, contradicted, not_seen, block_replaced
    failure: Mapped[str | None] = mapped_column(Text)
    block_hash: Mapped[bytes | None] = mapped_column(Hash32)  # where it was last seen
    block_number: Mapped[int | None]
    log_index: Mapped[int | None] = mapped_column(Integer)
    confirmed_at: Mapped[datetime | None]
    deadline_at: Mapped[datetime]  # inclusive: to be seen, or, failed, to come back
    next_look_at: Mapped[datetime | None]

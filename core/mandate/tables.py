"""Mandates and their ledger.

`mandate` is what owner and agent wrote; `mandate_event` is the ledger (append-only, a hash chain a
mandate, inserted by core.mandate.ledger alone); `mandate_head` is the fold of the ledger. Status,
vault_address, signed_at, ended_at and ends_in_block of `mandate` and all of `mandate_head` are
projections of the ledger, written in the ledger's own call.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, JSONB
from sqlalchemy.orm import Mapped, mapped_column, relationship

from core.db.base import LEDGER, Base, Hash32, Uint256, sql_list
from core.identity.tables import Account
from core.mandate.rules.lifecycle import MarketMode, Status

# Signed terms that may yet become a vault.
UNVAULTED = (
    f"status = '{Status.SIGNED}' and market_mode = '{MarketMode.TESTNET}' and vault_address is null"
)

# Signed or working, and without an agent: any may accept.
ON_BOARD = f"open_board and agent_id is null and status in ('{Status.SIGNED}', '{Status.WORKING}')"


class Mandate(Base):
    __tablename__ = "mandate"
    __table_args__ = (
        CheckConstraint(f"status in {sql_list(Status)}", name="status"),
        CheckConstraint(f"market_mode in {sql_list(MarketMode)}", name="market_mode"),
        Index("ix_mandate_owner_id_id", "owner_id", "id"),
        Index("ix_mandate_agent_id_id", "agent_id", "id"),
        Index(
            "ix_mandate_proposed_by_agent_id_id",
            "proposed_by_agent_id",
            "id",
            postgresql_where=text(f"status = '{Status.DRAFT}'"),
        ),
        Index("ix_mandate_vault_address", "vault_address"),
        Index(
            "ix_mandate_vaulted_agent_id_id",
            "agent_id",
            "id",
            postgresql_where=text("vault_address is not null"),
        ),
        Index(
            "ix_mandate_ends_in_block",
            "ends_in_block",
            postgresql_where=text("ends_in_block is not null"),
        ),
        Index("ix_mandate_unvaulted", "ends_at", postgresql_where=text(UNVAULTED)),
        Index("ix_mandate_on_board", "id", "ends_at", postgresql_where=text(ON_BOARD)),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    public_id: Mapped[str] = mapped_column(Text, unique=True)  # m_ + 10 lower-case base32
    owner_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    agent_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    proposed_by_agent_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    open_board: Mapped[bool]
    accepted_at: Mapped[datetime | None]
    status: Mapped[str] = mapped_column(Text)
    market_mode: Mapped[str] = mapped_column(Text)
    purpose: Mapped[str] = mapped_column(Text)
    budget_usdc_e6: Mapped[int] = mapped_column(Uint256)
    horizon_days: Mapped[int] = mapped_column(Integer)
    stop_floor_bps: Mapped[int] = mapped_column(Integer)
    target_bps: Mapped[int | None] = mapped_column(Integer)
    payout_rule: Mapped[dict[str, Any]]
    allowed_targets: Mapped[list[Any]] = mapped_column(JSONB)
    per_tx_cap_usdc_e6: Mapped[int | None] = mapped_column(Uint256)
    daily_cap_usdc_e6: Mapped[int | None] = mapped_column(Uint256)
    approval_above_usdc_e6: Mapped[int | None] = mapped_column(Uint256)
    on_floor: Mapped[str] = mapped_column(Text)  # keep, close
    chain_id: Mapped[int]
    strategy: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    # Frozen at each write of the draft, so that reading the terms writes nothing
    # (docs/rules.md#frozen-drafts).
    terms: Mapped[dict[str, Any]]  # MandateTerms, camelCase keys, integers as strings
    rules: Mapped[list[Any]] = mapped_column(JSONB)  # [{target, selector, recipient_word, kind}]
    guard_targets: Mapped[list[Any]] = mapped_column(JSONB)
    terms_digest: Mapped[bytes] = mapped_column(Hash32)
    terms_version: Mapped[int] = mapped_column(Integer)
    signature: Mapped[bytes | None] = mapped_column(BYTEA)
    vault_address: Mapped[bytes | None] = mapped_column(BYTEA)
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]
    signed_at: Mapped[datetime | None]
    ends_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]  # when it became stopped, settled or cancelled
    # the chain ended its unfunded terms there, and the status says so once that block is safe
    ends_in_block: Mapped[int | None]

    # For reads that ask for them (joinedload); nothing loads them by the way.
    head: Mapped["MandateHead | None"] = relationship(viewonly=True, lazy="raise", uselist=False)
    agent: Mapped["Account | None"] = relationship(
        viewonly=True, lazy="raise", foreign_keys=[agent_id]
    )


class ReplacedTerms(Base):
    """Terms that a draft had before it was written again.

    Whoever has read them may have signed them: a vault of them is watched.
    """

    __tablename__ = "replaced_terms"

    digest: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    mandate_id: Mapped[int] = mapped_column(ForeignKey("mandate.id"))
    budget_usdc_e6: Mapped[int] = mapped_column(Uint256)
    stop_floor_bps: Mapped[int] = mapped_column(Integer)
    ends_at: Mapped[datetime]
    replaced_at: Mapped[datetime]


# What decides whether a mandate is paused, and what the owner's asking line is compared with: few
# rows of a ledger each.
CONTROL_ROWS = (
    "kind in ('stop', 'payout') or jsonb_exists(payload, 'agent_set') or jsonb_exists(payload, "
    "'agent_removed')"
)
REPORTED_ACTIONS = "reported_by = 'agent' and kind in ('move', 'buy')"
# What strips of records show: refusals that the chain or the service itself has seen.
CONFIRMED_REFUSALS = "kind = 'note' and payload #>> '{refusal,server_check}' = 'confirmed'"


class MandateEvent(Base):
    """A row of the ledger.

    `row_hash` = SHA-256 over the previous row's hash and this row's canonical JSON (RFC 8785).

    No foreign key to the mandate: a ledger grows under the lock of its head, which has one, and a
    check a row is what a COPY of many rows would mostly do.
    """

    __tablename__ = "mandate_event"
    __table_args__ = (
        UniqueConstraint("mandate_id", "seq"),
        UniqueConstraint("mandate_id", "base_key", "incarnation"),
        Index(
            "uq_mandate_event_reverses_id",
            "reverses_id",
            unique=True,
            postgresql_where=text("reverses_id is not null"),
        ),
        Index("ix_mandate_event_mandate_id_occurred_at", "mandate_id", "occurred_at"),
        Index("ix_mandate_event_mandate_id_tx_hash", "mandate_id", "tx_hash"),
        Index(
            "ix_mandate_event_block_hash",
            "block_hash",
            postgresql_where=text("block_hash is not null"),
        ),
        Index("ix_mandate_event_control", "mandate_id", "seq", postgresql_where=text(CONTROL_ROWS)),
        Index(
            "ix_mandate_event_asked", "mandate_id", "seq", postgresql_where=text(REPORTED_ACTIONS)
        ),
        Index(
            "ix_mandate_event_refused",
            "mandate_id",
            "occurred_at",
            postgresql_where=text(CONFIRMED_REFUSALS),
        ),
        Index(
            "ix_mandate_event_author",
            "mandate_id",
            "reported_by",
            "seq",
            postgresql_where=text("author is not null"),
        ),
        LEDGER,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    mandate_id: Mapped[int]
    seq: Mapped[int]
    kind: Mapped[str] = mapped_column(Text)
    reported_by: Mapped[str] = mapped_column(Text)
    base_key: Mapped[str] = mapped_column(Text)
    incarnation: Mapped[int] = mapped_column(Integer)
    reverses_id: Mapped[int | None] = mapped_column(ForeignKey("mandate_event.id"))
    amount_usdc_e6: Mapped[int | None] = mapped_column(Uint256)
    cash_delta_usdc_e6: Mapped[int] = mapped_column(Uint256)
    chain_id: Mapped[int | None]
    tx_hash: Mapped[bytes | None] = mapped_column(Hash32)
    log_index: Mapped[int | None] = mapped_column(Integer)
    block_number: Mapped[int | None]
    block_hash: Mapped[bytes | None] = mapped_column(Hash32)
    payload: Mapped[dict[str, Any]]
    # {signer, sequence, prev, signature}; null: nobody signed the row
    author: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    occurred_at: Mapped[datetime]
    created_at: Mapped[datetime]
    prev_hash: Mapped[bytes] = mapped_column(Hash32)
    row_hash: Mapped[bytes] = mapped_column(Hash32)


class MandateHead(Base):
    """The last row and the fold of a mandate's ledger (core.mandate.rules.state.MandateState), so
    that reads need not fold the past. `state` holds the fold whole; the columns are those that
    queries need.
    """

    __tablename__ = "mandate_head"

    mandate_id: Mapped[int] = mapped_column(ForeignKey("mandate.id"), primary_key=True)
    seq: Mapped[int]
    row_hash: Mapped[bytes] = mapped_column(Hash32)
    status: Mapped[str] = mapped_column(Text)
    paused: Mapped[bool]
    cash_usdc_e6: Mapped[int] = mapped_column(Uint256)
    deposited_usdc_e6: Mapped[int] = mapped_column(Uint256)
    spent_usdc_e6: Mapped[int] = mapped_column(Uint256)
    received_usdc_e6: Mapped[int] = mapped_column(Uint256)
    withdrawn_usdc_e6: Mapped[int] = mapped_column(Uint256)
    paid_out_usdc_e6: Mapped[int] = mapped_column(Uint256)
    state: Mapped[dict[str, Any]]
    updated_at: Mapped[datetime]


class MandateWeek(Base):
    """The fold of a ledger's rows that happened before a week; one for each week in which a row of
    the ledger happened.
    """

    __tablename__ = "mandate_week"

    mandate_id: Mapped[int] = mapped_column(ForeignKey("mandate.id"), primary_key=True)
    starts_at: Mapped[datetime] = mapped_column(primary_key=True)  # Monday 00:00:00 UTC
    state: Mapped[dict[str, Any]]


class MandateUndo(Base):
    """The fold of a ledger before its row `seq`, the first that a call wrote of one block: what a
    rollback of that block goes back to.

    Kept until the block is final, and only while the rows before `seq` stand as they did.
    """

    __tablename__ = "mandate_undo"
    __table_args__ = (Index("ix_mandate_undo_block_number", "block_number"),)

    mandate_id: Mapped[int] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(primary_key=True)
    block_number: Mapped[int]
    state: Mapped[dict[str, Any]]


class OwedNote(Base):
    """Notes of a block's factory events that not every ledger has yet: the first `noted` of
    `mandate_ids` have them. Gone when all do.
    """

    __tablename__ = "owed_note"
    __table_args__ = (Index("ix_owed_note_chain_id_block_number", "chain_id", "block_number"),)

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    block_hash: Mapped[bytes] = mapped_column(Hash32, primary_key=True)
    block_number: Mapped[int]
    notes: Mapped[list[Any]] = mapped_column(JSONB)  # [{row, is_alert}]
    # rising; those that were noted when the block was taken
    mandate_ids: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    noted: Mapped[int] = mapped_column(Integer)
    owed_at: Mapped[datetime]

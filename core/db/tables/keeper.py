"""What the keeper means to do and what it sent: a restart finds both here and goes on."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Index, Integer, Text, UniqueConstraint, text
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from core.db.tables.base import Base, Hash32, Uint256

LIVE_STATES = "state not in ('done', 'reverted', 'superseded', 'nonce_lost')"


class KeeperIntent(Base):
    """One thing to be sent. One live intent a vault and kind (unique index)."""

    __tablename__ = "keeper_intent"
    __table_args__ = (
        CheckConstraint(
            "state in ('planned', 'signed', 'broadcast', 'mined', 'safe', 'done', 'reverted', 'superseded', 'nonce_lost')",
            name="state",
        ),
        Index("uq_keeper_intent_live", "vault", "kind", unique=True, postgresql_where=text(LIVE_STATES)),
        Index("ix_keeper_intent_state", "state"),
        Index("ix_keeper_intent_stop", "trigger_block_number", postgresql_where=text("kind = 'stop'")),  # few among many marks
        Index("ix_keeper_intent_vault_kind_id", "vault", "kind", "id"),  # the last mark of a vault, each tick
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    chain_id: Mapped[int]
    vault: Mapped[bytes] = mapped_column(BYTEA)
    kind: Mapped[str] = mapped_column(Text)  # mark, stop, settle ...
    state: Mapped[str] = mapped_column(Text)
    to: Mapped[bytes] = mapped_column(BYTEA)
    data: Mapped[bytes] = mapped_column(BYTEA)
    trigger_block_number: Mapped[int]
    trigger_block_hash: Mapped[bytes] = mapped_column(Hash32)
    reason: Mapped[dict[str, Any]]  # worth, floor and source that led to it
    epoch: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class KeeperTx(Base):
    """One signed attempt. `raw` is committed before it is sent: after a crash the same bytes are sent again."""

    __tablename__ = "keeper_tx"
    __table_args__ = (UniqueConstraint("signer", "nonce", "attempt"), Index("ix_keeper_tx_intent_id", "intent_id"))

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    intent_id: Mapped[int] = mapped_column(ForeignKey("keeper_intent.id"))
    signer: Mapped[bytes] = mapped_column(BYTEA)
    nonce: Mapped[int]
    attempt: Mapped[int] = mapped_column(Integer)
    raw: Mapped[bytes] = mapped_column(BYTEA)
    hash: Mapped[bytes] = mapped_column(Hash32, unique=True)
    max_fee_wei: Mapped[int] = mapped_column(Uint256)
    state: Mapped[str] = mapped_column(Text)  # signed, broadcast, mined, replaced, lost
    first_sent_at: Mapped[datetime | None]
    mined_block_hash: Mapped[bytes | None] = mapped_column(Hash32)
    created_at: Mapped[datetime]


class VaultMark(Base):
    """The keeper's judgement of a vault at one block, sent or not (decisions 49); newest row a vault and block."""

    __tablename__ = "vault_mark"
    __table_args__ = (Index("ix_vault_mark_vault_block_number", "vault", "block_number"),)

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    chain_id: Mapped[int]
    vault: Mapped[bytes] = mapped_column(BYTEA)
    block_number: Mapped[int]
    block_hash: Mapped[bytes] = mapped_column(Hash32)
    worth_usdc_e6: Mapped[int | None] = mapped_column(Uint256)  # null: unknown at that block
    floor_usdc_e6: Mapped[int] = mapped_column(Uint256)
    source: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime]

"""What the keeper means to do and what it sent: a restart finds both here and goes on."""

from datetime import date, datetime
from typing import Any

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

from core.db.base import Base, Hash32, Uint256, sql_list
from core.keeper.rules import STOPS, TERMINAL, IntentState, Purse
from core.mandate.rules.lifecycle import CLOSED

LIVE_STATES = f"state not in {sql_list(TERMINAL)}"


class Outbox(Base):
    """A transaction that the API asks the keeper to send.

    Never changed: what became of it is in its intents.
    """

    __tablename__ = "outbox"

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    # the asker's: the same key is the same request
    key: Mapped[str] = mapped_column(Text, unique=True)
    chain_id: Mapped[int]
    kind: Mapped[str] = mapped_column(Text)  # custodial_transfer, sponsored_buy
    role: Mapped[str] = mapped_column(Text)  # whose key signs
    to: Mapped[bytes] = mapped_column(BYTEA)
    # null: the keeper builds it, by kind (keeper/outbox_kinds.py); others are of earlier versions
    data: Mapped[bytes | None] = mapped_column(BYTEA)
    reason: Mapped[dict[str, Any]]  # what it is for, without secrets
    created_at: Mapped[datetime]


class OutboxQueue(Base):
    """A request that nothing has ended yet; the row goes with its end.

    Whose it is, when it is looked at, and what gas is kept for it.
    """

    __tablename__ = "outbox_queue"
    __table_args__ = (
        CheckConstraint(f"purse in {sql_list(Purse)}", name="purse"),
        Index(
            "ix_outbox_queue_due",
            "purse",
            "due_at",
            "outbox_id",
            postgresql_where=text("not is_taken"),
        ),
        Index("ix_outbox_queue_taken", "purse", "outbox_id", postgresql_where=text("is_taken")),
    )

    outbox_id: Mapped[int] = mapped_column(
        ForeignKey("outbox.id"), primary_key=True, autoincrement=False
    )
    chain_id: Mapped[int]
    account_id: Mapped[int | None]  # null: no account's
    owner_id: Mapped[int | None]  # of the account, when it asked
    due_at: Mapped[datetime]  # not looked at before
    tries: Mapped[int]  # how often it could not be sent
    refused_at: Mapped[datetime | None]  # since when the chain refuses it
    is_taken: Mapped[bool]  # an intent of it is live
    gas_day: Mapped[date | None]  # whose gas is kept for it
    reserved_wei: Mapped[int] = mapped_column(Uint256)
    purse: Mapped[str] = mapped_column(Text, server_default=Purse.CUSTODY)  # whose ETH pays
    # in what its gas counts, where that is not account, owner and all
    gas_scopes: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    # never more for it, whatever gas costs; null: what the day's budget has
    most_wei: Mapped[int | None] = mapped_column(Uint256)


class OutboxCount(Base):
    """How many requests of an owner, of an account without one, or of all (`total`) are in the
    queue.
    """

    __tablename__ = "outbox_count"

    scope: Mapped[str] = mapped_column(Text, primary_key=True)
    waiting: Mapped[int]


class GasDay(Base):
    """What requests of a UTC day cost the service in gas, and may still cost: of an account, an
    owner, or all (`total`).
    """

    __tablename__ = "gas_day"

    day: Mapped[date] = mapped_column(primary_key=True)
    scope: Mapped[str] = mapped_column(Text, primary_key=True)
    spent_wei: Mapped[int] = mapped_column(Uint256)
    reserved_wei: Mapped[int] = mapped_column(Uint256)


class KeeperIntent(Base):
    """One thing to be sent. One live intent a subject and kind (unique index)."""

    __tablename__ = "keeper_intent"
    __table_args__ = (
        CheckConstraint(f"state in {sql_list(IntentState)}", name="state"),
        Index(
            "uq_keeper_intent_live",
            "subject",
            "kind",
            unique=True,
            postgresql_where=text(LIVE_STATES),
        ),
        Index("ix_keeper_intent_state", "state"),
        # few among many marks
        Index("ix_keeper_intent_stop", "decided_block", postgresql_where=text(STOPS)),
        # the last mark of a vault, each tick
        Index("ix_keeper_intent_vault_kind_id", "vault", "kind", "id"),
        Index(
            "ix_keeper_intent_outbox_id",
            "outbox_id",
            postgresql_where=text("outbox_id is not null"),
        ),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    chain_id: Mapped[int]
    # what it is about: a contract's address, lower case, or outbox:<id>
    subject: Mapped[str] = mapped_column(Text)
    vault: Mapped[bytes | None] = mapped_column(BYTEA)  # when it is about a vault
    outbox_id: Mapped[int | None] = mapped_column(ForeignKey("outbox.id"))
    # stop, settle, accept_keeper, mark, and the outbox's
    kind: Mapped[str] = mapped_column(Text)
    role: Mapped[str] = mapped_column(Text)  # whose key signs: keeper, stop, relay ...
    state: Mapped[str] = mapped_column(Text)  # IntentState
    to: Mapped[bytes] = mapped_column(BYTEA)
    data: Mapped[bytes] = mapped_column(BYTEA)
    # where it was first seen to be due; the trigger moves with each signature
    decided_block: Mapped[int]
    trigger_block_number: Mapped[int]
    trigger_block_hash: Mapped[bytes] = mapped_column(Hash32)
    reason: Mapped[dict[str, Any]]  # worth, floor and source that led to it
    epoch: Mapped[int]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class KeeperTx(Base):
    """One signed attempt.

    `raw` is committed before it is sent: after a crash the same bytes are sent again.
    """

    __tablename__ = "keeper_tx"
    __table_args__ = (
        UniqueConstraint("signer", "nonce", "attempt"),
        Index("ix_keeper_tx_intent_id", "intent_id"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    intent_id: Mapped[int] = mapped_column(ForeignKey("keeper_intent.id"))
    signer: Mapped[bytes] = mapped_column(BYTEA)
    nonce: Mapped[int]
    attempt: Mapped[int] = mapped_column(Integer)  # of this nonce, from 1
    raw: Mapped[bytes] = mapped_column(BYTEA)
    hash: Mapped[bytes] = mapped_column(Hash32)
    # a transfer of nothing to oneself: it frees the nonce of what nobody needs any more
    is_filler: Mapped[bool]
    max_fee_wei: Mapped[int] = mapped_column(Uint256)
    max_priority_fee_wei: Mapped[int] = mapped_column(Uint256)
    # the head when it was signed, or when its block was orphaned; patience counts from there
    offered_block: Mapped[int]
    state: Mapped[str] = mapped_column(Text)  # TxState
    first_sent_at: Mapped[datetime | None]
    mined_block_hash: Mapped[bytes | None] = mapped_column(Hash32)
    mined_block: Mapped[int | None]
    # by the receipt: gas, and the fee of layer 1; null: not mined, or not reported
    cost_wei: Mapped[int | None] = mapped_column(Uint256)
    created_at: Mapped[datetime]


class VaultMark(Base):
    """The keeper's judgement of a vault at one block, sent or not
    (docs/rules.md#when-marks-are-sent).

    The newest is the one written last, since a height is a node's word.
    """

    __tablename__ = "vault_mark"
    __table_args__ = (
        Index("ix_vault_mark_vault_block_number", "vault", "block_number"),
        Index("ix_vault_mark_vault_id", "vault", "id"),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    chain_id: Mapped[int]
    vault: Mapped[bytes] = mapped_column(BYTEA)
    block_number: Mapped[int]
    block_hash: Mapped[bytes | None] = mapped_column(Hash32)  # null: the node did not name it
    worth_usdc_e6: Mapped[int | None] = mapped_column(Uint256)  # null: unknown at that block
    floor_usdc_e6: Mapped[int] = mapped_column(Uint256)
    source: Mapped[str] = mapped_column(Text)
    at: Mapped[datetime]


class KeeperEnded(Base):
    """A vault that the chain called stopped or settled at a safe block: the keeper looks at it now
    and then, to see that it did end, and settles a stopped one in the grace after its end.
    """

    __tablename__ = "keeper_ended"
    __table_args__ = (CheckConstraint(f"status in {sql_list(CLOSED)}", name="status"),)

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    vault: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    status: Mapped[str] = mapped_column(Text)
    block_number: Mapped[int]
    at: Mapped[datetime]

"""Alerts to owners, besides the record of one mandate."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Index, Integer, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Hash32

STANDING = "withdrawn_at is null"
STANDING_OF_LOG = "withdrawn_at is null and kind <> 'record_held'"
STANDING_MONEY_AT_COST = "withdrawn_at is null and kind = 'money_at_cost'"
OF_AGENT = "'agent_wallet_linked', 'agent_recovered'"
STANDING_OF_AGENT = f"withdrawn_at is null and kind in ({OF_AGENT})"
PAYLOAD_MANDATE_ID = "(payload ->> 'mandate_id')"
PAYLOAD_AGENT_ID = "(payload ->> 'agent_id')"


class OwnerAlert(Base):
    """One alert of one owner.

    Never deleted: a reorg that takes its log back sets `withdrawn_at`, and a log that comes back is
    a new row. Of one log an owner has one standing alert, however many mandates it concerns; but
    each record that is held back has its own. An alert about an agent comes from no log; there is
    one per agent and kind.
    """

    __tablename__ = "owner_alert"
    __table_args__ = (
        CheckConstraint(
            f"kind in ('keeper_change', 'money_at_cost', 'record_held', 'hl_key_lost', {OF_AGENT})",
            name="kind",
        ),
        CheckConstraint(
            f"kind in ('record_held', 'hl_key_lost', {OF_AGENT}) or log_index is not null",
            name="has_log",
        ),
        CheckConstraint(
            f"kind in ('hl_key_lost', {OF_AGENT}) or num_nulls(chain_id, tx_hash, "
            "block_number, block_hash) = 0",
            name="has_block",
        ),
        Index(
            "uq_owner_alert_standing",
            "owner_id",
            "chain_id",
            "tx_hash",
            "log_index",
            unique=True,
            postgresql_where=text(STANDING_OF_LOG),
        ),
        Index("ix_owner_alert_owner_id_id", "owner_id", "id"),
        Index("ix_owner_alert_block_hash", "block_hash", postgresql_where=text(STANDING)),
        Index(
            "uq_owner_alert_of_agent",
            text(PAYLOAD_AGENT_ID),
            "kind",
            unique=True,
            postgresql_where=text(STANDING_OF_AGENT),
        ),
        Index(
            "ix_owner_alert_money_at_cost",
            text(PAYLOAD_MANDATE_ID),
            "occurred_at",
            postgresql_where=text(STANDING_MONEY_AT_COST),
        ),
    )

    id: Mapped[int] = mapped_column(Identity(), primary_key=True)
    owner_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    kind: Mapped[str] = mapped_column(Text)
    chain_id: Mapped[int | None]  # of the log that the alert comes from, as the four below
    tx_hash: Mapped[bytes | None] = mapped_column(Hash32)
    log_index: Mapped[int | None] = mapped_column(Integer)
    block_number: Mapped[int | None]
    block_hash: Mapped[bytes | None] = mapped_column(Hash32)
    payload: Mapped[dict[str, Any]]
    occurred_at: Mapped[datetime]  # the block's time, or the call's
    created_at: Mapped[datetime]
    withdrawn_at: Mapped[datetime | None]

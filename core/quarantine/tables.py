"""What the chain said and a ledger does not say yet, because it was refused: the opposite of
lost.
"""

from datetime import datetime

from sqlalchemy import CheckConstraint, Identity, Index, Integer, Text, text
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Hash32

HELD = "released_at is null and withdrawn_at is null"


class QuarantinedFact(Base):
    """A fact of the chain that is held back from one ledger, or that waits behind one.

    Never deleted.

    `ledger` and `ledger_id`: mandate or account, and whose. Within a ledger facts are held in the
    order of `id`. `fact` is what it can be tried again from: ASCII JSON of the raw log (or of the
    row, for a reverted call), as bytes, since text could be refused too.
    """

    __tablename__ = "quarantined_fact"
    __table_args__ = (
        CheckConstraint("ledger in ('mandate', 'account')", name="ledger"),
        CheckConstraint(
            "reason in ('database', 'domain', 'undecodable', 'behind', 'incomplete')",
            name="reason",
        ),
        CheckConstraint("released_at is null or withdrawn_at is null", name="one_end"),
        Index(
            "uq_quarantined_fact_held",
            "ledger",
            "ledger_id",
            "base_key",
            unique=True,
            postgresql_where=text(HELD),
        ),
        Index(
            "ix_quarantined_fact_queue", "ledger", "ledger_id", "id", postgresql_where=text(HELD)
        ),
        Index("ix_quarantined_fact_block_hash", "block_hash", postgresql_where=text(HELD)),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    ledger: Mapped[str] = mapped_column(Text)
    ledger_id: Mapped[int]
    base_key: Mapped[str] = mapped_column(Text)  # the fact's name within the ledger
    chain_id: Mapped[int]
    block_number: Mapped[int]
    block_hash: Mapped[bytes] = mapped_column(Hash32)
    tx_hash: Mapped[bytes] = mapped_column(Hash32)
    # null, as the two below: a reverted call, which has no log
    log_index: Mapped[int | None] = mapped_column(Integer)
    address: Mapped[bytes | None] = mapped_column(BYTEA)
    topic: Mapped[bytes | None] = mapped_column(BYTEA)
    # behind: another fact of the ledger is held before it; incomplete: the vault's own hash of its
    # logs is not what ours make
    reason: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text)  # one sentence of ours, nothing of the chain's text
    fact: Mapped[bytes] = mapped_column(BYTEA)
    created_at: Mapped[datetime]
    tries: Mapped[int] = mapped_column(Integer)  # to take it, the first included; 0: it only waits
    released_at: Mapped[datetime | None]  # the ledger says it now
    withdrawn_at: Mapped[datetime | None]  # its block was orphaned

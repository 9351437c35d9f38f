"""What the auditor found wrong with the record, what was done about it, and how far it has come."""

from datetime import datetime
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Integer, Text, UniqueConstraint
from sqlalchemy.dialects.postgresql import BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import LOG, Base


class AuditFinding(Base):
    """Something in the record that the chain, or the ledger itself, contradicts. Append-only.

    `dedupe_key` names the fault: it is written once, and again (next incarnation) only if it comes
    back after a rebuild.
    """

    __tablename__ = "audit_finding"
    __table_args__ = (
        UniqueConstraint("dedupe_key", "incarnation"),
        CheckConstraint(
            "kind in ('block', 'log', 'revert', 'vault', 'cash', 'totals', 'book', 'reserve', 'key')",
            name="kind",
        ),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    chain_id: Mapped[int]
    dedupe_key: Mapped[str] = mapped_column(Text)
    incarnation: Mapped[int] = mapped_column(Integer)
    kind: Mapped[str] = mapped_column(Text)
    what: Mapped[str] = mapped_column(Text)  # a sentence
    # {block_number, block_hash, log_index, tx_hash, mandate}: what applies
    place: Mapped[dict[str, Any]]
    seen_at: Mapped[datetime]


class AuditResolution(Base):
    """How a finding was closed: by a person who looked at it, by a rebuild, or by the rows that it
    missed.

    Append-only; one a finding.
    """

    __tablename__ = "audit_resolution"
    __table_args__ = (
        CheckConstraint("how in ('acknowledged', 'rebuilt', 'explained')", name="how"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    finding_id: Mapped[int] = mapped_column(ForeignKey("audit_finding.id"), unique=True)
    how: Mapped[str] = mapped_column(Text)
    note: Mapped[str | None] = mapped_column(Text)
    at: Mapped[datetime]


class AuditState(Base):
    """The auditor's own position, for people: what it has looked at since the database began."""

    __tablename__ = "audit_state"

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    round_at: Mapped[datetime]  # when a round last ended well
    # true: only one node is known, so the record is compared with where it came from
    is_same_provider: Mapped[bool]
    blocks_total: Mapped[int]
    books_total: Mapped[int]


class AuditBook(Base):
    """When a mandate's ledger was last verified, so that every ledger has its turn."""

    __tablename__ = "audit_book"

    mandate_id: Mapped[int] = mapped_column(ForeignKey("mandate.id"), primary_key=True)
    verified_at: Mapped[datetime]


class AuditKey(Base):
    """Up to which of its transactions an account of ours was looked at (indexer.chain.own_keys)."""

    __tablename__ = "audit_key"

    chain_id: Mapped[int] = mapped_column(primary_key=True)
    address: Mapped[bytes] = mapped_column(BYTEA, primary_key=True)
    role: Mapped[str] = mapped_column(Text)
    nonce: Mapped[int]  # the first that was not looked at
    block_number: Mapped[int]  # the newest block at that look
    since_id: Mapped[int]  # of a settler: the newest settlement that was counted; else 0

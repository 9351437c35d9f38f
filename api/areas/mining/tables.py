"""What agents submitted, what reviewers decided, and what listings are known to be.

Submissions and reviews are only ever added. An entry's status is the latest of its reviews; facts
follow from approved entries.
"""

from datetime import datetime

from sqlalchemy import ARRAY, CheckConstraint, ForeignKey, Identity, Index, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from api.areas.mining.rules.review import EndReason, EntryStatus, ReviewMethod, ReviewVerdict
from core.db.base import LOG, Base, sql_list

PENDING = text("status = 'pending'")
WRONG = text("reason_code = 'value_wrong'")


class MiningSubmission(Base):
    """`person` and `pool`: what the day's bounds count it for."""

    __tablename__ = "mining_submission"
    __table_args__ = (
        Index("ix_mining_submission_agent_id_id", "agent_id", "id"),
        Index("ix_mining_submission_person_submitted_at", "person", "submitted_at"),
        Index("ix_mining_submission_pool_submitted_at", "pool", "submitted_at"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    listing_id: Mapped[int] = mapped_column(ForeignKey("listing.id"))
    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    person: Mapped[str] = mapped_column(Text)
    pool: Mapped[str] = mapped_column(Text)
    room_id: Mapped[int]
    submitted_at: Mapped[datetime]


class MiningEntry(Base):
    """One value. `value` is canonical; `chain`: that an address was read on. `reason_code`: why it
    is rejected. `groups`: the keys that its agent shared with others when it submitted
    (api/areas/earn/rules/groups.py).
    """

    __tablename__ = "mining_entry"
    __table_args__ = (
        CheckConstraint(f"status in {sql_list(EntryStatus)}", name="status"),
        CheckConstraint(f"reason_code in {sql_list(EndReason)}", name="reason_code"),
        CheckConstraint("(reason_code is not null) = (status = 'rejected')", name="rejected"),
        CheckConstraint("(reviewed_at is null) = (status = 'pending')", name="reviewed_at"),
        Index("ix_mining_entry_submission_id", "submission_id"),
        Index("ix_mining_entry_agent_id_id", "agent_id", "id"),
        Index("ix_mining_entry_agent_id_reviewed_at", "agent_id", "reviewed_at"),
        Index("ix_mining_entry_pending", "id", postgresql_where=PENDING),
        Index(
            "ix_mining_entry_pending_groups",
            "groups",
            postgresql_using="gin",
            postgresql_where=PENDING,
        ),
        Index(
            "ix_mining_entry_wrong_groups", "groups", postgresql_using="gin", postgresql_where=WRONG
        ),
        Index(
            "uq_mining_entry_pending_value",
            "listing_id",
            "field_name",
            "value",
            "chain",
            unique=True,
            postgresql_where=PENDING,
            postgresql_nulls_not_distinct=True,
        ),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    submission_id: Mapped[int] = mapped_column(ForeignKey("mining_submission.id"))
    listing_id: Mapped[int] = mapped_column(ForeignKey("listing.id"))
    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    field_name: Mapped[str] = mapped_column(Text)
    value: Mapped[str] = mapped_column(Text)
    chain: Mapped[str | None] = mapped_column(Text)
    evidence_url: Mapped[str] = mapped_column(Text)
    groups: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    status: Mapped[str] = mapped_column(Text)
    reason_code: Mapped[str | None] = mapped_column(Text)
    task_id: Mapped[int | None]
    submitted_at: Mapped[datetime]
    reviewed_at: Mapped[datetime | None]


class MiningReview(Base):
    """A decision, and of an approval what its reviewer saw."""

    __tablename__ = "mining_review"
    __table_args__ = (
        CheckConstraint(f"verdict in {sql_list(ReviewVerdict)}", name="verdict"),
        CheckConstraint(f"method in {sql_list(ReviewMethod)}", name="method"),
        CheckConstraint(
            "(verdict = 'approved') = (method is not null and source is not null and "
            "observed_at is not null and observed_result is not null)",
            name="record",
        ),
        CheckConstraint(
            "(verdict = 'approved') = (reason_code is null)", name="reason_code_of_an_end"
        ),
        Index("ix_mining_review_entry_id_id", "entry_id", "id"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    entry_id: Mapped[int] = mapped_column(ForeignKey("mining_entry.id"))
    verdict: Mapped[str] = mapped_column(Text)
    reviewer_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    operator: Mapped[str] = mapped_column(Text)
    method: Mapped[str | None] = mapped_column(Text)
    source: Mapped[str | None] = mapped_column(Text)
    observed_at: Mapped[datetime | None]
    observed_result: Mapped[str | None] = mapped_column(Text)
    reason_code: Mapped[str | None] = mapped_column(Text)
    note: Mapped[str | None] = mapped_column(Text)
    at: Mapped[datetime]


class MiningFact(Base):
    """What a field of a listing holds: the approved entry's value. `is_clearing`: values that
    conflict with it still wait for their end.
    """

    __tablename__ = "mining_fact"
    __table_args__ = (
        Index("ix_mining_fact_approved_at", "approved_at"),
        Index("ix_mining_fact_clearing", "listing_id", postgresql_where=text("is_clearing")),
    )

    listing_id: Mapped[int] = mapped_column(
        ForeignKey("listing.id"), primary_key=True, autoincrement=False
    )
    field_name: Mapped[str] = mapped_column(Text, primary_key=True)
    entry_id: Mapped[int] = mapped_column(ForeignKey("mining_entry.id"), unique=True)
    value: Mapped[str] = mapped_column(Text)
    approved_at: Mapped[datetime]
    is_clearing: Mapped[bool]


class MiningGold(Base):
    """An entry whose value its operator knows to be wrong; nobody outside can tell. `is_open`: until
    its review ends.
    """

    __tablename__ = "mining_gold"
    __table_args__ = (Index("ix_mining_gold_open", "entry_id", postgresql_where=text("is_open")),)

    entry_id: Mapped[int] = mapped_column(
        ForeignKey("mining_entry.id"), primary_key=True, autoincrement=False
    )
    made_by: Mapped[int] = mapped_column(ForeignKey("account.id"))
    operator: Mapped[str] = mapped_column(Text)
    rejects_at: Mapped[datetime]  # at the latest
    is_open: Mapped[bool]

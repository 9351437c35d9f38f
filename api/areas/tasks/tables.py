"""Tasks, the claims on them, and what was filed and decided.

Proofs, verdicts and the ends of reviews are only ever added. A task's row is the lock of all that
is done to it, and counts its claims and proofs, so that no list has to.
"""

from datetime import datetime

from sqlalchemy import (
    ARRAY,
    CheckConstraint,
    ForeignKey,
    Identity,
    Index,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from api.areas.tasks.rules import (
    RESULT_CHARACTERS,
    TASK_TENTHS_MOST,
    ClaimStage,
    ProofVerdict,
    ReviewEvent,
    TaskState,
    Truth,
    VerdictWord,
)
from core.db.base import LOG, Base, sql_list
from core.urls import URL_CHARACTERS_MOST

STORED_STAGES = [stage for stage in ClaimStage if stage not in (ClaimStage.OPEN, ClaimStage.PAID)]
TAKES_CLAIMS = text("state = 'open'")
IS_CLOSING = text("state = 'closing'")
STANDS = text("stage <> 'expired'")
IS_HELD = text("is_exclusive and stage in ('claimed', 'submitted')")
MAY_LAPSE = text("is_exclusive and stage = 'claimed'")
AWAITS_A_VERDICT = text("is_exclusive and stage = 'submitted'")
HAS_LAPSED = text("is_exclusive and stage = 'expired'")
IS_UNPROVEN = text("stage = 'claimed'")
IS_RECORDED = text("stage = 'points_recorded'")


class Task(Base):
    """`subject`: what it is about, as its operator wrote it. A re-observation has `entry_id`, the
    submission's entry, instead, with its listing and field; its value is not kept here.

    `submitter_person`: whose the value is, as persons are counted (api/areas/earn/rules/payout.py).
    `open_claims`: without a proof. `participants`: agents whose claims stand.
    """

    __tablename__ = "task"
    __table_args__ = (
        CheckConstraint(f"state in {sql_list(TaskState)}", name="state"),
        CheckConstraint(f"truth in {sql_list(Truth)}", name="truth"),
        CheckConstraint("(category = 'reobserve') = (entry_id is not null)", name="entry_id"),
        CheckConstraint("(entry_id is null) = (subject is not null)", name="subject"),
        CheckConstraint(
            "entry_id is null or (token_id is not null and field_name is not null and "
            "submitter_id is not null and submitter_person is not null)",
            name="of_an_entry",
        ),
        CheckConstraint("(state = 'closing') = (settles_at is not null)", name="settles_at"),
        CheckConstraint(f"tenths between 1 and {TASK_TENTHS_MOST}", name="tenths"),
        CheckConstraint("open_claims >= 0 and proofs >= 0 and participants >= 0", name="counts"),
        Index("ix_task_open", "id", postgresql_where=TAKES_CLAIMS),
        Index("ix_task_open_category", "category", "id", postgresql_where=TAKES_CLAIMS),
        Index("ix_task_closing", "settles_at", postgresql_where=IS_CLOSING),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    category: Mapped[str] = mapped_column(Text)
    title: Mapped[str] = mapped_column(Text)
    subject: Mapped[str | None] = mapped_column(Text)
    tenths: Mapped[int]
    created_by: Mapped[int | None] = mapped_column(ForeignKey("account.id"))  # an operator
    entry_id: Mapped[int | None] = mapped_column(unique=True)
    token_id: Mapped[str | None] = mapped_column(Text)
    field_name: Mapped[str | None] = mapped_column(Text)
    submitter_id: Mapped[int | None] = mapped_column(ForeignKey("account.id"))
    submitter_person: Mapped[str | None] = mapped_column(Text)
    state: Mapped[str] = mapped_column(Text)
    truth: Mapped[str | None] = mapped_column(Text)
    reviewed_at: Mapped[datetime | None]
    settles_at: Mapped[datetime | None]  # at the latest, while it is closing
    open_claims: Mapped[int]
    proofs: Mapped[int]
    participants: Mapped[int]
    created_at: Mapped[datetime]


class TaskClaim(Base):
    """`stage`: as the life of claims has it; paid is what payouts say of a recorded one.

    `expires_at`: of a claim that holds its task, exclusive. `bond_credits`: held while
    `is_bond_held`. `tenths`: what became of it, in tenths of a point; below zero a debt.
    `groups`: the keys that its agent shared with others when it was made (api/areas/earn/rules/groups.py).
    """

    __tablename__ = "task_claim"
    __table_args__ = (
        CheckConstraint(f"stage in {sql_list(STORED_STAGES)}", name="stage"),
        CheckConstraint("is_exclusive = (expires_at is not null)", name="expires_at"),
        CheckConstraint("bond_credits >= 0", name="bond_credits"),
        CheckConstraint("bond_credits > 0 or not is_bond_held", name="is_bond_held"),
        Index(
            "uq_task_claim_task_id_agent_id",
            "task_id",
            "agent_id",
            unique=True,
            postgresql_where=STANDS,
        ),
        Index("uq_task_claim_held", "task_id", unique=True, postgresql_where=IS_HELD),
        Index("ix_task_claim_task_id_id", "task_id", "id", postgresql_where=STANDS),
        Index("ix_task_claim_unproven", "task_id", "agent_id", postgresql_where=IS_UNPROVEN),
        Index("ix_task_claim_recorded", "task_id", postgresql_where=IS_RECORDED),
        Index("ix_task_claim_agent_id_id", "agent_id", "id"),
        Index("ix_task_claim_agent_id_stage", "agent_id", "stage"),
        Index("ix_task_claim_expires_at", "expires_at", postgresql_where=MAY_LAPSE),
        Index("ix_task_claim_awaits", "id", postgresql_where=AWAITS_A_VERDICT),
        Index("ix_task_claim_may_lapse", "id", postgresql_where=MAY_LAPSE),
        Index(
            "ix_task_claim_held_groups",
            "groups",
            postgresql_using="gin",
            postgresql_where=IS_HELD,
        ),
        Index("ix_task_claim_lapsed", "task_id", postgresql_where=HAS_LAPSED),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id"))
    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    person: Mapped[str] = mapped_column(Text)
    groups: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    is_exclusive: Mapped[bool]
    stage: Mapped[str] = mapped_column(Text)
    tenths: Mapped[int]
    bond_credits: Mapped[int]
    is_bond_held: Mapped[bool]
    claimed_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    changed_at: Mapped[datetime]


class TaskProof(Base):
    """`id` is the order of receipt: proofs of a task are written one after the other.

    `is_evidence`: filed after the verdict.
    """

    __tablename__ = "task_proof"
    __table_args__ = (
        CheckConstraint(f"verdict in {sql_list(ProofVerdict)}", name="verdict"),
        CheckConstraint(
            f"char_length(observed_result) between 1 and {RESULT_CHARACTERS}",
            name="observed_result",
        ),
        CheckConstraint(f"char_length(source_url) <= {URL_CHARACTERS_MOST}", name="source_url"),
        UniqueConstraint("task_id", "person"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    claim_id: Mapped[int] = mapped_column(ForeignKey("task_claim.id"), unique=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id"))
    agent_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    person: Mapped[str] = mapped_column(Text)
    verdict: Mapped[str | None] = mapped_column(Text)  # of a re-observation
    observed_at: Mapped[datetime]
    observed_result: Mapped[str] = mapped_column(Text)
    source_url: Mapped[str | None] = mapped_column(Text)
    is_evidence: Mapped[bool]
    received_at: Mapped[datetime]


class TaskVerdict(Base):
    """An operator's on the proof of a claim. `reversed` takes `verified` back, once."""

    __tablename__ = "task_verdict"
    __table_args__ = (
        CheckConstraint(f"verdict in {sql_list(VerdictWord)}", name="verdict"),
        Index(
            "uq_task_verdict_claim_id_decided",
            "claim_id",
            unique=True,
            postgresql_where=text("verdict <> 'reversed'"),
        ),
        Index(
            "uq_task_verdict_claim_id_reversed",
            "claim_id",
            unique=True,
            postgresql_where=text("verdict = 'reversed'"),
        ),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    claim_id: Mapped[int] = mapped_column(ForeignKey("task_claim.id"))
    verdict: Mapped[str] = mapped_column(Text)
    note: Mapped[str] = mapped_column(Text)
    operator_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    at: Mapped[datetime]


class TaskReview(Base):
    """What the end of a submission's review, or its reversal, did to its re-observation."""

    __tablename__ = "task_review"
    __table_args__ = (
        CheckConstraint(f"event in {sql_list(ReviewEvent)}", name="event"),
        CheckConstraint(f"truth in {sql_list(Truth)}", name="truth"),
        UniqueConstraint("task_id", "event"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    task_id: Mapped[int] = mapped_column(ForeignKey("task.id"))
    event: Mapped[str] = mapped_column(Text)
    truth: Mapped[str] = mapped_column(Text)
    granted_tenths: Mapped[int]  # to all together
    owed_tenths: Mapped[int]
    at: Mapped[datetime]

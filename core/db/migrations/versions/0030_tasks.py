"""Tasks, the claims on them, proofs, verdicts and the ends of reviews."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None


GUARD = """
create trigger {table}_is_append_only before update or delete or truncate on {table}
for each statement execute function refuse_change_of_book()
"""
TABLES = ("task", "task_claim", "task_proof", "task_verdict", "task_review")


def upgrade() -> None:
    op.create_table(
        "task",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("category", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=True),
        sa.Column("tenths", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.BigInteger(), nullable=True),
        sa.Column("entry_id", sa.BigInteger(), nullable=True),
        sa.Column("token_id", sa.Text(), nullable=True),
        sa.Column("field_name", sa.Text(), nullable=True),
        sa.Column("submitter_id", sa.BigInteger(), nullable=True),
        sa.Column("submitter_person", sa.Text(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("truth", sa.Text(), nullable=True),
        sa.Column("reviewed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("settles_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("open_claims", sa.BigInteger(), nullable=False),
        sa.Column("proofs", sa.BigInteger(), nullable=False),
        sa.Column("participants", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(category = 'reobserve') = (entry_id is not null)", name=op.f("ck_task_entry_id")
        ),
        sa.CheckConstraint(
            "(state = 'closing') = (settles_at is not null)", name=op.f("ck_task_settles_at")
        ),
        sa.CheckConstraint(
            "state in ('open', 'held', 'closing', 'settled')", name=op.f("ck_task_state")
        ),
        sa.CheckConstraint("truth in ('match', 'mismatch', 'void')", name=op.f("ck_task_truth")),
        sa.CheckConstraint(
            "(entry_id is null) = (subject is not null)", name=op.f("ck_task_subject")
        ),
        sa.CheckConstraint(
            "entry_id is null or (token_id is not null and field_name is not null and "
            "submitter_id is not null and submitter_person is not null)",
            name=op.f("ck_task_of_an_entry"),
        ),
        sa.CheckConstraint(
            "open_claims >= 0 and proofs >= 0 and participants >= 0", name=op.f("ck_task_counts")
        ),
        sa.CheckConstraint("tenths between 1 and 1000", name=op.f("ck_task_tenths")),
        sa.ForeignKeyConstraint(["created_by"], ["account.id"], name=op.f("fk_task_created_by")),
        sa.ForeignKeyConstraint(
            ["submitter_id"], ["account.id"], name=op.f("fk_task_submitter_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task")),
        sa.UniqueConstraint("entry_id", name=op.f("uq_task_entry_id")),
    )
    op.create_index(
        "ix_task_closing",
        "task",
        ["settles_at"],
        unique=False,
        postgresql_where=sa.text("state = 'closing'"),
    )
    op.create_index(
        "ix_task_open", "task", ["id"], unique=False, postgresql_where=sa.text("state = 'open'")
    )
    op.create_index(
        "ix_task_open_category",
        "task",
        ["category", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'open'"),
    )
    op.create_table(
        "task_claim",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("agent_id", sa.BigInteger(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=True),
        sa.Column("funder", sa.Text(), nullable=True),
        sa.Column("is_exclusive", sa.Boolean(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("tenths", sa.BigInteger(), nullable=False),
        sa.Column("bond_credits", sa.BigInteger(), nullable=False),
        sa.Column("is_bond_held", sa.Boolean(), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "stage in ('claimed', 'submitted', 'verified', 'points_recorded', 'expired', 'rejected', 'void')",
            name=op.f("ck_task_claim_stage"),
        ),
        sa.CheckConstraint(
            "bond_credits > 0 or not is_bond_held", name=op.f("ck_task_claim_is_bond_held")
        ),
        sa.CheckConstraint("bond_credits >= 0", name=op.f("ck_task_claim_bond_credits")),
        sa.CheckConstraint(
            "is_exclusive = (expires_at is not null)", name=op.f("ck_task_claim_expires_at")
        ),
        sa.ForeignKeyConstraint(["agent_id"], ["account.id"], name=op.f("fk_task_claim_agent_id")),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_task_claim_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task_claim")),
    )
    op.create_index(
        "ix_task_claim_held_person",
        "task_claim",
        ["person"],
        unique=False,
        postgresql_where=sa.text("is_exclusive and stage in ('claimed', 'submitted')"),
    )
    op.create_index(
        "ix_task_claim_held_address",
        "task_claim",
        ["address"],
        unique=False,
        postgresql_where=sa.text("is_exclusive and stage in ('claimed', 'submitted')"),
    )
    op.create_index(
        "ix_task_claim_held_funder",
        "task_claim",
        ["funder"],
        unique=False,
        postgresql_where=sa.text("is_exclusive and stage in ('claimed', 'submitted')"),
    )
    op.create_index(
        "ix_task_claim_lapsed",
        "task_claim",
        ["task_id", "person"],
        unique=False,
        postgresql_where=sa.text("is_exclusive and stage = 'expired'"),
    )
    op.create_index("ix_task_claim_agent_id_id", "task_claim", ["agent_id", "id"], unique=False)
    op.create_index(
        "ix_task_claim_agent_id_stage", "task_claim", ["agent_id", "stage"], unique=False
    )
    op.create_index(
        "ix_task_claim_awaits",
        "task_claim",
        ["id"],
        unique=False,
        postgresql_where=sa.text("is_exclusive and stage = 'submitted'"),
    )
    op.create_index(
        "ix_task_claim_may_lapse",
        "task_claim",
        ["id"],
        unique=False,
        postgresql_where=sa.text("is_exclusive and stage = 'claimed'"),
    )
    op.create_index(
        "ix_task_claim_expires_at",
        "task_claim",
        ["expires_at"],
        unique=False,
        postgresql_where=sa.text("is_exclusive and stage = 'claimed'"),
    )
    op.create_index(
        "ix_task_claim_recorded",
        "task_claim",
        ["task_id"],
        unique=False,
        postgresql_where=sa.text("stage = 'points_recorded'"),
    )
    op.create_index(
        "ix_task_claim_task_id_id",
        "task_claim",
        ["task_id", "id"],
        unique=False,
        postgresql_where=sa.text("stage <> 'expired'"),
    )
    op.create_index(
        "ix_task_claim_unproven",
        "task_claim",
        ["task_id", "agent_id"],
        unique=False,
        postgresql_where=sa.text("stage = 'claimed'"),
    )
    op.create_index(
        "uq_task_claim_held",
        "task_claim",
        ["task_id"],
        unique=True,
        postgresql_where=sa.text("is_exclusive and stage in ('claimed', 'submitted')"),
    )
    op.create_index(
        "uq_task_claim_task_id_agent_id",
        "task_claim",
        ["task_id", "agent_id"],
        unique=True,
        postgresql_where=sa.text("stage <> 'expired'"),
    )
    op.create_table(
        "task_review",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("event", sa.Text(), nullable=False),
        sa.Column("truth", sa.Text(), nullable=False),
        sa.Column("granted_tenths", sa.BigInteger(), nullable=False),
        sa.Column("owed_tenths", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("event in ('ended', 'reversed')", name=op.f("ck_task_review_event")),
        sa.CheckConstraint(
            "truth in ('match', 'mismatch', 'void')", name=op.f("ck_task_review_truth")
        ),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_task_review_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task_review")),
        sa.UniqueConstraint("task_id", "event", name=op.f("uq_task_review_task_id_event")),
        info={"append_only": "log"},
    )
    op.create_table(
        "task_proof",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("claim_id", sa.BigInteger(), nullable=False),
        sa.Column("task_id", sa.BigInteger(), nullable=False),
        sa.Column("agent_id", sa.BigInteger(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("observed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("observed_result", sa.Text(), nullable=False),
        sa.Column("source_url", sa.Text(), nullable=True),
        sa.Column("is_evidence", sa.Boolean(), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "verdict in ('match', 'mismatch', 'unverifiable')", name=op.f("ck_task_proof_verdict")
        ),
        sa.CheckConstraint(
            "char_length(observed_result) between 1 and 500",
            name=op.f("ck_task_proof_observed_result"),
        ),
        sa.CheckConstraint("char_length(source_url) <= 500", name=op.f("ck_task_proof_source_url")),
        sa.ForeignKeyConstraint(["agent_id"], ["account.id"], name=op.f("fk_task_proof_agent_id")),
        sa.ForeignKeyConstraint(
            ["claim_id"], ["task_claim.id"], name=op.f("fk_task_proof_claim_id")
        ),
        sa.ForeignKeyConstraint(["task_id"], ["task.id"], name=op.f("fk_task_proof_task_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task_proof")),
        sa.UniqueConstraint("claim_id", name=op.f("uq_task_proof_claim_id")),
        sa.UniqueConstraint("task_id", "person", name=op.f("uq_task_proof_task_id_person")),
        info={"append_only": "log"},
    )
    op.create_table(
        "task_verdict",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("claim_id", sa.BigInteger(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("operator_id", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "verdict in ('verified', 'rejected', 'reversed')", name=op.f("ck_task_verdict_verdict")
        ),
        sa.ForeignKeyConstraint(
            ["claim_id"], ["task_claim.id"], name=op.f("fk_task_verdict_claim_id")
        ),
        sa.ForeignKeyConstraint(
            ["operator_id"], ["account.id"], name=op.f("fk_task_verdict_operator_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_task_verdict")),
        info={"append_only": "log"},
    )
    op.create_index(
        "uq_task_verdict_claim_id_decided",
        "task_verdict",
        ["claim_id"],
        unique=True,
        postgresql_where=sa.text("verdict <> 'reversed'"),
    )
    op.create_index(
        "uq_task_verdict_claim_id_reversed",
        "task_verdict",
        ["claim_id"],
        unique=True,
        postgresql_where=sa.text("verdict = 'reversed'"),
    )
    for table in TABLES[2:]:
        op.execute(GUARD.format(table=table))


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)

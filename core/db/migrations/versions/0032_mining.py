"""Listings of exchanges, what agents submit of them, reviews, facts and their figures; numbers of
operators.
"""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

GUARD = """
create trigger {table}_is_append_only before update or delete or truncate on {table}
for each statement execute function refuse_change_of_book()
"""
TABLES = (
    "mining_review",
    "mining_gold",
    "mining_fact",
    "mining_entry",
    "operator_number",
    "mining_submission",
    "mining_figure",
    "listing_count",
    "listing",
)
PENDING = sa.text("status = 'pending'")


def upgrade() -> None:
    op.create_table(
        "listing",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("token_id", sa.Text(), nullable=False),
        sa.Column("exchange", sa.Text(), nullable=False),
        sa.Column("base", sa.Text(), nullable=False),
        sa.Column("quote", sa.Text(), nullable=False),
        sa.Column("is_simulated", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "token_id = lower(exchange || '_' || base || '_' || quote)",
            name=op.f("ck_listing_token_id"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_listing")),
        sa.UniqueConstraint(
            "exchange", "base", "quote", name=op.f("uq_listing_exchange_base_quote")
        ),
        sa.UniqueConstraint("token_id", name=op.f("uq_listing_token_id")),
    )
    op.create_table(
        "listing_count",
        sa.Column("exchange", sa.Text(), nullable=False),
        sa.Column("listings", sa.BigInteger(), nullable=False),
        sa.Column("simulated", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("exchange", name=op.f("pk_listing_count")),
    )
    op.create_table(
        "mining_figure",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("n", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("n >= 0", name=op.f("ck_mining_figure_n")),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_mining_figure")),
    )
    op.create_table(
        "mining_submission",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("listing_id", sa.BigInteger(), nullable=False),
        sa.Column("agent_id", sa.BigInteger(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("room_id", sa.BigInteger(), nullable=False),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["account.id"], name=op.f("fk_mining_submission_agent_id")
        ),
        sa.ForeignKeyConstraint(
            ["listing_id"], ["listing.id"], name=op.f("fk_mining_submission_listing_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mining_submission")),
    )
    op.create_index(
        "ix_mining_submission_agent_id_id", "mining_submission", ["agent_id", "id"], unique=False
    )
    op.create_index(
        "ix_mining_submission_person_submitted_at",
        "mining_submission",
        ["person", "submitted_at"],
        unique=False,
    )
    op.create_index(
        "ix_mining_submission_pool_submitted_at",
        "mining_submission",
        ["pool", "submitted_at"],
        unique=False,
    )
    op.create_table(
        "operator_number",
        sa.Column("number", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_operator_number_account_id")
        ),
        sa.PrimaryKeyConstraint("number", name=op.f("pk_operator_number")),
        sa.UniqueConstraint("account_id", name=op.f("uq_operator_number_account_id")),
    )
    op.create_table(
        "mining_entry",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("submission_id", sa.BigInteger(), nullable=False),
        sa.Column("listing_id", sa.BigInteger(), nullable=False),
        sa.Column("agent_id", sa.BigInteger(), nullable=False),
        sa.Column("field_name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("chain", sa.Text(), nullable=True),
        sa.Column("evidence_url", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason_code", sa.Text(), nullable=True),
        sa.Column("task_id", sa.BigInteger(), nullable=True),
        sa.Column("submitted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("reviewed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(reason_code is not null) = (status = 'rejected')",
            name=op.f("ck_mining_entry_rejected"),
        ),
        sa.CheckConstraint(
            "(reviewed_at is null) = (status = 'pending')", name=op.f("ck_mining_entry_reviewed_at")
        ),
        sa.CheckConstraint(
            "reason_code in ('value_wrong', 'evidence_insufficient', 'out_of_date', 'not_allowed', "
            "'superseded', 'reversed')",
            name=op.f("ck_mining_entry_reason_code"),
        ),
        sa.CheckConstraint(
            "status in ('pending', 'approved', 'rejected')", name=op.f("ck_mining_entry_status")
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["account.id"], name=op.f("fk_mining_entry_agent_id")
        ),
        sa.ForeignKeyConstraint(
            ["listing_id"], ["listing.id"], name=op.f("fk_mining_entry_listing_id")
        ),
        sa.ForeignKeyConstraint(
            ["submission_id"], ["mining_submission.id"], name=op.f("fk_mining_entry_submission_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mining_entry")),
    )
    op.create_index("ix_mining_entry_agent_id_id", "mining_entry", ["agent_id", "id"], unique=False)
    op.create_index(
        "ix_mining_entry_agent_id_reviewed_at",
        "mining_entry",
        ["agent_id", "reviewed_at"],
        unique=False,
    )
    op.create_index(
        "ix_mining_entry_pending", "mining_entry", ["id"], unique=False, postgresql_where=PENDING
    )
    op.create_index(
        "ix_mining_entry_submission_id", "mining_entry", ["submission_id"], unique=False
    )
    op.create_index(
        "uq_mining_entry_pending_value",
        "mining_entry",
        ["listing_id", "field_name", "value", "chain"],
        unique=True,
        postgresql_where=PENDING,
        postgresql_nulls_not_distinct=True,
    )
    op.create_table(
        "mining_fact",
        sa.Column("listing_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("field_name", sa.Text(), nullable=False),
        sa.Column("entry_id", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("approved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("is_clearing", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["mining_entry.id"], name=op.f("fk_mining_fact_entry_id")
        ),
        sa.ForeignKeyConstraint(
            ["listing_id"], ["listing.id"], name=op.f("fk_mining_fact_listing_id")
        ),
        sa.PrimaryKeyConstraint("listing_id", "field_name", name=op.f("pk_mining_fact")),
        sa.UniqueConstraint("entry_id", name=op.f("uq_mining_fact_entry_id")),
    )
    op.create_index("ix_mining_fact_approved_at", "mining_fact", ["approved_at"], unique=False)
    op.create_index(
        "ix_mining_fact_clearing",
        "mining_fact",
        ["listing_id"],
        unique=False,
        postgresql_where=sa.text("is_clearing"),
    )
    op.create_table(
        "mining_gold",
        sa.Column("entry_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("made_by", sa.BigInteger(), nullable=False),
        sa.Column("operator", sa.Text(), nullable=False),
        sa.Column("rejects_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("is_open", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["mining_entry.id"], name=op.f("fk_mining_gold_entry_id")
        ),
        sa.ForeignKeyConstraint(["made_by"], ["account.id"], name=op.f("fk_mining_gold_made_by")),
        sa.PrimaryKeyConstraint("entry_id", name=op.f("pk_mining_gold")),
    )
    op.create_index(
        "ix_mining_gold_open",
        "mining_gold",
        ["entry_id"],
        unique=False,
        postgresql_where=sa.text("is_open"),
    )
    op.create_table(
        "mining_review",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("entry_id", sa.BigInteger(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("reviewer_id", sa.BigInteger(), nullable=False),
        sa.Column("operator", sa.Text(), nullable=False),
        sa.Column("method", sa.Text(), nullable=True),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("observed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("observed_result", sa.Text(), nullable=True),
        sa.Column("reason_code", sa.Text(), nullable=True),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(verdict = 'approved') = (method is not null and source is not null and "
            "observed_at is not null and observed_result is not null)",
            name=op.f("ck_mining_review_record"),
        ),
        sa.CheckConstraint(
            "(verdict = 'approved') = (reason_code is null)",
            name=op.f("ck_mining_review_reason_code_of_an_end"),
        ),
        sa.CheckConstraint(
            "method in ('reproduced', 're_observed')", name=op.f("ck_mining_review_method")
        ),
        sa.CheckConstraint(
            "verdict in ('approved', 'rejected', 'reversed')", name=op.f("ck_mining_review_verdict")
        ),
        sa.ForeignKeyConstraint(
            ["entry_id"], ["mining_entry.id"], name=op.f("fk_mining_review_entry_id")
        ),
        sa.ForeignKeyConstraint(
            ["reviewer_id"], ["account.id"], name=op.f("fk_mining_review_reviewer_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mining_review")),
    )
    op.create_index(
        "ix_mining_review_entry_id_id", "mining_review", ["entry_id", "id"], unique=False
    )
    for table in ("mining_submission", "mining_review"):
        op.execute(GUARD.format(table=table))


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)

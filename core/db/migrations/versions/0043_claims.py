"""Claims of the community about tokens, and the verdicts of operators."""

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

AT = sa.DateTime(timezone=True)
GUARD = """
create trigger kg_claim_verdict_is_append_only before update or delete or truncate on kg_claim_verdict
for each statement execute function refuse_change_of_book()
"""
PUBLISHED = sa.text("state in ('unverified', 'verified')")


def upgrade() -> None:
    op.create_table(
        "kg_claim",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("claim", sa.Text(), nullable=False),
        sa.Column("words", sa.Text(), nullable=False),
        sa.Column("source_url", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.BigInteger(), nullable=False),
        sa.Column("person", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("made_at", AT, nullable=False),
        sa.Column("decided_at", AT, nullable=True),
        sa.CheckConstraint(
            "kind in ('project', 'backer', 'event', 'risk', 'other')", name=op.f("ck_kg_claim_kind")
        ),
        sa.CheckConstraint(
            "state in ('unverified', 'verified', 'rejected')", name=op.f("ck_kg_claim_state")
        ),
        sa.CheckConstraint("source_url like 'https://%'", name=op.f("ck_kg_claim_source_url")),
        sa.ForeignKeyConstraint(["agent_id"], ["account.id"], name=op.f("fk_kg_claim_agent_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_kg_claim")),
    )
    op.create_index("ix_kg_claim_token_state_id", "kg_claim", ["token", "state", "id"])
    op.create_index("ix_kg_claim_person_made_at", "kg_claim", ["person", "made_at"])
    op.create_index("ix_kg_claim_published", "kg_claim", ["id"], postgresql_where=PUBLISHED)
    op.create_index(
        "ix_kg_claim_waiting",
        "kg_claim",
        ["id"],
        postgresql_where=sa.text("state = 'unverified'"),
    )
    op.create_index(
        "uq_kg_claim_words",
        "kg_claim",
        ["token", "words"],
        unique=True,
        postgresql_where=PUBLISHED,
    )
    op.create_table(
        "kg_claim_verdict",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("claim_id", sa.BigInteger(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("operator_id", sa.BigInteger(), nullable=False),
        sa.Column("note", sa.Text(), nullable=True),
        sa.Column("at", AT, nullable=False),
        sa.CheckConstraint(
            "verdict in ('verified', 'rejected')", name=op.f("ck_kg_claim_verdict_verdict")
        ),
        sa.ForeignKeyConstraint(
            ["claim_id"], ["kg_claim.id"], name=op.f("fk_kg_claim_verdict_claim_id")
        ),
        sa.ForeignKeyConstraint(
            ["operator_id"], ["account.id"], name=op.f("fk_kg_claim_verdict_operator_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_kg_claim_verdict")),
        info={"append_only": "log"},
    )
    op.create_index("ix_kg_claim_verdict_claim_id_id", "kg_claim_verdict", ["claim_id", "id"])
    op.execute(GUARD)


def downgrade() -> None:
    op.drop_table("kg_claim_verdict")
    op.drop_table("kg_claim")

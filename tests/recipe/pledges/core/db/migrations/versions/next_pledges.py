"""Pledges of agents."""

import sqlalchemy as sa
from alembic import op

revision = "{next}"
down_revision = "{head}"
branch_labels = None
depends_on = None

TABLE = "pledge"


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("agent_id", sa.BigInteger(), nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("amount_usdc_e6", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "state in ('open', 'withdrawn', 'lapsed')", name=op.f("ck_pledge_state")
        ),
        sa.ForeignKeyConstraint(["agent_id"], ["account.id"], name=op.f("fk_pledge_agent_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pledge")),
    )
    op.create_index("ix_pledge_agent_id_id", TABLE, ["agent_id", "id"])
    op.create_index("ix_pledge_state_made_at", TABLE, ["state", "made_at"])

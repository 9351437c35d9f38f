"""Vaults that ended for good, so that the keeper need not go by the record's word."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import BYTEA

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TABLE = "keeper_ended"


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("vault", BYTEA(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("block_number", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("status in ('stopped', 'settled')", name=op.f("ck_keeper_ended_status")),
        sa.PrimaryKeyConstraint("chain_id", "vault", name=op.f("pk_keeper_ended")),
    )


def downgrade() -> None:
    op.drop_table(TABLE)

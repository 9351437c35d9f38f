"""Calls of network addresses without a key are counted over all processes."""

import sqlalchemy as sa
from alembic import op

revision = "0070"
down_revision = "0069"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "address_count",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("client", sa.Text, primary_key=True),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("n", sa.Integer, nullable=False),
    )
    op.create_index("ix_address_count_since", "address_count", ["since"])


def downgrade() -> None:
    op.drop_table("address_count")

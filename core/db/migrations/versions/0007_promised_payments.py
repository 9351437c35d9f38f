"""Until when a payment can settle, and how often that failed: what a payer has promised, and what
it has cost us.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TABLE = "x402_payment"
INDEX = "ix_x402_payment_open"


def upgrade() -> None:
    op.add_column(TABLE, sa.Column("valid_before", sa.Numeric(78, 0), nullable=True))
    op.add_column(TABLE, sa.Column("failures", sa.Integer(), nullable=False, server_default="0"))
    op.create_index(
        INDEX, TABLE, ["asset", "payer"], postgresql_where=sa.text("state in ('claimed', 'failed')")
    )


def downgrade() -> None:
    op.drop_index(INDEX, table_name=TABLE)
    op.drop_column(TABLE, "failures")
    op.drop_column(TABLE, "valid_before")

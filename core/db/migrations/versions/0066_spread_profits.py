"""Profits over three venues are after withdrawals, and what can be acted on stands beside them."""

import sqlalchemy as sa
from alembic import op

revision = "0066"
down_revision = "0064"
branch_labels = None
depends_on = None

TABLE, COLUMN = "arb_multi", "actionable_profit_usd"


def upgrade() -> None:
    """Profits that were stored are before withdrawals: unknown until the next look, a minute later."""
    op.add_column(TABLE, sa.Column(COLUMN, sa.Float(53)))
    op.execute("update arb_multi set profit_usd = null")


def downgrade() -> None:
    op.drop_column(TABLE, COLUMN)

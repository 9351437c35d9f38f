"""What of the reserve is locked. Rows of a contract that locks nothing have zeros."""

import sqlalchemy as sa
from alembic import op

revision = "0058"
down_revision = "0057"
branch_labels = None
depends_on = None

AMOUNT, TIME = sa.Numeric(78, 0), sa.BigInteger()
COLUMNS = (
    ("reserve_event", "lock_after_e6", AMOUNT),
    ("reserve_event", "lock_since_after", TIME),
    ("reserve_event", "lock_until_after_ns", TIME),
    ("reserve_reading", "locked_e6", AMOUNT),
    ("reserve_reading", "locked_until_ns", AMOUNT),
)


def upgrade() -> None:
    for table, name, kind in COLUMNS:
        op.add_column(table, sa.Column(name, kind, server_default=sa.text("0"), nullable=False))


def downgrade() -> None:
    for table, name, _ in COLUMNS:
        op.drop_column(table, name)

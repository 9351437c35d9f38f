"""Flags count as the chain bears out their reports, and marks are what a vault measured: the state of
a fold has version 7. Older states are folded again at the next start, and the Hall is built again.
"""

from alembic import op

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None

EMPTY = "truncate hall_day, hall_mandate, hall_agent, hall_due, hall_build"


def upgrade() -> None:
    op.execute(EMPTY)


def downgrade() -> None:
    """States of version 7 are folded again by the older version."""
    op.execute("update mandate_head set state = state || '{\"version\": 0}'")
    op.execute("update mandate_week set state = state || '{\"version\": 0}'")
    op.execute(EMPTY)

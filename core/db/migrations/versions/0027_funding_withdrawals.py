"""A withdrawal before the mandate works takes deposits back: the state of a fold has version 6. The
Hall counts by other rules, and is built again.

A stored state of version 5 without a withdrawal is one of version 6; the others are folded again.
"""

from alembic import op

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

SAME_STATE = """
    update {table} set state = state || '{{"version": 6}}'
     where state ->> 'version' = '5'
       and state ->> 'withdrawn_usdc_e6' = '0' and state ->> 'donated_usdc_e6' = '0'
"""

OLDER_STATE = """
    update {table} set state = state || '{{"version": 5}}' where state ->> 'version' = '6'
"""
EMPTY = "truncate hall_day, hall_mandate, hall_agent, hall_due, hall_build"


def upgrade() -> None:
    for table in ("mandate_head", "mandate_week"):
        op.execute(SAME_STATE.format(table=table))
    op.execute(EMPTY)


def downgrade() -> None:
    """What version 6 alone says is read as if the older fold had said it."""
    for table in ("mandate_head", "mandate_week"):
        op.execute(OLDER_STATE.format(table=table))
    op.execute(EMPTY)

"""Flags count as the chain's word for their reports has it: the state of a fold has version 7. The
Hall is built again.

A stored state of version 6 without a flag is one of version 7, unless a payment that was reported for
a reverted call may be in it; the others are folded again.
"""

from alembic import op

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None

SAME_STATE = """
    update {table}
       set state = (state - 'violation_codes')
                   || '{{"version": 7, "violation_counts": [], "flagged_trades_count": 0}}'
     where state ->> 'version' = '6' and coalesce(state -> 'violation_codes', '[]') = '[]'
       and (state ->> 'reverts_count' = '0' or state ->> 'fees_tools_usdc_e6' = '0')
"""

OLDER_STATE = """
    update {table}
       set state = (state - 'violation_counts' - 'flagged_trades_count')
                   || jsonb_build_object('version', 6, 'violation_codes',
                        (select coalesce(jsonb_agg(one -> 0), '[]')
                           from jsonb_array_elements(state -> 'violation_counts') one))
     where state ->> 'version' = '7'
"""
EMPTY = "truncate hall_day, hall_mandate, hall_agent, hall_due, hall_build"


def upgrade() -> None:
    for table in ("mandate_head", "mandate_week"):
        op.execute(SAME_STATE.format(table=table))
    op.execute(EMPTY)


def downgrade() -> None:
    """What version 7 alone says is read as if the older fold had said it."""
    for table in ("mandate_head", "mandate_week"):
        op.execute(OLDER_STATE.format(table=table))
    op.execute(EMPTY)

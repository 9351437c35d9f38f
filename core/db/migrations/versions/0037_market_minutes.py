"""A minute of samples is found by its time, and the rows of the board are updated in their pages."""

from alembic import op

revision = "0037"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # of the parent: those of its partitions, and of each that is made, follow
    op.execute(
        "create index ix_snap_1m_ts on snap_1m using brin (ts)"
        " with (pages_per_range = 32, autosummarize = on)"
    )
    # each row once a minute: half of a page is for the next version of what is on it
    op.execute("alter table listing_state set (fillfactor = 45)")


def downgrade() -> None:
    op.execute("drop index ix_snap_1m_ts")
    op.execute("alter table listing_state set (fillfactor = 70)")

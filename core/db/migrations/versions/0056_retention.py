"""Indexes for what the job `prune` drops by age."""

from alembic import op

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None

INDEXES = (
    ("ix_session_expires_at", "session", "expires_at"),
    ("ix_request_count_day", "request_count", "day"),
    ("ix_recovery_failure_at", "recovery_failure", "at"),
)


def upgrade() -> None:
    for name, table, column in INDEXES:
        op.create_index(name, table, [column])


def downgrade() -> None:
    for name, table, _ in INDEXES:
        op.drop_index(name, table_name=table)

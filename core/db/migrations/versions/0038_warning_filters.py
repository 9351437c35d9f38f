"""Indexes by which warnings are listed: by exchange, by type, by severity."""

from alembic import op

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

FILTERS = ("exchange", "type", "severity")


def upgrade() -> None:
    for name in FILTERS:
        op.create_index(f"ix_warning_standing_{name}_seq", "warning_standing", [name, "seq"])
        op.execute(
            f"create index ix_warning_event_{name}_seq on warning_event ({name}, seq)"
            " where action = 'issued'"
        )


def downgrade() -> None:
    for name in FILTERS:
        op.drop_index(f"ix_warning_event_{name}_seq", table_name="warning_event")
        op.drop_index(f"ix_warning_standing_{name}_seq", table_name="warning_standing")

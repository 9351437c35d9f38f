"""An index that finds the newest confirmed refusals of a mandate."""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index(
        "ix_mandate_event_refused",
        "mandate_event",
        ["mandate_id", "occurred_at"],
        postgresql_where=sa.text(
            "kind = 'note' and payload #>> '{refusal,server_check}' = 'confirmed'"
        ),
    )


def downgrade() -> None:
    op.drop_index("ix_mandate_event_refused", "mandate_event")

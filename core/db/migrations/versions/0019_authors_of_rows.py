"""Who signed a row of a mandate's ledger, and an index that finds an author's newest signed row."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("mandate_event", sa.Column("author", postgresql.JSONB(), nullable=True))
    op.create_index(
        "ix_mandate_event_author",
        "mandate_event",
        ["mandate_id", "reported_by", "seq"],
        postgresql_where=sa.text("author is not null"),
    )


def downgrade() -> None:
    signed = op.get_bind().scalar(
        sa.text("select count(*) from mandate_event where author is not null")
    )
    if signed:
        raise RuntimeError(
            f"{signed} rows are signed, and their hashes hold the signatures: without the column their "
            "ledgers would be false. Restore a backup from before the upgrade instead."
        )
    op.drop_index("ix_mandate_event_author", "mandate_event")
    op.drop_column("mandate_event", "author")

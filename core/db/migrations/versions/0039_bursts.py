"""Indexes by which old microbursts are dropped, and the feed of grades is read on."""

from alembic import op

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_microburst_began_at", "microburst", ["began_at"])
    op.create_index("ix_grade_hour_hour_listing_id", "grade_hour", ["hour", "listing_id"])


def downgrade() -> None:
    op.drop_index("ix_grade_hour_hour_listing_id", table_name="grade_hour")
    op.drop_index("ix_microburst_began_at", table_name="microburst")

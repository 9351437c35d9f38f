"""The index by which old microbursts are dropped."""

from alembic import op

revision = "0039"
down_revision = "0036"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ix_microburst_began_at", "microburst", ["began_at"])


def downgrade() -> None:
    op.drop_index("ix_microburst_began_at", table_name="microburst")

"""`listing_state` has a pair's closes of a week, which the board shows beside its price."""

from alembic import op

revision = "0103"
down_revision = "0102"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("alter table listing_state add week_closes float8[]")

"""Why the venue refused an order of the operator, in the venue's words."""

import sqlalchemy as sa
from alembic import op

revision = "0062"
down_revision = "0061"
branch_labels = None
depends_on = None

TABLE = "perps_operator_order"


def upgrade() -> None:
    op.add_column(TABLE, sa.Column("venue_words", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column(TABLE, "venue_words")

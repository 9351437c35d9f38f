"""Whom a payment without an agent's account serves: who sends it again proves that it is the one
who sent it first.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("x402_payment", sa.Column("sent_by", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column("x402_payment", "sent_by")

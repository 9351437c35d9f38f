"""What a payment was sent for: its idempotency slot, so that a call cut off between settling and
answering is not paid twice.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import text

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("x402_payment", sa.Column("slot", sa.LargeBinary(), nullable=True))
    unserved = text("slot is not null and state <> 'served'")
    op.create_index("ix_x402_payment_slot", "x402_payment", ["slot"], postgresql_where=unserved)


def downgrade() -> None:
    op.drop_index("ix_x402_payment_slot", "x402_payment")
    op.drop_column("x402_payment", "slot")

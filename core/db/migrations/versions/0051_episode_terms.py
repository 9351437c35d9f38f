"""What a gap was worth when its episode began, and how it could be moved then: the shadow fund replays
it minutes later, when the gap itself may be gone.
"""

import sqlalchemy as sa
from alembic import op

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("arb_episode", sa.Column("net_1k_bps", sa.Double(), nullable=True))
    op.add_column("arb_episode", sa.Column("chain", sa.Text(), nullable=True))
    op.add_column("arb_episode", sa.Column("withdraw_fee", sa.Double(), nullable=True))


def downgrade() -> None:
    op.drop_column("arb_episode", "withdraw_fee")
    op.drop_column("arb_episode", "chain")
    op.drop_column("arb_episode", "net_1k_bps")

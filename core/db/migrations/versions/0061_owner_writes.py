"""How many rows an owner has added today; an index of what stands on the open board."""

import sqlalchemy as sa
from alembic import op

revision = "0061"
down_revision = "0060"
branch_labels = None
depends_on = None

ON_BOARD = "open_board and agent_id is null and status in ('signed', 'working')"


def upgrade() -> None:
    op.add_column("account", sa.Column("writes_on", sa.Date(), nullable=True))
    op.add_column(
        "account", sa.Column("writes", sa.BigInteger(), server_default=sa.text("0"), nullable=False)
    )
    op.create_index(
        "ix_mandate_on_board", "mandate", ["id", "ends_at"], postgresql_where=sa.text(ON_BOARD)
    )


def downgrade() -> None:
    op.drop_index("ix_mandate_on_board", table_name="mandate")
    op.drop_column("account", "writes")
    op.drop_column("account", "writes_on")

"""A judgement is of the block that the lens read, whose hash the node may not have named."""

from alembic import op

revision = "0069"
down_revision = "0068"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.alter_column("vault_mark", "block_hash", nullable=True)


def downgrade() -> None:
    """Nobody reads it; a row without it has that of no block."""
    op.execute(
        "update vault_mark set block_hash = decode(repeat('00', 32), 'hex') where block_hash is null"
    )
    op.alter_column("vault_mark", "block_hash", nullable=False)

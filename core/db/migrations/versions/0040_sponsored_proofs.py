"""What verdicts on sponsored buys rest on."""

import sqlalchemy as sa
from alembic import op

revision = "0040"
down_revision = "0036"
branch_labels = None
depends_on = None

HASH = sa.LargeBinary(32)
AT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "sponsored_proof",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("nonce", HASH, nullable=False),
        sa.Column("block_hash", HASH, nullable=False),
        sa.Column("is_used", sa.Boolean(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("at", AT, nullable=False),
        sa.CheckConstraint(
            "by in ('receipts', 'nodes', 'one_node')", name=op.f("ck_sponsored_proof_by")
        ),
        sa.PrimaryKeyConstraint("chain_id", "nonce", "block_hash", name=op.f("pk_sponsored_proof")),
    )
    op.create_table(
        "sponsored_dispute",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("nonce", HASH, nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("since", AT, nullable=False),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("next_at", AT, nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "nonce", name=op.f("pk_sponsored_dispute")),
    )


def downgrade() -> None:
    op.drop_table("sponsored_dispute")
    op.drop_table("sponsored_proof")

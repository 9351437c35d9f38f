"""The tree of all records' heads by epoch, and where its roots were posted."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "anchor_epoch",
        sa.Column("epoch", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("root", sa.LargeBinary(32), nullable=False),
        sa.Column("root_before", sa.LargeBinary(32), nullable=False),
        sa.Column("seen_block", sa.BigInteger(), nullable=False),
        sa.Column("block_number", sa.BigInteger(), nullable=True),
        sa.Column("block_hash", sa.LargeBinary(32), nullable=True),
        sa.Column("tx_hash", sa.LargeBinary(32), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("epoch", name=op.f("pk_anchor_epoch")),
    )
    op.create_table(
        "anchor_leaf",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("key", sa.LargeBinary(32), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("leaf", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("public_id", name=op.f("pk_anchor_leaf")),
    )
    op.create_index("ix_anchor_leaf_key", "anchor_leaf", ["key"])
    op.create_table(
        "anchor_head",
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("row_hash", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("public_id", "epoch", name=op.f("pk_anchor_head")),
    )
    op.create_table(
        "anchor_node",
        sa.Column("path", sa.LargeBinary(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("left_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("right_hash", sa.LargeBinary(32), nullable=False),
        sa.PrimaryKeyConstraint("path", "epoch", name=op.f("pk_anchor_node")),
    )


def downgrade() -> None:
    for table in ("anchor_node", "anchor_head", "anchor_leaf", "anchor_epoch"):
        op.drop_table(table)

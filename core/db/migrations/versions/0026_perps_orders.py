"""Orders that close perpetuals legs, and how far each closing is."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import BYTEA

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

INSTANT = sa.DateTime(timezone=True)
AMOUNT = sa.Numeric(78, 0)


def upgrade() -> None:
    op.create_table(
        "perps_order",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("leg_id", sa.BigInteger(), nullable=False),
        sa.Column("mandate_id", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("cloid", BYTEA(), nullable=False),
        sa.Column("asset", sa.Integer(), nullable=False),
        sa.Column("coin", sa.Text(), nullable=False),
        sa.Column("side", sa.Text(), nullable=False),
        sa.Column("size_e8", AMOUNT, nullable=False),
        sa.Column("limit_px_e8", AMOUNT, nullable=False),
        sa.Column("reduce_only", sa.Boolean(), nullable=False),
        sa.Column("placed_at", INSTANT, nullable=False),
        sa.Column("expires_at", INSTANT, nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.CheckConstraint(
            "outcome in ('sending', 'accepted', 'rejected', 'unknown')",
            name=op.f("ck_perps_order_outcome"),
        ),
        sa.CheckConstraint("side in ('buy', 'sell')", name=op.f("ck_perps_order_side")),
        sa.ForeignKeyConstraint(["leg_id"], ["perps_leg.id"], name=op.f("fk_perps_order_leg_id")),
        sa.ForeignKeyConstraint(
            ["mandate_id"], ["mandate.id"], name=op.f("fk_perps_order_mandate_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_perps_order")),
        sa.UniqueConstraint("mandate_id", "seq", name=op.f("uq_perps_order_mandate_id_seq")),
        sa.UniqueConstraint("cloid", name=op.f("uq_perps_order_cloid")),
    )
    op.create_index(
        "ix_perps_order_open",
        "perps_order",
        ["leg_id"],
        postgresql_where=sa.text("outcome in ('sending', 'unknown')"),
    )
    op.create_index(
        "ix_perps_order_mandate_id_placed_at", "perps_order", ["mandate_id", "placed_at"]
    )
    op.create_table(
        "perps_closing",
        sa.Column("leg_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("is_transient", sa.Boolean(), nullable=False),
        sa.Column("is_key_lost", sa.Boolean(), nullable=False),
        sa.Column("why", sa.Text(), nullable=True),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("next_try_at", INSTANT, nullable=False),
        sa.CheckConstraint(
            "status in ('pending', 'closed', 'left_open')", name=op.f("ck_perps_closing_status")
        ),
        sa.CheckConstraint("why in ('no_key', 'unbound')", name=op.f("ck_perps_closing_why")),
        sa.ForeignKeyConstraint(["leg_id"], ["perps_leg.id"], name=op.f("fk_perps_closing_leg_id")),
        sa.PrimaryKeyConstraint("leg_id", name=op.f("pk_perps_closing")),
    )
    op.create_index(
        "ix_perps_closing_due",
        "perps_closing",
        ["next_try_at"],
        postgresql_where=sa.text("status = 'pending'"),
    )


def downgrade() -> None:
    op.drop_table("perps_closing")
    op.drop_table("perps_order")

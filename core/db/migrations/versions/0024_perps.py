"""Legs of mandates at the perpetuals venue."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import BYTEA

revision = "0024"
down_revision = "0023"
branch_labels = None
depends_on = None

LIVE = "status = 'bound'"
INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "perps_leg",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("mandate_id", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("owner_address", BYTEA(), nullable=False),
        sa.Column("agent_address", BYTEA(), nullable=False),
        sa.Column("dex", sa.Text(), nullable=False),
        sa.Column("bound_at", INSTANT, nullable=False),
        sa.Column("unbound_at", INSTANT, nullable=True),
        sa.Column("last_worth_usdc_e6", sa.Numeric(78, 0), nullable=True),
        sa.Column("last_read_at", INSTANT, nullable=True),
        sa.Column("last_reason", sa.Text(), nullable=True),
        sa.Column("degraded_ticks", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=True),
        sa.Column("next_read_at", INSTANT, nullable=False),
        sa.CheckConstraint("status in ('bound', 'unbound')", name=op.f("ck_perps_leg_status")),
        sa.CheckConstraint(
            "(status = 'bound') = (unbound_at is null)", name=op.f("ck_perps_leg_unbound_at")
        ),
        sa.CheckConstraint(
            "last_reason in ('hl_unreadable', 'hl_account_mode', 'hl_key_lost')",
            name=op.f("ck_perps_leg_last_reason"),
        ),
        sa.ForeignKeyConstraint(
            ["mandate_id"], ["mandate.id"], name=op.f("fk_perps_leg_mandate_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_perps_leg")),
    )
    for name, column in (("owner", "owner_address"), ("mandate", "mandate_id")):
        op.create_index(
            f"uq_perps_leg_live_{name}",
            "perps_leg",
            [column],
            unique=True,
            postgresql_where=sa.text(LIVE),
        )
    op.create_index(
        "ix_perps_leg_due", "perps_leg", ["next_read_at"], postgresql_where=sa.text(LIVE)
    )
    op.create_index("ix_perps_leg_mandate_id_id", "perps_leg", ["mandate_id", "id"])


def downgrade() -> None:
    op.drop_table("perps_leg")

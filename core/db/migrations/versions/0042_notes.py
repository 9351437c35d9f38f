"""The vault of notes and their links; looks at gaps of each asset; what notes find tokens by."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

AT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "kg_export",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("made_at", AT, nullable=False),
        sa.Column("notes", sa.Integer(), nullable=False),
        sa.Column("content", postgresql.BYTEA(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_kg_export_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_kg_export")),
    )
    # it is compressed already
    op.execute("alter table kg_export alter column content set storage external")
    op.create_table(
        "kg_link",
        sa.Column("target", sa.Text(), nullable=False),
        sa.Column("token", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("target", "token", name=op.f("pk_kg_link")),
    )
    op.create_table(
        "arb_asset_hour",
        sa.Column("asset_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("hour", AT, nullable=False),
        sa.Column("gaps", sa.BigInteger(), nullable=False),
        sa.Column("actionable", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("asset_id", "hour", name=op.f("pk_arb_asset_hour")),
    )
    op.create_index("ix_arb_asset_hour_hour", "arb_asset_hour", ["hour"])
    op.create_index("ix_arb_episode_asset_id_last_at", "arb_episode", ["asset_id", "last_at"])
    op.create_index(
        "ix_listing_state_strong_group",
        "listing_state",
        ["strong_group"],
        postgresql_where=sa.text("strong_group is not null"),
    )


def downgrade() -> None:
    op.drop_index("ix_listing_state_strong_group", "listing_state")
    op.drop_index("ix_arb_episode_asset_id_last_at", "arb_episode")
    for table in ("arb_asset_hour", "kg_link", "kg_export"):
        op.drop_table(table)

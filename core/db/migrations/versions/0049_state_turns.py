"""Changes of listing states take turns, so that their times are committed in their order."""

import sqlalchemy as sa
from alembic import op

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "listing_state_turn",
        sa.Column("id", sa.Integer(), nullable=False, autoincrement=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_listing_state_turn_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_listing_state_turn")),
    )
    op.execute(
        "insert into listing_state_turn select 1, max(updated_at) from listing_state"
        " having max(updated_at) is not null"
    )


def downgrade() -> None:
    op.drop_table("listing_state_turn")

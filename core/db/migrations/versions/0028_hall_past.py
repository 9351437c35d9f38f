"""What the days before today make in the Hall's windows, kept until the day is over."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import BYTEA, JSONB

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "hall_past",
        sa.Column("mandate_id", sa.BigInteger(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("funded", BYTEA(), nullable=False),
        sa.Column("windows", JSONB(), nullable=False),
        sa.Column("together", JSONB(), nullable=False),
        sa.Column("worth_usdc_e6", sa.Numeric(78, 0), nullable=False),
        sa.ForeignKeyConstraint(
            ["mandate_id"], ["mandate.id"], name=op.f("fk_hall_past_mandate_id")
        ),
        sa.PrimaryKeyConstraint("mandate_id", name=op.f("pk_hall_past")),
    )


def downgrade() -> None:
    op.drop_table("hall_past")

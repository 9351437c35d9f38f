"""The URLs that the guard signed payments for, so that a payment's row, which has the hash alone,
is shown with its URL.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import BYTEA

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None

TABLE = "signed_resource"


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("mandate_id", sa.BigInteger(), nullable=False),
        sa.Column("resource_hash", BYTEA(), nullable=False),
        sa.Column("resource", sa.Text(), nullable=False),
        sa.Column("signed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["mandate_id"], ["mandate.id"], name=op.f("fk_signed_resource_mandate_id")
        ),
        sa.PrimaryKeyConstraint("mandate_id", "resource_hash", name=op.f("pk_signed_resource")),
    )


def downgrade() -> None:
    op.drop_table(TABLE)

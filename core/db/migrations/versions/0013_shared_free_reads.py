"""What accounts share of a day's free reads; reports that are still looked at by account; custodial
seals by the version of their key.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

TABLE = "free_read_pool"
WALLETS, BY_VERSION = "custodial_wallet", "ix_custodial_wallet_key_version_account_id"


REPORTS, WATCHED = "transfer_report", "ix_transfer_report_watched"


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("pool", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("n", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("pool", "day", name=op.f("pk_free_read_pool")),
    )
    op.create_index(
        WATCHED, REPORTS, ["account_id", "id"], postgresql_where=sa.text("next_look_at is not null")
    )
    op.create_index(BY_VERSION, WALLETS, ["key_version", "account_id"])


def downgrade() -> None:
    op.drop_index(BY_VERSION, table_name=WALLETS)
    op.drop_index(WATCHED, table_name=REPORTS)
    op.drop_table(TABLE)

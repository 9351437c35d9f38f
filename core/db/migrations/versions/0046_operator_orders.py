"""Orders of the operator's own account at the perpetuals venue."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import BYTEA

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

AT = sa.DateTime(timezone=True)
AMOUNT = sa.Numeric(78, 0)
TABLE = "perps_operator_order"


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("account", BYTEA(), nullable=False),
        sa.Column("cloid", BYTEA(), nullable=False),
        sa.Column("nonce_ms", sa.BigInteger(), nullable=False),
        sa.Column("asset", sa.Integer(), nullable=False),
        sa.Column("coin", sa.Text(), nullable=False),
        sa.Column("side", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("size_e8", AMOUNT, nullable=False),
        sa.Column("limit_px_e8", AMOUNT, nullable=False),
        sa.Column("reduce_only", sa.Boolean(), nullable=False),
        sa.Column("largest_usdc_e6", AMOUNT, nullable=False),
        sa.Column("placed_at", AT, nullable=False),
        sa.Column("expires_at", AT, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("avg_px_e8", AMOUNT, nullable=True),
        sa.Column("total_sz_e8", AMOUNT, nullable=True),
        sa.Column("oid", sa.BigInteger(), nullable=True),
        sa.Column("reported", sa.Text(), nullable=True),
        sa.Column("reported_at", AT, nullable=True),
        sa.Column("signal_seq", sa.BigInteger(), nullable=True),
        _check("state", "'prepared', 'accepted', 'rejected', 'unknown', 'never_arrived'"),
        _check("side", "'buy', 'sell'"),
        _check("kind", "'market', 'limit'"),
        _check("reported", "'accepted', 'rejected', 'not_sent'"),
        sa.CheckConstraint(
            "(reported is null) = (reported_at is null)", name=op.f(f"ck_{TABLE}_reported_at")
        ),
        sa.ForeignKeyConstraint(["by_id"], ["account.id"], name=op.f(f"fk_{TABLE}_by_id")),
        sa.ForeignKeyConstraint(
            ["signal_seq"], ["fund_signal.seq"], name=op.f(f"fk_{TABLE}_signal_seq")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f(f"pk_{TABLE}")),
        sa.UniqueConstraint("cloid", name=op.f(f"uq_{TABLE}_cloid")),
        sa.UniqueConstraint("account", "nonce_ms", name=op.f(f"uq_{TABLE}_account_nonce_ms")),
    )
    op.create_index(f"ix_{TABLE}_account_placed_at", TABLE, ["account", "placed_at"])


def _check(column: str, values: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(f"{column} in ({values})", name=op.f(f"ck_{TABLE}_{column}"))


def downgrade() -> None:
    op.drop_table(TABLE)

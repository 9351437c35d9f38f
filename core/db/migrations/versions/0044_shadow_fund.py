"""The shadow fund, which holds no money, and insights (0044_shadow_fund.sql)."""

from pathlib import Path

from alembic import op

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

TABLES = (
    "market_insight",
    "shadow_book",
    "shadow_move",
    "shadow_asset",
    "shadow_slice",
    "shadow_bin",
    "shadow_venue",
    "shadow_trade",
)


def upgrade() -> None:
    for statement in Path(__file__).with_suffix(".sql").read_text().split(";\n"):
        if statement.strip():
            op.execute(statement)


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
    op.drop_column("arb_episode", "sell_fee_bps")
    op.drop_column("arb_episode", "buy_fee_bps")

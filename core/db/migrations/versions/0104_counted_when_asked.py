"""What one query answers is not stored: counts of consents, fills, listings, tokens and facts, what the
pairs of an exchange had, and the trailing weeks of listings beside the figures that follow from them.
"""

from alembic import op

revision = "0104"
down_revision = "0103"
branch_labels = None
depends_on = None

GONE = (
    *("fund_vault_count", "listing_count", "listing_token", "market_count", "market_peers"),
    "mining_figure",
)
WEEKS = ("began", "starts", "depths_usd", "spreads_bps", "first_prices_usd")
UNUSED_SINCE = dict.fromkeys([*GONE, *(f"market_usual.{name}" for name in WEEKS)], "0100")

UPGRADE = f"""
drop table {", ".join(GONE)};
create index ix_fund_mirror_vault_id on fund_mirror (vault_id) where revoked_at is null;
create index ix_fund_fill_vault_id on fund_fill (vault_id);
alter table market_usual add spreads integer not null default 0, drop began, drop starts, drop depths_usd,
    drop spreads_bps, drop first_prices_usd
"""


def upgrade() -> None:
    op.execute(UPGRADE)

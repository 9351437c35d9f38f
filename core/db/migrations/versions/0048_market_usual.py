"""What is usual of a listing and of an exchange, kept instead of read anew."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None

AT = sa.DateTime(timezone=True)
NUMBERS = postgresql.ARRAY(sa.Float(precision=53))


def upgrade() -> None:
    op.create_table(
        "market_usual",
        sa.Column("listing_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("bucket", AT, nullable=False),
        sa.Column("began", AT, nullable=False),
        sa.Column("depth_usd", sa.Float(), nullable=True),
        sa.Column("spread_bps", sa.Float(), nullable=True),
        sa.Column("spread_mad_bps", sa.Float(), nullable=True),
        sa.Column("spread_p95_bps", sa.Float(), nullable=True),
        sa.Column("first_price_usd", sa.Float(), nullable=True),
        sa.Column("starts", postgresql.ARRAY(AT), nullable=False),
        sa.Column("depths_usd", NUMBERS, nullable=False),
        sa.Column("spreads_bps", NUMBERS, nullable=False),
        sa.Column("first_prices_usd", NUMBERS, server_default=sa.text("'{}'"), nullable=False),
        sa.ForeignKeyConstraint(
            ["listing_id"],
            ["market_listing.listing_id"],
            name=op.f("fk_market_usual_listing_id"),
        ),
        sa.PrimaryKeyConstraint("listing_id", name=op.f("pk_market_usual")),
    )
    # each row every two hours: half of a page is for the next version of what is on it
    op.execute("alter table market_usual set (fillfactor = 45)")
    op.create_table(
        "market_peers",
        sa.Column("exchange", sa.Text(), nullable=False),
        sa.Column("spread_bps", NUMBERS, nullable=False),
        sa.Column("depth_usd", NUMBERS, nullable=False),
        sa.Column("slip_10k_bps", NUMBERS, nullable=False),
        sa.Column("volume_24h_usd", NUMBERS, nullable=False),
        sa.Column("spread_n", sa.BigInteger(), nullable=False),
        sa.Column("depth_n", sa.BigInteger(), nullable=False),
        sa.Column("slip_n", sa.BigInteger(), nullable=False),
        sa.Column("volume_n", sa.BigInteger(), nullable=False),
        sa.Column("computed_at", AT, nullable=False),
        sa.PrimaryKeyConstraint("exchange", name=op.f("pk_market_peers")),
    )
    op.add_column("listing_state", sa.Column("best_24h", sa.Text(), nullable=True))


def downgrade() -> None:
    op.drop_column("listing_state", "best_24h")
    op.drop_table("market_peers")
    op.drop_table("market_usual")

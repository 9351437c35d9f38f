"""Bounds of what one tells: claims of a token, related tokens and cards of an exchange by their place,
and a digest of the words of a claim.
"""

import sqlalchemy as sa
from alembic import op

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

IS_PUBLISHED = sa.text("state in ('unverified', 'verified')")
IS_GROUPED = sa.text("strong_group is not null")


def upgrade() -> None:
    op.create_index(
        "ix_kg_claim_published_token_id",
        "kg_claim",
        ["token", "id"],
        postgresql_where=IS_PUBLISHED,
    )
    op.execute("update kg_claim set words = encode(sha256(convert_to(words, 'UTF8')), 'hex')")
    op.drop_index("ix_market_insight_day_id", "market_insight")
    op.create_index(
        "ix_market_insight_exchange_day_id", "market_insight", ["exchange", "day", "id"]
    )
    op.drop_index("ix_listing_state_strong_group", "listing_state")
    op.create_index(
        "ix_listing_state_strong_group_token",
        "listing_state",
        ["strong_group", "token"],
        postgresql_where=IS_GROUPED,
    )


def downgrade() -> None:
    op.drop_index("ix_market_insight_exchange_day_id", "market_insight")
    op.create_index("ix_market_insight_day_id", "market_insight", ["day", "id"])
    op.drop_index("ix_listing_state_strong_group_token", "listing_state")
    op.create_index(
        "ix_listing_state_strong_group",
        "listing_state",
        ["strong_group"],
        postgresql_where=IS_GROUPED,
    )
    op.execute("update kg_claim set words = lower(claim)")
    op.drop_index("ix_kg_claim_published_token_id", "kg_claim")

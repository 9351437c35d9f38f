"""Profits over three venues are after withdrawals, with what can be acted on beside them; and tokens
are counted apart from listings.
"""

import sqlalchemy as sa
from alembic import op

revision = "0066"
down_revision = "0065"
branch_labels = None
depends_on = None

SPREADS, ACTIONABLE = "arb_multi", "actionable_profit_usd"
COUNT, TOKEN = "listing_count", "listing_token"


def upgrade() -> None:
    """Profits that were stored are before withdrawals: unknown until the next look, a minute later."""
    op.add_column(SPREADS, sa.Column(ACTIONABLE, sa.Float(53)))
    op.execute("update arb_multi set profit_usd = null")
    op.add_column(
        COUNT, sa.Column("tokens", sa.BigInteger(), server_default=sa.text("0"), nullable=False)
    )
    op.create_table(
        TOKEN,
        sa.Column("token", sa.Text(), nullable=False),
        sa.Column("facts", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.PrimaryKeyConstraint("token", name=op.f("pk_listing_token")),
    )
    op.execute("""
        insert into listing_token (token, facts)
        select l.base, count(f.entry_id) from listing l left join mining_fact f on f.listing_id = l.id
        group by l.base
    """)
    op.execute("""
        update listing_count c set tokens = first.n from (
            select exchange, count(*) as n
            from (select distinct on (base) exchange from listing order by base, id) l
            group by exchange
        ) first where first.exchange = c.exchange
    """)
    op.execute("""
        insert into mining_figure (name, n)
        select 'tokens_with_facts', count(*) from listing_token where facts > 0
    """)


def downgrade() -> None:
    op.execute("delete from mining_figure where name = 'tokens_with_facts'")
    op.execute("""
        update mining_figure set n = (select count(distinct listing_id) from mining_fact)
        where name = 'listings_with_facts'
    """)
    op.drop_table(TOKEN)
    op.drop_column(COUNT, "tokens")
    op.drop_column(SPREADS, ACTIONABLE)

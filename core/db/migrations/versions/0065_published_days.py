"""What is published once a day has versions: the warning statistics and the constituents of indices."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0065"
down_revision = "0064"
branch_labels = None
depends_on = None

TABLE = "published_day"
AT = sa.DateTime(timezone=True)
GUARD = """
create trigger published_day_is_append_only before update or delete or truncate on published_day
for each statement execute function refuse_change_of_book()
"""
STATISTICS = """
insert into published_day (subject, day, version, as_of, computed_at, cause, rules, figures)
select 'warning_statistics', day, 1, max(computed_at), max(computed_at), 'first', 'wci_v1',
       jsonb_object_agg(version, figures || jsonb_build_object('definition', definition))
from wci_daily group by day
"""
INDICES = """
insert into published_day (subject, day, version, as_of, computed_at, cause, rules, figures)
select 'fund_index:' || d.index_id, d.day, 1, d.at, d.at, 'first', 'indices_v1',
       jsonb_build_object('delivery_chain', d.delivery_chain, 'is_simulated', d.is_simulated, 'members',
           jsonb_agg(to_jsonb(m) - 'index_id' - 'day' order by m.ticker))
from fund_index_day d join fund_index_member m on m.index_id = d.index_id and m.day = d.day
group by d.index_id, d.day
"""


def upgrade() -> None:
    op.create_table(
        TABLE,
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("as_of", AT, nullable=False),
        sa.Column("computed_at", AT, nullable=False),
        sa.Column("cause", sa.Text(), nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("figures", postgresql.JSONB(), nullable=False),
        sa.CheckConstraint(
            "cause in ('first', 'late_inputs', 'correction')", name=op.f("ck_published_day_cause")
        ),
        sa.CheckConstraint(
            "version >= 1 and (version = 1) = (cause = 'first')",
            name=op.f("ck_published_day_version"),
        ),
        sa.PrimaryKeyConstraint("subject", "day", "version", name=op.f("pk_published_day")),
    )
    op.execute(STATISTICS)
    op.execute(INDICES)
    op.execute(GUARD)


def downgrade() -> None:
    """What was published since is gone: the older version publishes its days again."""
    op.drop_table(TABLE)

"""Notices whose title contradicts itself are `unsure`, and are counted."""

import sqlalchemy as sa
from alembic import op

revision = "0063"
down_revision = "0062"
branch_labels = None
depends_on = None

TABLE, CHECK, INDEX = "market_notice", "ck_market_notice_kind", "ix_market_notice_unsure"
KINDS = (
    "'st_tag', 'caution_designation', 'delist_notice', 'suspend_notice', 'delisting_confirmed', "
    "'resume_notice', 'maintenance', 'quote_pair_removal', 'other'"
)


def upgrade() -> None:
    _check(f"{KINDS}, 'unsure'")
    op.create_index(INDEX, TABLE, ["published_at"], postgresql_where=sa.text("kind = 'unsure'"))


def downgrade() -> None:
    op.drop_index(INDEX, TABLE)
    op.execute(f"alter table {TABLE} disable trigger user")
    op.execute(f"update {TABLE} set kind = 'other' where kind = 'unsure'")  # noqa: S608 (our own words)
    op.execute(f"alter table {TABLE} enable trigger user")
    _check(KINDS)


def _check(kinds: str) -> None:
    op.drop_constraint(op.f(CHECK), TABLE)
    op.create_check_constraint(op.f(CHECK), TABLE, f"kind in ({kinds})")

"""A plan of a paid signal may end without an order, and keeps its charge."""

from alembic import op

revision = "0064"
down_revision = "0063"
branch_labels = None
depends_on = None

TABLE, CHECK = "fund_plan", "ck_fund_plan_is_charged"


def upgrade() -> None:
    op.drop_constraint(op.f(CHECK), TABLE)


def downgrade() -> None:
    """Charged plans without an order stand as they are: the older version reads them alike."""
    op.create_check_constraint(
        op.f(CHECK),
        TABLE,
        "not is_charged or notional_usdc_e6 is not null",
        postgresql_not_valid=True,
    )

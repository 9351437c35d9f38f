"""Indices with their days, applications for pilots with their bonds, paper followers."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

AT = sa.DateTime(timezone=True)
AMOUNT = sa.Numeric(78, 0)
GUARD = """
create trigger {table}_is_append_only before update or delete or truncate on {table}
for each statement execute function refuse_change_of_book()
"""
APPEND_ONLY = (
    "fund_index_day",
    "fund_index_member",
    "fund_application_move",
    "fund_paper_trade",
    "fund_paper_mark",
)
TABLES = (
    "fund_paper_mark",
    "fund_paper_trade",
    "fund_paper_position",
    "fund_paper",
    "fund_application_move",
    "fund_application",
    "fund_index_member",
    "fund_index_day",
)


def upgrade() -> None:
    _indices()
    _applications()
    _paper()
    for table in APPEND_ONLY:
        op.execute(GUARD.format(table=table))


def _indices() -> None:
    op.create_table(
        "fund_index",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("delivery_chain", sa.Text(), nullable=False),
        sa.Column("registered_at", AT, nullable=False),
        sa.Column("day", sa.Date(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fund_index")),
        sa.UniqueConstraint("key", name=op.f("uq_fund_index_key")),
    )
    op.create_table(
        "fund_index_day",
        sa.Column("index_id", sa.BigInteger(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("delivery_chain", sa.Text(), nullable=False),
        sa.Column("is_simulated", sa.Boolean(), nullable=False),
        sa.Column("at", AT, nullable=False),
        sa.ForeignKeyConstraint(
            ["index_id"], ["fund_index.id"], name=op.f("fk_fund_index_day_index_id")
        ),
        sa.PrimaryKeyConstraint("index_id", "day", name=op.f("pk_fund_index_day")),
    )
    op.create_table(
        "fund_index_member",
        sa.Column("index_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("ticker", sa.Text(), nullable=False),
        sa.Column("categories", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("exclusion", sa.Text(), nullable=True),
        sa.Column("market", sa.Text(), nullable=True),
        sa.Column("weight_e4", sa.Integer(), nullable=True),
        sa.Column("depth_usdc_e6", AMOUNT, nullable=True),
        sa.Column("venues", sa.Integer(), nullable=False),
        sa.Column("is_deliverable", sa.Boolean(), nullable=True),
        sa.CheckConstraint(
            "exclusion in ('not_listed', 'identity_unverified', 'too_few_venues', 'depth_unknown')",
            name=op.f("ck_fund_index_member_exclusion"),
        ),
        sa.CheckConstraint(
            "(exclusion is null) = (weight_e4 is not null)",
            name=op.f("ck_fund_index_member_weight_e4"),
        ),
        sa.CheckConstraint(
            "(exclusion is null) = (market is not null)", name=op.f("ck_fund_index_member_market")
        ),
        sa.ForeignKeyConstraint(
            ["index_id", "day"],
            ["fund_index_day.index_id", "fund_index_day.day"],
            name=op.f("fk_fund_index_member_index_id_day"),
        ),
        sa.PrimaryKeyConstraint("index_id", "day", "ticker", name=op.f("pk_fund_index_member")),
    )
    op.add_column("fund_vault", sa.Column("index_id", sa.BigInteger(), nullable=True))
    op.create_foreign_key(
        op.f("fk_fund_vault_index_id"), "fund_vault", "fund_index", ["index_id"], ["id"]
    )


def _applications() -> None:
    op.create_table(
        "fund_application",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("index_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("categories", postgresql.ARRAY(sa.Text()), nullable=False),
        sa.Column("fund_type", sa.Text(), nullable=False),
        sa.Column("plan_text", sa.Text(), nullable=False),
        sa.Column("cadence", sa.Text(), nullable=False),
        sa.Column("leverage_e2", sa.Integer(), nullable=False),
        sa.Column("fee_bps", sa.Integer(), nullable=False),
        sa.Column("tvl_cap_usdc_e6", AMOUNT, nullable=False),
        sa.Column("bond_currency", sa.Text(), nullable=False),
        sa.Column("bond_usdc_e6", AMOUNT, nullable=True),
        sa.Column("bond_credits", sa.BigInteger(), nullable=True),
        sa.Column("bond_tx", sa.LargeBinary(length=32), nullable=True),
        sa.Column("bond_from", postgresql.BYTEA(), nullable=True),
        sa.Column("bond_to", postgresql.BYTEA(), nullable=True),
        sa.Column(
            "is_bond_returned", sa.Boolean(), server_default=sa.text("false"), nullable=False
        ),
        sa.Column("vault_id", sa.BigInteger(), nullable=True),
        sa.Column("submitted_at", AT, nullable=False),
        sa.Column("decided_at", AT, nullable=True),
        sa.CheckConstraint(
            "state in ('submitted', 'approved', 'rejected')",
            name=op.f("ck_fund_application_state"),
        ),
        sa.CheckConstraint(
            "fund_type in ('passive', 'active')", name=op.f("ck_fund_application_fund_type")
        ),
        sa.CheckConstraint(
            "cadence in ('daily', 'weekly', 'monthly', 'quarterly')",
            name=op.f("ck_fund_application_cadence"),
        ),
        sa.CheckConstraint(
            "bond_currency in ('usdc', 'credit')", name=op.f("ck_fund_application_bond_currency")
        ),
        sa.CheckConstraint(
            "(bond_currency = 'usdc') = (bond_usdc_e6 is not null) and "
            "(bond_currency = 'credit') = (bond_credits is not null)",
            name=op.f("ck_fund_application_bond"),
        ),
        sa.CheckConstraint(
            "(bond_currency = 'usdc') = (bond_tx is not null) and "
            "(bond_tx is null) = (bond_from is null) and (bond_tx is null) = (bond_to is null)",
            name=op.f("ck_fund_application_bond_tx"),
        ),
        sa.CheckConstraint(
            "(vault_id is not null) = (state = 'approved')",
            name=op.f("ck_fund_application_vault_id"),
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_fund_application_account_id")
        ),
        sa.ForeignKeyConstraint(
            ["index_id"], ["fund_index.id"], name=op.f("fk_fund_application_index_id")
        ),
        sa.ForeignKeyConstraint(
            ["vault_id"], ["fund_vault.id"], name=op.f("fk_fund_application_vault_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fund_application")),
        sa.UniqueConstraint("bond_tx", name=op.f("uq_fund_application_bond_tx")),
        sa.UniqueConstraint("vault_id", name=op.f("uq_fund_application_vault_id")),
    )
    op.create_index(
        "uq_fund_application_submitted",
        "fund_application",
        ["account_id", "index_id"],
        unique=True,
        postgresql_where=sa.text("state = 'submitted'"),
    )
    op.create_index("ix_fund_application_account_id_id", "fund_application", ["account_id", "id"])
    op.create_index(
        "ix_fund_application_waiting",
        "fund_application",
        ["id"],
        postgresql_where=sa.text("state = 'submitted'"),
    )
    op.create_index(
        "ix_fund_application_bond_held",
        "fund_application",
        ["id"],
        postgresql_where=sa.text("bond_currency = 'credit' and not is_bond_returned"),
    )
    op.create_table(
        "fund_application_move",
        sa.Column("application_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("tx", sa.LargeBinary(length=32), nullable=True),
        sa.Column("by_id", sa.BigInteger(), nullable=True),
        sa.Column("at", AT, nullable=False),
        sa.CheckConstraint(
            "kind in ('approved', 'rejected', 'bond_returned')",
            name=op.f("ck_fund_application_move_kind"),
        ),
        sa.CheckConstraint(
            "(reason is not null) = (kind = 'rejected')",
            name=op.f("ck_fund_application_move_reason"),
        ),
        sa.CheckConstraint(
            "tx is null or kind = 'bond_returned'", name=op.f("ck_fund_application_move_tx")
        ),
        sa.CheckConstraint(
            "by_id is not null or kind = 'bond_returned'",
            name=op.f("ck_fund_application_move_by_id"),
        ),
        sa.ForeignKeyConstraint(
            ["application_id"],
            ["fund_application.id"],
            name=op.f("fk_fund_application_move_application_id"),
        ),
        sa.ForeignKeyConstraint(
            ["by_id"], ["account.id"], name=op.f("fk_fund_application_move_by_id")
        ),
        sa.PrimaryKeyConstraint("application_id", "kind", name=op.f("pk_fund_application_move")),
        sa.UniqueConstraint("tx", name=op.f("uq_fund_application_move_tx")),
    )


def _sums() -> tuple[sa.Column[Any], ...]:
    return (
        sa.Column("max_drawdown_bps_e2", sa.BigInteger(), nullable=False),
        sa.Column("trades", sa.BigInteger(), nullable=False),
        sa.Column("fees_usdc_e6", AMOUNT, nullable=False),
        sa.Column("impact_usdc_e6", AMOUNT, nullable=False),
        sa.Column("fund_fees_usdc_e6", AMOUNT, nullable=False),
    )


def _paper() -> None:
    op.create_table(
        "fund_paper",
        sa.Column("vault_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("opened_at", AT, nullable=False),
        sa.Column("cash_usdc_e6", AMOUNT, nullable=False),
        sa.Column("peak_usdc_e6", AMOUNT, nullable=False),
        *_sums(),
        sa.Column("accrued_at", AT, nullable=False),
        sa.ForeignKeyConstraint(
            ["vault_id"], ["fund_vault.id"], name=op.f("fk_fund_paper_vault_id")
        ),
        sa.PrimaryKeyConstraint("vault_id", name=op.f("pk_fund_paper")),
    )
    op.create_table(
        "fund_paper_position",
        sa.Column("vault_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("market", sa.Text(), nullable=False),
        sa.Column("quantity_e18", AMOUNT, nullable=False),
        sa.ForeignKeyConstraint(
            ["vault_id"], ["fund_paper.vault_id"], name=op.f("fk_fund_paper_position_vault_id")
        ),
        sa.PrimaryKeyConstraint("vault_id", "market", name=op.f("pk_fund_paper_position")),
    )
    op.create_table(
        "fund_paper_trade",
        sa.Column("signal_seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("vault_id", sa.BigInteger(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("side", sa.Text(), nullable=True),
        sa.Column("quantity_e18", AMOUNT, nullable=True),
        sa.Column("usdc_e6", AMOUNT, nullable=True),
        sa.Column("fee_usdc_e6", AMOUNT, nullable=True),
        sa.Column("impact_usdc_e6", AMOUNT, nullable=True),
        sa.Column("at", AT, nullable=False),
        sa.CheckConstraint(
            "(reason is null) = (quantity_e18 is not null)",
            name=op.f("ck_fund_paper_trade_reason"),
        ),
        sa.ForeignKeyConstraint(
            ["signal_seq"], ["fund_signal.seq"], name=op.f("fk_fund_paper_trade_signal_seq")
        ),
        sa.ForeignKeyConstraint(
            ["vault_id"], ["fund_paper.vault_id"], name=op.f("fk_fund_paper_trade_vault_id")
        ),
        sa.PrimaryKeyConstraint("signal_seq", name=op.f("pk_fund_paper_trade")),
    )
    op.create_table(
        "fund_paper_mark",
        sa.Column("vault_id", sa.BigInteger(), nullable=False),
        sa.Column("hour", AT, nullable=False),
        sa.Column("at", AT, nullable=False),
        sa.Column("nav_usdc_e6", AMOUNT, nullable=False),
        sa.Column("drawdown_bps_e2", sa.BigInteger(), nullable=False),
        *_sums(),
        sa.ForeignKeyConstraint(
            ["vault_id"], ["fund_paper.vault_id"], name=op.f("fk_fund_paper_mark_vault_id")
        ),
        sa.PrimaryKeyConstraint("vault_id", "hour", name=op.f("pk_fund_paper_mark")),
    )


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)
    op.drop_constraint(op.f("fk_fund_vault_index_id"), "fund_vault", type_="foreignkey")
    op.drop_column("fund_vault", "index_id")
    op.drop_table("fund_index")

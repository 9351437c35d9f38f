"""Vaults of the fund, their rules and signals, consents, plans and fills of followers."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

AT = sa.DateTime(timezone=True)
GUARD = """
create trigger {table}_is_append_only before update or delete or truncate on {table}
for each statement execute function refuse_change_of_book()
"""
APPEND_ONLY = (
    "fund_rules",
    "fund_vault_event",
    "fund_signal",
    "fund_fill",
    "fund_plan",
    "fund_signal_sale",
)
TABLES = (
    "fund_signal_sale",
    "fund_plan",
    "fund_fill",
    "fund_signal",
    "fund_vault_event",
    "fund_rules",
    "fund_mirror",
    "fund_vault",
    "fund_signal_head",
    "fund_book_position",
)


def upgrade() -> None:
    _fund_book_position()
    _fund_rules()
    _fund_plan()
    for table in APPEND_ONLY:
        op.execute(GUARD.format(table=table))


def _fund_book_position() -> None:
    op.create_table(
        "fund_book_position",
        sa.Column("address", postgresql.BYTEA(), nullable=False),
        sa.Column("market", sa.Text(), nullable=False),
        sa.Column("notional_usdc_e6", sa.Numeric(78, 0), nullable=False),
        sa.Column("updated_at", AT, nullable=False),
        sa.PrimaryKeyConstraint("address", "market", name=op.f("pk_fund_book_position")),
    )
    op.create_table(
        "fund_signal_head",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("row_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("at", AT, nullable=True),
        sa.CheckConstraint("id = 1", name=op.f("ck_fund_signal_head_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fund_signal_head")),
    )
    op.create_table(
        "fund_vault",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("is_paused", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("rules_version", sa.Integer(), nullable=False),
        sa.Column("maker_id", sa.BigInteger(), nullable=True),
        sa.Column("is_simulated", sa.Boolean(), nullable=False),
        sa.Column("created_at", AT, nullable=False),
        sa.CheckConstraint("kind in ('spot', 'perp')", name=op.f("ck_fund_vault_kind")),
        sa.ForeignKeyConstraint(["maker_id"], ["account.id"], name=op.f("fk_fund_vault_maker_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fund_vault")),
    )
    op.create_table(
        "fund_mirror",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("vault_id", sa.BigInteger(), nullable=False),
        sa.Column("address", postgresql.BYTEA(), nullable=False),
        sa.Column("max_order_usdc_e6", sa.Numeric(78, 0), nullable=False),
        sa.Column("max_leverage_e2", sa.Integer(), nullable=False),
        sa.Column("rules_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("given_at", AT, nullable=False),
        sa.Column("revoked_at", AT, nullable=True),
        sa.CheckConstraint(
            "max_leverage_e2 between 1 and 2000", name=op.f("ck_fund_mirror_max_leverage_e2")
        ),
        sa.CheckConstraint("max_order_usdc_e6 > 0", name=op.f("ck_fund_mirror_max_order_usdc_e6")),
        sa.CheckConstraint("revoked_at >= given_at", name=op.f("ck_fund_mirror_revoked_at")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_fund_mirror_account_id")
        ),
        sa.ForeignKeyConstraint(
            ["vault_id"], ["fund_vault.id"], name=op.f("fk_fund_mirror_vault_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fund_mirror")),
    )
    op.create_index(
        "ix_fund_mirror_vault_id",
        "fund_mirror",
        ["vault_id"],
        unique=False,
        postgresql_where=sa.text("revoked_at is null"),
    )
    op.create_index(
        "uq_fund_mirror_standing",
        "fund_mirror",
        ["account_id", "vault_id"],
        unique=True,
        postgresql_where=sa.text("revoked_at is null"),
    )


def _fund_rules() -> None:
    op.create_table(
        "fund_rules",
        sa.Column("vault_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("document", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("rules_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("frozen_at", AT, nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["by_id"], ["account.id"], name=op.f("fk_fund_rules_by_id")),
        sa.ForeignKeyConstraint(
            ["vault_id"], ["fund_vault.id"], name=op.f("fk_fund_rules_vault_id")
        ),
        sa.PrimaryKeyConstraint("vault_id", "version", name=op.f("pk_fund_rules")),
        sa.UniqueConstraint("rules_hash", name=op.f("uq_fund_rules_rules_hash")),
    )
    op.create_table(
        "fund_vault_event",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("vault_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", AT, nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("kind in ('paused', 'resumed')", name=op.f("ck_fund_vault_event_kind")),
        sa.ForeignKeyConstraint(["by_id"], ["account.id"], name=op.f("fk_fund_vault_event_by_id")),
        sa.ForeignKeyConstraint(
            ["vault_id"], ["fund_vault.id"], name=op.f("fk_fund_vault_event_vault_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fund_vault_event")),
    )
    op.create_index(
        "ix_fund_vault_event_vault_id_id", "fund_vault_event", ["vault_id", "id"], unique=False
    )
    op.create_table(
        "fund_signal",
        sa.Column("seq", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("vault_id", sa.BigInteger(), nullable=False),
        sa.Column("rules_version", sa.Integer(), nullable=False),
        sa.Column("market", sa.Text(), nullable=False),
        sa.Column("weight_e4", sa.Integer(), nullable=False),
        sa.Column("leverage_e2", sa.Integer(), nullable=False),
        sa.Column("mid", sa.Text(), nullable=True),
        sa.Column("at", AT, nullable=False),
        sa.Column("by_id", sa.BigInteger(), nullable=True),
        sa.Column("prev_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("row_hash", sa.LargeBinary(length=32), nullable=False),
        sa.CheckConstraint("abs(weight_e4) <= 10000", name=op.f("ck_fund_signal_weight_e4")),
        sa.CheckConstraint(
            "leverage_e2 between 1 and 2000", name=op.f("ck_fund_signal_leverage_e2")
        ),
        sa.ForeignKeyConstraint(["by_id"], ["account.id"], name=op.f("fk_fund_signal_by_id")),
        sa.ForeignKeyConstraint(
            ["vault_id", "rules_version"],
            ["fund_rules.vault_id", "fund_rules.version"],
            name=op.f("fk_fund_signal_vault_id_rules_version"),
        ),
        sa.ForeignKeyConstraint(
            ["vault_id"], ["fund_vault.id"], name=op.f("fk_fund_signal_vault_id")
        ),
        sa.PrimaryKeyConstraint("seq", name=op.f("pk_fund_signal")),
    )
    op.create_index(
        "ix_fund_signal_vault_id_at_seq", "fund_signal", ["vault_id", "at", "seq"], unique=False
    )
    op.create_index(
        "ix_fund_signal_vault_id_market_seq",
        "fund_signal",
        ["vault_id", "market", "seq"],
        unique=False,
    )
    op.create_table(
        "fund_fill",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("vault_id", sa.BigInteger(), nullable=False),
        sa.Column("signal_seq", sa.BigInteger(), nullable=False),
        sa.Column("mirror_id", sa.BigInteger(), nullable=False),
        sa.Column("identity", sa.LargeBinary(length=32), nullable=False),
        sa.Column("side", sa.Text(), nullable=False),
        sa.Column("price", sa.Text(), nullable=False),
        sa.Column("quantity", sa.Text(), nullable=False),
        sa.Column("venue_order_id", sa.Text(), nullable=True),
        sa.Column("filled_at", AT, nullable=False),
        sa.Column("reported_at", AT, nullable=False),
        sa.CheckConstraint("side in ('buy', 'sell')", name=op.f("ck_fund_fill_side")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_fund_fill_account_id")
        ),
        sa.ForeignKeyConstraint(
            ["mirror_id"], ["fund_mirror.id"], name=op.f("fk_fund_fill_mirror_id")
        ),
        sa.ForeignKeyConstraint(
            ["signal_seq"], ["fund_signal.seq"], name=op.f("fk_fund_fill_signal_seq")
        ),
        sa.ForeignKeyConstraint(
            ["vault_id"], ["fund_vault.id"], name=op.f("fk_fund_fill_vault_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fund_fill")),
        sa.UniqueConstraint(
            "signal_seq",
            "account_id",
            "identity",
            name=op.f("uq_fund_fill_signal_seq_account_id_identity"),
        ),
    )
    op.create_index(
        "ix_fund_fill_account_id_vault_id_id",
        "fund_fill",
        ["account_id", "vault_id", "id"],
        unique=False,
    )
    op.create_index("ix_fund_fill_vault_id", "fund_fill", ["vault_id"], unique=False)


def _fund_plan() -> None:
    op.create_table(
        "fund_plan",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("signal_seq", sa.BigInteger(), nullable=False),
        sa.Column("mirror_id", sa.BigInteger(), nullable=False),
        sa.Column("disposition", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("is_charged", sa.Boolean(), nullable=False),
        sa.Column("notional_usdc_e6", sa.Numeric(78, 0), nullable=True),
        sa.Column("mid", sa.Text(), nullable=True),
        sa.Column("at", AT, nullable=False),
        sa.CheckConstraint(
            "disposition in ('ready', 'capped', 'skipped', 'deferred', 'refused')",
            name=op.f("ck_fund_plan_disposition"),
        ),
        sa.CheckConstraint(
            "reason in ('vault_paused', 'signal_superseded', 'session_closed', 'session_unknown', 'leverage_above_consent', "
            "'account_unknown', 'grade_unknown', 'grade_f', 'market_unmeasured', 'at_target', 'order_too_small')",
            name=op.f("ck_fund_plan_reason"),
        ),
        sa.CheckConstraint(
            "(reason is null) = (notional_usdc_e6 is not null)", name=op.f("ck_fund_plan_order")
        ),
        sa.CheckConstraint(
            "not is_charged or notional_usdc_e6 is not null", name=op.f("ck_fund_plan_is_charged")
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_fund_plan_account_id")
        ),
        sa.ForeignKeyConstraint(
            ["mirror_id"], ["fund_mirror.id"], name=op.f("fk_fund_plan_mirror_id")
        ),
        sa.ForeignKeyConstraint(
            ["signal_seq"], ["fund_signal.seq"], name=op.f("fk_fund_plan_signal_seq")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fund_plan")),
    )
    op.create_index(
        "ix_fund_plan_account_id_signal_seq_id",
        "fund_plan",
        ["account_id", "signal_seq", "id"],
        unique=False,
    )
    op.create_table(
        "fund_signal_sale",
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("signal_seq", sa.BigInteger(), nullable=False),
        sa.Column("paid_by", sa.Text(), nullable=False),
        sa.Column("price_key", sa.Text(), nullable=False),
        sa.Column("at", AT, nullable=False),
        sa.CheckConstraint(
            "paid_by in ('credits', 'usdc')", name=op.f("ck_fund_signal_sale_paid_by")
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_fund_signal_sale_account_id")
        ),
        sa.ForeignKeyConstraint(
            ["signal_seq"], ["fund_signal.seq"], name=op.f("fk_fund_signal_sale_signal_seq")
        ),
        sa.PrimaryKeyConstraint("account_id", "signal_seq", name=op.f("pk_fund_signal_sale")),
    )


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)

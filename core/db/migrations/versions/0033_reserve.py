"""The reserve token: its events, conversions into credit, references and claims; the last reading
of the contract; findings of a kind of their own.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0033"
down_revision = "0032"
branch_labels = None
depends_on = None

KINDS = ("block", "log", "revert", "vault", "cash", "totals", "book")
TABLES = (
    "reserve_ref",
    "reserve_converted",
    "reserve_conversion",
    "reserve_claim",
    "reserve_reading",
    "reserve_event",
)


def upgrade() -> None:
    _say_kinds((*KINDS, "reserve"))
    op.create_table(
        "reserve_event",
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("block_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("log_index", sa.Integer(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("party", postgresql.BYTEA(), nullable=True),
        sa.Column("recipient", postgresql.BYTEA(), nullable=True),
        sa.Column("account_ref", sa.LargeBinary(length=32), nullable=True),
        sa.Column("tokens", sa.Numeric(78, 0), nullable=False),
        sa.Column("usdc_e6", sa.Numeric(78, 0), nullable=False),
        sa.Column("reserve_after_e6", sa.Numeric(78, 0), nullable=False),
        sa.Column("supply_after", sa.Numeric(78, 0), nullable=False),
        sa.Column("owed_after_e6", sa.Numeric(78, 0), nullable=False),
        sa.Column("is_paused_after", sa.Boolean(), nullable=False),
        sa.Column("treasury_after", postgresql.BYTEA(), nullable=True),
        sa.CheckConstraint(
            "kind in ('bought', 'redeemed', 'converted', 'treasury_paid', 'treasury_changed', 'paused', 'unpaused')",
            name=op.f("ck_reserve_event_kind"),
        ),
        sa.PrimaryKeyConstraint(
            "chain_id", "block_hash", "log_index", name=op.f("pk_reserve_event")
        ),
    )
    op.create_index(
        "ix_reserve_event_chain_id_number_log_index",
        "reserve_event",
        ["chain_id", "number", "log_index"],
        unique=False,
    )
    op.create_index("ix_reserve_event_party", "reserve_event", ["party", "number"], unique=False)
    op.create_index(
        "ix_reserve_event_recipient",
        "reserve_event",
        ["recipient", "number"],
        unique=False,
        postgresql_where=sa.text("recipient is not null"),
    )
    op.create_index("ix_reserve_event_tx_hash", "reserve_event", ["tx_hash"], unique=False)
    op.create_table(
        "reserve_reading",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("block_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("at", sa.BigInteger(), nullable=False),
        sa.Column("reserve_e6", sa.Numeric(78, 0), nullable=False),
        sa.Column("supply", sa.Numeric(78, 0), nullable=False),
        sa.Column("owed_e6", sa.Numeric(78, 0), nullable=False),
        sa.Column("usdc_e6", sa.Numeric(78, 0), nullable=False),
        sa.Column("is_reconciled", sa.Boolean(), nullable=False),
        sa.Column("read_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", name=op.f("pk_reserve_reading")),
    )
    op.create_table(
        "reserve_claim",
        sa.Column("account_ref", sa.LargeBinary(length=32), nullable=False),
        sa.Column("holder", postgresql.BYTEA(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_reserve_claim_account_id")
        ),
        sa.PrimaryKeyConstraint("account_ref", "holder", name=op.f("pk_reserve_claim")),
    )
    op.create_index(
        op.f("ix_reserve_claim_account_id"), "reserve_claim", ["account_id"], unique=False
    )
    op.create_table(
        "reserve_conversion",
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("block_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("log_index", sa.Integer(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("holder", postgresql.BYTEA(), nullable=False),
        sa.Column("account_ref", sa.LargeBinary(length=32), nullable=False),
        sa.Column("tokens", sa.Numeric(78, 0), nullable=False),
        sa.Column("usdc_e6", sa.Numeric(78, 0), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("occurrence", sa.Integer(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=True),
        sa.Column("credits", sa.BigInteger(), nullable=True),
        sa.Column("trouble", sa.Text(), nullable=True),
        sa.Column("tries", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("credited_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(status <> 'credited') or (account_id is not null and credits is not null)",
            name=op.f("ck_reserve_conversion_credited"),
        ),
        sa.CheckConstraint(
            "status in ('waiting', 'credited', 'held', 'set_aside', 'reversed')",
            name=op.f("ck_reserve_conversion_status"),
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_reserve_conversion_account_id")
        ),
        sa.PrimaryKeyConstraint(
            "chain_id", "block_hash", "log_index", name=op.f("pk_reserve_conversion")
        ),
    )
    op.create_index(
        "ix_reserve_conversion_account_ref_number",
        "reserve_conversion",
        ["account_ref", "number"],
        unique=False,
    )
    op.create_index(
        "ix_reserve_conversion_due",
        "reserve_conversion",
        ["holder", "number", "log_index"],
        unique=False,
        postgresql_where=sa.text("status in ('waiting', 'set_aside')"),
    )
    op.create_index(
        "ix_reserve_conversion_holder_number",
        "reserve_conversion",
        ["holder", "number"],
        unique=False,
    )
    op.create_index(
        "uq_reserve_conversion_credited",
        "reserve_conversion",
        ["chain_id", "tx_hash", "log_index"],
        unique=True,
        postgresql_where=sa.text("status = 'credited'"),
    )
    op.create_table(
        "reserve_converted",
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("account_ref", sa.LargeBinary(length=32), nullable=False),
        sa.Column("usdc_e6", sa.Numeric(78, 0), nullable=False),
        sa.CheckConstraint("usdc_e6 >= 0", name=op.f("ck_reserve_converted_usdc_e6")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_reserve_converted_account_id")
        ),
        sa.PrimaryKeyConstraint("account_id", "account_ref", name=op.f("pk_reserve_converted")),
    )
    op.create_table(
        "reserve_ref",
        sa.Column("account_ref", sa.LargeBinary(length=32), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("issued_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_reserve_ref_account_id")
        ),
        sa.PrimaryKeyConstraint("account_ref", name=op.f("pk_reserve_ref")),
        sa.UniqueConstraint("account_id", name=op.f("uq_reserve_ref_account_id")),
    )
    op.create_index(
        "ix_credit_entry_reserve",
        "credit_entry",
        ["account_id"],
        unique=False,
        postgresql_where=sa.text("counter = 'reserve'"),
    )


def downgrade() -> None:
    op.drop_index("ix_credit_entry_reserve", table_name="credit_entry")
    for table in TABLES:
        op.drop_table(table)
    _say_kinds(KINDS)


def _say_kinds(kinds: tuple[str, ...]) -> None:
    words = ", ".join(f"'{kind}'" for kind in kinds)
    op.drop_constraint(op.f("ck_audit_finding_kind"), "audit_finding")
    op.create_check_constraint(op.f("ck_audit_finding_kind"), "audit_finding", f"kind in ({words})")

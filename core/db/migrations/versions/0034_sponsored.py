"""Sponsored buys, and a purse for each request of the outbox."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import BYTEA

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

N78 = sa.Numeric(78, 0)
HASH = sa.LargeBinary(32)
BYTES = BYTEA()
AT = sa.DateTime(timezone=True)


def upgrade() -> None:
    _purses()
    op.create_table(
        "sponsored_buy",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        *(
            sa.Column(name, BYTES, nullable=False)
            for name in ("buyer", "recipient", "reserve_token", "batch", "treasury")
        ),
        *(
            sa.Column(name, N78, nullable=False)
            for name in ("amount_usdc_e6", "fee_usdc_e6", "credit_usdc_e6", "tokens", "min_tokens")
        ),
        *(sa.Column(name, HASH, nullable=False) for name in ("salt", "buy_nonce", "fee_nonce")),
        sa.Column("covers_wei", N78, nullable=False),
        sa.Column("valid_before", sa.BigInteger(), nullable=False),
        sa.Column("expires_at", AT, nullable=False),
        sa.Column("created_at", AT, nullable=False),
        sa.Column("purchase_signature", BYTES, nullable=True),
        sa.Column("fee_signature", BYTES, nullable=True),
        sa.Column("accepted_at", AT, nullable=True),
        sa.Column("requests", sa.BigInteger(), nullable=False),
        sa.CheckConstraint(
            "(accepted_at is null) = (purchase_signature is null)"
            " and (accepted_at is null) = (fee_signature is null)",
            name=op.f("ck_sponsored_buy_signed"),
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_sponsored_buy_account_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sponsored_buy")),
        sa.UniqueConstraint("buy_nonce", name=op.f("uq_sponsored_buy_buy_nonce")),
        sa.UniqueConstraint("fee_nonce", name=op.f("uq_sponsored_buy_fee_nonce")),
    )
    op.create_index(
        "ix_sponsored_buy_account_id_accepted_at", "sponsored_buy", ["account_id", "accepted_at"]
    )
    op.create_index(
        "ix_sponsored_buy_buyer",
        "sponsored_buy",
        ["buyer"],
        postgresql_where=sa.text("accepted_at is not null"),
    )
    op.create_index(
        "ix_sponsored_buy_prepared",
        "sponsored_buy",
        ["valid_before"],
        postgresql_where=sa.text("accepted_at is null"),
    )
    op.create_index("ix_sponsored_buy_valid_before", "sponsored_buy", ["valid_before"])
    op.create_table(
        "sponsored_use",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("block_hash", HASH, nullable=False),
        sa.Column("log_index", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("tx_hash", HASH, nullable=False),
        sa.Column("nonce", HASH, nullable=False),
        sa.Column("use", sa.Text(), nullable=False),
        sa.Column("tokens", N78, nullable=True),
        sa.CheckConstraint(
            "use in ('paid', 'elsewhere', 'cancelled')", name=op.f("ck_sponsored_use_use")
        ),
        sa.PrimaryKeyConstraint(
            "chain_id", "block_hash", "log_index", name=op.f("pk_sponsored_use")
        ),
    )
    op.create_index("ix_sponsored_use_nonce", "sponsored_use", ["nonce"])
    op.create_table(
        "sponsor_heartbeat",
        sa.Column("chain_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("sponsor", BYTES, nullable=False),
        sa.Column("balance_wei", N78, nullable=False),
        sa.Column("at", AT, nullable=False),
        sa.PrimaryKeyConstraint("chain_id", name=op.f("pk_sponsor_heartbeat")),
    )


def _purses() -> None:
    op.add_column(
        "outbox_queue", sa.Column("purse", sa.Text(), server_default="custody", nullable=False)
    )
    op.add_column("outbox_queue", sa.Column("most_wei", N78, nullable=True))
    op.create_check_constraint(
        op.f("ck_outbox_queue_purse"), "outbox_queue", "purse in ('custody', 'sponsor')"
    )
    _index("due", ["purse", "due_at", "outbox_id"], "not is_taken")
    _index("taken", ["purse", "outbox_id"], "is_taken")


def _index(name: str, columns: list[str], where: str) -> None:
    op.drop_index(f"ix_outbox_queue_{name}", table_name="outbox_queue")
    op.create_index(
        f"ix_outbox_queue_{name}", "outbox_queue", columns, postgresql_where=sa.text(where)
    )


def downgrade() -> None:
    for table in ("sponsor_heartbeat", "sponsored_use", "sponsored_buy"):
        op.drop_table(table)
    _index("taken", ["outbox_id"], "is_taken")
    _index("due", ["due_at", "outbox_id"], "not is_taken")
    op.drop_constraint(op.f("ck_outbox_queue_purse"), "outbox_queue", type_="check")
    op.drop_column("outbox_queue", "most_wei")
    op.drop_column("outbox_queue", "purse")

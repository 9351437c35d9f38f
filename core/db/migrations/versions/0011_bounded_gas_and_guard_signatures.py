"""What settling payments has cost in gas, try by try and day by day, and what the guard signed that
is not mined yet.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import BYTEA

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

PAYER, DAY, SETTLEMENT, SIGNATURE = (
    "x402_payer",
    "x402_gas_day",
    "x402_settlement",
    "guard_signature",
)
PAYMENT = ["asset", "payer", "nonce"]
UNDER_WAY = """
    insert into x402_payer (asset, payer, claims, claimed_usdc_e6)
    select asset, payer, count(*), sum(amount_usdc_e6) from x402_payment where state = 'claimed' group by asset, payer
"""


def upgrade() -> None:
    op.create_table(
        PAYER,
        sa.Column("asset", BYTEA(), nullable=False),
        sa.Column("payer", BYTEA(), nullable=False),
        sa.Column("claims", sa.BigInteger(), nullable=False),
        sa.Column("claimed_usdc_e6", sa.Numeric(78, 0), nullable=False),
        sa.PrimaryKeyConstraint("asset", "payer", name=op.f("pk_x402_payer")),
    )
    op.execute(UNDER_WAY)
    op.create_table(
        DAY,
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("used_wei", sa.Numeric(78, 0), nullable=False),
        sa.Column("contract_wei", sa.Numeric(78, 0), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_x402_gas_day")),
    )
    op.create_table(
        SETTLEMENT,
        sa.Column("id", sa.BigInteger(), sa.Identity(), nullable=False),
        sa.Column("asset", BYTEA(), nullable=False),
        sa.Column("payer", BYTEA(), nullable=False),
        sa.Column("nonce", BYTEA(), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("reserved_wei", sa.Numeric(78, 0), nullable=False),
        sa.Column("is_contract", sa.Boolean(), nullable=False),
        sa.Column("tx_hash", BYTEA(), nullable=True),
        sa.Column("cost_wei", sa.Numeric(78, 0), nullable=True),
        sa.Column("is_reverted", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("bars_payer", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("reserved_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            PAYMENT,
            [f"x402_payment.{name}" for name in PAYMENT],
            name=op.f("fk_x402_settlement_asset_payer_nonce"),
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_x402_settlement")),
    )
    op.create_index(
        "ix_x402_settlement_open",
        SETTLEMENT,
        ["asset", "payer"],
        postgresql_where=sa.text("cost_wei is null"),
    )
    op.create_index(
        "ix_x402_settlement_reverted",
        SETTLEMENT,
        ["asset", "payer", "reserved_at"],
        postgresql_where=sa.text("is_reverted"),
    )
    op.create_table(
        SIGNATURE,
        sa.Column("vault", BYTEA(), nullable=False),
        sa.Column("nonce", BYTEA(), nullable=False),
        sa.Column("agent_id", sa.BigInteger(), nullable=False),
        sa.Column("amount_usdc_e6", sa.Numeric(78, 0), nullable=False),
        sa.Column("deadline", sa.BigInteger(), nullable=False),
        sa.Column("signed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["account.id"], name=op.f("fk_guard_signature_agent_id")
        ),
        sa.PrimaryKeyConstraint("vault", "nonce", name=op.f("pk_guard_signature")),
    )
    op.create_index("ix_guard_signature_agent_id_deadline", SIGNATURE, ["agent_id", "deadline"])


def downgrade() -> None:
    for table in (SIGNATURE, SETTLEMENT, DAY, PAYER):
        op.drop_table(table)

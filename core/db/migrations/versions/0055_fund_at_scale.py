"""What finds a maker's pilots, an index's funds, live signals of all vaults and bonds in USDC that are due;
when the venue last answered for an operator's order; consents and fills of a vault, counted; no simulated
book, which nothing wrote to.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None

AT = sa.DateTime(timezone=True)
COUNTED = """
insert into fund_vault_count (vault_id, rules_hash, mirrors, fills)
select vault.id, rules.rules_hash,
  (select count(*) from fund_mirror mirror
   where mirror.vault_id = vault.id and mirror.revoked_at is null and mirror.rules_hash = rules.rules_hash),
  (select count(*) from fund_fill fill where fill.vault_id = vault.id)
from fund_vault vault
join fund_rules rules on rules.vault_id = vault.id and rules.version = vault.rules_version
"""


def upgrade() -> None:
    op.drop_table("fund_book_position")
    op.create_table(
        "fund_vault_count",
        sa.Column("vault_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("rules_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("mirrors", sa.BigInteger(), nullable=False),
        sa.Column("fills", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(
            ["vault_id"], ["fund_vault.id"], name=op.f("fk_fund_vault_count_vault_id")
        ),
        sa.PrimaryKeyConstraint("vault_id", name=op.f("pk_fund_vault_count")),
    )
    op.execute(COUNTED)
    op.drop_index("ix_fund_mirror_vault_id", table_name="fund_mirror")
    op.drop_index("ix_fund_fill_vault_id", table_name="fund_fill")
    op.add_column("perps_operator_order", sa.Column("asked_at", AT, nullable=True))
    op.create_index("ix_fund_vault_maker_id", "fund_vault", ["maker_id"])
    op.create_index("ix_fund_vault_index_id_id", "fund_vault", ["index_id", "id"])
    op.create_index("ix_fund_signal_at", "fund_signal", ["at"])
    op.create_index(
        "ix_fund_application_bond_owed",
        "fund_application",
        ["id"],
        postgresql_where=sa.text(
            "bond_currency = 'usdc' and not is_bond_returned and state <> 'submitted'"
        ),
    )


def downgrade() -> None:
    op.drop_index("ix_fund_application_bond_owed", table_name="fund_application")
    op.drop_index("ix_fund_signal_at", table_name="fund_signal")
    op.drop_index("ix_fund_vault_index_id_id", table_name="fund_vault")
    op.drop_index("ix_fund_vault_maker_id", table_name="fund_vault")
    op.drop_column("perps_operator_order", "asked_at")
    op.create_index("ix_fund_fill_vault_id", "fund_fill", ["vault_id"])
    op.create_index(
        "ix_fund_mirror_vault_id",
        "fund_mirror",
        ["vault_id"],
        postgresql_where=sa.text("revoked_at is null"),
    )
    op.drop_table("fund_vault_count")
    op.create_table(
        "fund_book_position",
        sa.Column("address", postgresql.BYTEA(), nullable=False),
        sa.Column("market", sa.Text(), nullable=False),
        sa.Column("notional_usdc_e6", sa.Numeric(78, 0), nullable=False),
        sa.Column("updated_at", AT, nullable=False),
        sa.PrimaryKeyConstraint("address", "market", name=op.f("pk_fund_book_position")),
    )

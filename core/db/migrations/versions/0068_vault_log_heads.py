"""What the vaults' own hash of their logs proves, and the reason of a ledger that is held until it is
whole.
"""

import sqlalchemy as sa
from alembic import op

revision = "0068"
down_revision = "0067"
branch_labels = None
depends_on = None

REASONS = ("database", "domain", "undecodable", "behind")


def upgrade() -> None:
    op.create_table(
        "vault_log_head",
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("address", sa.LargeBinary(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("head", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "address"),
    )
    op.create_index("ix_vault_log_head_number", "vault_log_head", ["chain_id", "number"])
    _allow((*REASONS, "incomplete"))


def downgrade() -> None:
    """A ledger that is held for being incomplete is held as one that a rule refuses."""
    op.execute("update quarantined_fact set reason = 'domain' where reason = 'incomplete'")
    _allow(REASONS)
    op.drop_table("vault_log_head")


def _allow(reasons: tuple[str, ...]) -> None:
    name = op.f("ck_quarantined_fact_reason")
    op.drop_constraint(name, "quarantined_fact", type_="check")
    known = ", ".join(f"'{reason}'" for reason in reasons)
    op.create_check_constraint(name, "quarantined_fact", f"reason in ({known})")

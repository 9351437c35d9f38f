"""Which nonces of our own accounts were looked at, and findings of those that no row of ours planned;
whose key sends a settlement; roots of the anchors' contract that are none of ours.

The state of a fold has version 8: it says whom a vault pays.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0060"
down_revision = "0059"
branch_labels = None
depends_on = None

FINDING, RESOLUTION = "audit_finding", "audit_resolution"
KINDS = "'block', 'log', 'revert', 'vault', 'cash', 'totals', 'book', 'reserve'"
HOW = "'acknowledged', 'rebuilt'"


def upgrade() -> None:
    _checks(f"{KINDS}, 'key'", f"{HOW}, 'explained'")
    op.create_table(
        "audit_key",
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("address", postgresql.BYTEA(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("nonce", sa.BigInteger(), nullable=False),
        sa.Column("block_number", sa.BigInteger(), nullable=False),
        sa.Column("since_id", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "address", name=op.f("pk_audit_key")),
    )
    op.create_table(
        "anchor_foreign",
        sa.Column("epoch", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("root", sa.LargeBinary(length=32), nullable=False),
        sa.Column("block_number", sa.BigInteger(), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.PrimaryKeyConstraint("epoch", name=op.f("pk_anchor_foreign")),
    )
    op.add_column("x402_settlement", sa.Column("settler", postgresql.BYTEA(), nullable=True))


def downgrade() -> None:
    """States of version 8 are folded again by the older version; findings of keys stand as
    those of a vault, and are acknowledged where they were explained.
    """
    op.drop_column("x402_settlement", "settler")
    op.drop_table("anchor_foreign")
    op.drop_table("audit_key")
    for table, column, was, to in (
        (FINDING, "kind", "key", "vault"),
        (RESOLUTION, "how", "explained", "acknowledged"),
    ):
        op.execute(f"alter table {table} disable trigger user")
        op.execute(f"update {table} set {column} = '{to}' where {column} = '{was}'")  # noqa: S608 (our own words)
        op.execute(f"alter table {table} enable trigger user")
    _checks(KINDS, HOW)
    op.execute("update mandate_head set state = state || '{\"version\": 0}'")
    op.execute("update mandate_week set state = state || '{\"version\": 0}'")


def _checks(kinds: str, how: str) -> None:
    op.drop_constraint(op.f("ck_audit_finding_kind"), FINDING)
    op.create_check_constraint(op.f("ck_audit_finding_kind"), FINDING, f"kind in ({kinds})")
    op.drop_constraint(op.f("ck_audit_resolution_how"), RESOLUTION)
    op.create_check_constraint(op.f("ck_audit_resolution_how"), RESOLUTION, f"how in ({how})")

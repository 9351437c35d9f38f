"""Signed terms end on chain alone: an end waits for its safe block, replaced terms are kept, the
state of a fold has version 5.

A stored state of version 4 that has not ended is one of version 5 with another field. Those that
ended are folded again: what ended them may have been the record's word.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import BYTEA

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

SAME_STATE = """
    update {table} set state = state || '{{"version": 5, "unfunded_end_block": null}}'
     where state ->> 'version' = '4' and state ->> 'status' in ('draft', 'signed', 'working')
"""


def upgrade() -> None:
    op.add_column("mandate", sa.Column("ends_in_block", sa.BigInteger(), nullable=True))
    op.create_index(
        "ix_mandate_ends_in_block",
        "mandate",
        ["ends_in_block"],
        postgresql_where=sa.text("ends_in_block is not null"),
    )
    unvaulted = "status = 'signed' and market_mode = 'testnet' and vault_address is null"
    op.create_index(
        "ix_mandate_unvaulted", "mandate", ["ends_at"], postgresql_where=sa.text(unvaulted)
    )
    op.add_column(
        "vault",
        sa.Column(
            "is_of_replaced_terms", sa.Boolean(), server_default=sa.text("false"), nullable=False
        ),
    )
    op.create_index(
        "ix_vault_of_replaced_terms",
        "vault",
        ["terms_digest"],
        postgresql_where=sa.text("is_of_replaced_terms"),
    )
    op.create_table(
        "replaced_terms",
        sa.Column("digest", BYTEA(), nullable=False),
        sa.Column("mandate_id", sa.BigInteger(), nullable=False),
        sa.Column("budget_usdc_e6", sa.Numeric(78, 0), nullable=False),
        sa.Column("stop_floor_bps", sa.Integer(), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("replaced_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["mandate_id"], ["mandate.id"], name=op.f("fk_replaced_terms_mandate_id")
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_replaced_terms")),
    )
    for table in ("mandate_head", "mandate_week"):
        op.execute(SAME_STATE.format(table=table))


def downgrade() -> None:
    raise NotImplementedError("States of version 5 are not read by an older fold.")

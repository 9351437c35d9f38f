"""Rollbacks go back to kept states; factory notes are owed to books; the state of a fold has
version 4.

A stored state of version 3 is one of version 4 without two lists, as long as the book never told of
more payments or refusals than they held. Books that did are folded again when they are read.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

HELD = 64
SAME_STATE = """
    update {table} t set state = (t.state - 'seen_fees' - 'seen_refusals') || '{{"version": 4}}'
     where t.state ->> 'version' = '3'
       and (select count(*) from mandate_event e where e.mandate_id = t.mandate_id and e.tx_hash is not null
                                                   and (e.kind = 'fee' or jsonb_exists(e.payload, 'refusal'))) <= {held}
"""


def upgrade() -> None:
    op.create_table(
        "mandate_undo",
        sa.Column("mandate_id", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("block_number", sa.BigInteger(), nullable=False),
        sa.Column("state", JSONB(), nullable=False),
        sa.PrimaryKeyConstraint("mandate_id", "seq", name=op.f("pk_mandate_undo")),
    )
    op.create_index("ix_mandate_undo_block_number", "mandate_undo", ["block_number"])
    op.create_table(
        "owed_note",
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("block_hash", sa.LargeBinary(32), nullable=False),
        sa.Column("block_number", sa.BigInteger(), nullable=False),
        sa.Column("notes", JSONB(), nullable=False),
        sa.Column("mandate_ids", ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("noted", sa.Integer(), nullable=False),
        sa.Column("owed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("chain_id", "block_hash", name=op.f("pk_owed_note")),
    )
    op.create_index("ix_owed_note_chain_id_block_number", "owed_note", ["chain_id", "block_number"])
    for table in ("mandate_head", "mandate_week"):
        op.execute(SAME_STATE.format(table=table, held=HELD))


def downgrade() -> None:
    raise NotImplementedError("States of version 4 are not read by an older fold.")

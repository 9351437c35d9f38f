"""Facts that are held back from a ledger, the alert that tells an owner, and vaults without a name
that could be kept.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLE = "quarantined_fact"
HELD = sa.text("released_at is null and withdrawn_at is null")
ALERTS = "owner_alert"


def upgrade() -> None:
    op.alter_column("vault", "public_id", existing_type=sa.Text(), nullable=True)
    op.create_table(
        TABLE,
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("ledger", sa.Text(), nullable=False),
        sa.Column("ledger_id", sa.BigInteger(), nullable=False),
        sa.Column("base_key", sa.Text(), nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("block_number", sa.BigInteger(), nullable=False),
        sa.Column("block_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("tx_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("log_index", sa.Integer(), nullable=True),
        sa.Column("address", postgresql.BYTEA(), nullable=True),
        sa.Column("topic", postgresql.BYTEA(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("fact", postgresql.BYTEA(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("released_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("withdrawn_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "ledger in ('mandate', 'account')", name=op.f("ck_quarantined_fact_ledger")
        ),
        sa.CheckConstraint(
            "reason in ('database', 'domain', 'undecodable', 'behind')",
            name=op.f("ck_quarantined_fact_reason"),
        ),
        sa.CheckConstraint(
            "released_at is null or withdrawn_at is null", name=op.f("ck_quarantined_fact_one_end")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_quarantined_fact")),
    )
    op.create_index(
        "uq_quarantined_fact_held",
        TABLE,
        ["ledger", "ledger_id", "base_key"],
        unique=True,
        postgresql_where=HELD,
    )
    op.create_index(
        "ix_quarantined_fact_queue", TABLE, ["ledger", "ledger_id", "id"], postgresql_where=HELD
    )
    op.create_index("ix_quarantined_fact_block_hash", TABLE, ["block_hash"], postgresql_where=HELD)
    _alerts()


def _alerts() -> None:
    """One more kind, which a reverted call may cause (it has no log), and which is told once for
    each mandate.
    """
    op.drop_index("uq_owner_alert_standing", ALERTS)
    of_log = sa.text("withdrawn_at is null and kind <> 'record_held'")
    op.create_index(
        "uq_owner_alert_standing",
        ALERTS,
        ["owner_id", "chain_id", "tx_hash", "log_index"],
        unique=True,
        postgresql_where=of_log,
    )
    op.drop_constraint(op.f("ck_owner_alert_kind"), ALERTS)
    op.drop_constraint(op.f("ck_owner_alert_has_log"), ALERTS)
    kinds = "kind in ('keeper_change', 'public_stop_off', 'record_held', 'hl_key_lost')"
    op.create_check_constraint(op.f("ck_owner_alert_kind"), ALERTS, kinds)
    op.create_check_constraint(
        op.f("ck_owner_alert_has_log"),
        ALERTS,
        "kind in ('record_held', 'hl_key_lost') or log_index is not null",
    )
    has_block = "kind = 'hl_key_lost' or num_nulls(chain_id, tx_hash, block_number, block_hash) = 0"
    op.create_check_constraint(op.f("ck_owner_alert_has_block"), ALERTS, has_block)


def downgrade() -> None:
    raise NotImplementedError(
        "What is held back is never dropped: the ledgers would look whole without it."
    )

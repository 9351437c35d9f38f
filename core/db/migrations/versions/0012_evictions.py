"""Generations of an agent's secrets, from when its wallet is paid, an end for each session, and two
kinds of owners' alerts.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy import text

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

ALERT = "owner_alert"
LINKED = """
update account set wallet_generation = 0,
       wallet_payable_at = wallet_linked_at + case when owner_id is null then interval '0' else interval '24 hours' end
 where kind = 'agent' and wallet_address is not null and wallet_linked_at is not null
"""
ENDED = "update session set expires_at = created_at + interval '24 hours' where expires_at is null"


def upgrade() -> None:
    op.add_column(
        "account", sa.Column("wallet_payable_at", sa.DateTime(timezone=True), nullable=True)
    )
    op.add_column("account", sa.Column("wallet_generation", sa.BigInteger(), nullable=True))
    op.add_column(
        "account",
        sa.Column("generation", sa.BigInteger(), nullable=False, server_default=text("0")),
    )
    op.add_column("account", sa.Column("recovered_generation", sa.BigInteger(), nullable=True))
    op.execute(text(LINKED))
    op.add_column(
        "custodial_transfer",
        sa.Column("generation", sa.BigInteger(), nullable=False, server_default=text("0")),
    )
    op.execute(text(ENDED))
    op.alter_column("session", "expires_at", nullable=False)
    _alerts_of_agents()


def _alerts_of_agents() -> None:
    of_agent = "'agent_wallet_linked', 'agent_recovered'"
    for name in ("kind", "has_log", "has_block"):
        op.drop_constraint(op.f(f"ck_owner_alert_{name}"), ALERT)
    op.create_check_constraint(
        op.f("ck_owner_alert_kind"),
        ALERT,
        (f"kind in ('keeper_change', 'public_stop_off', 'record_held', 'hl_key_lost', {of_agent})"),
    )
    op.create_check_constraint(
        op.f("ck_owner_alert_has_log"),
        ALERT,
        f"kind in ('record_held', 'hl_key_lost', {of_agent}) or log_index is not null",
    )
    has_block = (
        f"kind in ('hl_key_lost', {of_agent}) or num_nulls(chain_id, tx_hash, block_number, "
        "block_hash) = 0"
    )
    op.create_check_constraint(op.f("ck_owner_alert_has_block"), ALERT, has_block)
    standing = text(f"withdrawn_at is null and kind in ({of_agent})")
    op.create_index(
        "uq_owner_alert_of_agent",
        ALERT,
        [text("(payload ->> 'agent_id')"), "kind"],
        unique=True,
        postgresql_where=standing,
    )


def downgrade() -> None:
    raise NotImplementedError(
        "Alerts are never deleted, and the older constraint has no place for the new ones."
    )

"""Owners' alerts of a public stop that is off: one more kind, which has a log as keeper_change has,
and an index by its mandate.
"""

from alembic import op
from sqlalchemy import text

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLE = "owner_alert"


def upgrade() -> None:
    op.drop_constraint(op.f("ck_owner_alert_kind"), TABLE)
    op.drop_constraint(op.f("ck_owner_alert_has_log"), TABLE)
    op.create_check_constraint(
        op.f("ck_owner_alert_kind"),
        TABLE,
        "kind in ('keeper_change', 'public_stop_off', 'hl_key_lost')",
    )
    has_log = (
        "kind = 'hl_key_lost' or num_nulls(chain_id, tx_hash, log_index, block_number, "
        "block_hash) = 0"
    )
    op.create_check_constraint(op.f("ck_owner_alert_has_log"), TABLE, has_log)
    standing = text("withdrawn_at is null and kind = 'public_stop_off'")
    mandate_id = text("(payload ->> 'mandate_id')")
    op.create_index(
        "ix_owner_alert_public_stop_off",
        TABLE,
        [mandate_id, "occurred_at"],
        postgresql_where=standing,
    )


def downgrade() -> None:
    raise NotImplementedError(
        "Alerts are never deleted, and the older constraint has no place for the new ones."
    )

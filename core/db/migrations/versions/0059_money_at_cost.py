"""An alert says that money counts at cost; that no longer switches the public stop off."""

from alembic import op
from sqlalchemy import text

revision = "0059"
down_revision = "0058"
branch_labels = None
depends_on = None

ALERT, CHECK = "owner_alert", "ck_owner_alert_kind"
OTHERS = "'record_held', 'hl_key_lost', 'agent_wallet_linked', 'agent_recovered'"
FORMER, NOW = "public_stop_off", "money_at_cost"


def upgrade() -> None:
    _kinds(f"'{NOW}', '{FORMER}'")
    _rename(FORMER, NOW)


def downgrade() -> None:
    _rename(NOW, FORMER)
    _kinds(f"'{FORMER}'")


def _kinds(named: str) -> None:
    op.drop_constraint(op.f(CHECK), ALERT)
    op.create_check_constraint(op.f(CHECK), ALERT, f"kind in ('keeper_change', {named}, {OTHERS})")


def _rename(before: str, after: str) -> None:
    kinds = text("update owner_alert set kind = :after where kind = :before")
    op.get_bind().execute(kinds, {"after": after, "before": before})
    op.drop_index(f"ix_owner_alert_{before}", table_name=ALERT)
    op.create_index(
        f"ix_owner_alert_{after}",
        ALERT,
        [text("(payload ->> 'mandate_id')"), "occurred_at"],
        postgresql_where=text(f"withdrawn_at is null and kind = '{after}'"),
    )

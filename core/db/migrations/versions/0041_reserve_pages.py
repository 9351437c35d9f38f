"""Indexes that pages of an account's own conversions and purchases are read from, backwards."""

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

PLACE = ("number", "log_index")
OF_AN_ACCOUNT, PURCHASES = "account_id is not null", "kind = 'bought'"
TO_SOMEBODY = "recipient is not null"


def upgrade() -> None:
    for column in ("account_ref", "holder"):
        op.drop_index(f"ix_reserve_conversion_{column}_number", "reserve_conversion")
        op.create_index(f"ix_reserve_conversion_{column}", "reserve_conversion", [column, *PLACE])
    op.create_index(
        "ix_reserve_conversion_account_id",
        "reserve_conversion",
        ["account_id", *PLACE],
        postgresql_where=sa.text(OF_AN_ACCOUNT),
    )
    for name in ("party", "recipient"):
        op.drop_index(f"ix_reserve_event_{name}", "reserve_event")
    _events("buyer", ["party", *PLACE], PURCHASES)
    _events("recipient", ["recipient", *PLACE], TO_SOMEBODY)


def downgrade() -> None:
    for name in ("buyer", "recipient"):
        op.drop_index(f"ix_reserve_event_{name}", "reserve_event")
    op.create_index("ix_reserve_event_party", "reserve_event", ["party", "number"])
    _events("recipient", ["recipient", "number"], TO_SOMEBODY)
    op.drop_index("ix_reserve_conversion_account_id", "reserve_conversion")
    for column in ("account_ref", "holder"):
        op.drop_index(f"ix_reserve_conversion_{column}", "reserve_conversion")
        op.create_index(
            f"ix_reserve_conversion_{column}_number", "reserve_conversion", [column, "number"]
        )


def _events(name: str, columns: list[str], where: str) -> None:
    op.create_index(
        f"ix_reserve_event_{name}", "reserve_event", columns, postgresql_where=sa.text(where)
    )

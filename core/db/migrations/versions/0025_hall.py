"""The Hall's snapshot: days of mandates, and figures of agents."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA, JSONB

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None

INSTANT = sa.DateTime(timezone=True)
AMOUNT = sa.Numeric(78, 0)
SORTS = 16  # four figures of four windows
TABLES = ("hall_mandate", "hall_day", "hall_agent", "hall_due", "hall_build")


def _column(name: str, kind: Any, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=nullable)


def upgrade() -> None:
    op.create_table(
        "hall_mandate",
        *(_column(name, sa.BigInteger()) for name in ("mandate_id", "agent_id", "owner_id")),
        _column("wallet", BYTEA(), nullable=True),
        *(_column(name, sa.Boolean()) for name in ("is_paper", "is_held")),
        *(_column(name, sa.BigInteger()) for name in ("seq", "head_seq")),
        _column("standing", JSONB()),
        _column("violations", sa.Integer()),
        _column("trouble", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(
            ["mandate_id"], ["mandate.id"], name=op.f("fk_hall_mandate_mandate_id")
        ),
        sa.PrimaryKeyConstraint("mandate_id", name=op.f("pk_hall_mandate")),
    )
    for name in ("agent_id", "wallet"):
        op.create_index(f"ix_hall_mandate_{name}", "hall_mandate", [name])
    op.create_table(
        "hall_day",
        _column("mandate_id", sa.BigInteger()),
        _column("day", sa.Date()),
        _column("owner_id", sa.BigInteger()),
        *(
            _column(f"{name}_usdc_e6", AMOUNT)
            for name in ("flow", "result", "capital", "least", "worth")
        ),
        *(_column(name, sa.BigInteger()) for name in ("growth", "high", "low", "kept")),
        _column("trades", sa.Integer()),
        _column("sides", JSONB(), nullable=True),
        _column("said_trades", sa.Integer()),
        *(_column(f"said_{name}_usdc_e6", AMOUNT) for name in ("result", "fees")),
        sa.Column("washed_trades", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("washed_result_usdc_e6", AMOUNT, server_default=sa.text("0"), nullable=False),
        sa.ForeignKeyConstraint(
            ["mandate_id"], ["mandate.id"], name=op.f("fk_hall_day_mandate_id")
        ),
        sa.PrimaryKeyConstraint("mandate_id", "day", name=op.f("pk_hall_day")),
    )
    op.create_index(
        "ix_hall_day_owner_id_day",
        "hall_day",
        ["owner_id", "day"],
        postgresql_where=sa.text("sides is not null"),
    )
    op.create_table(
        "hall_agent",
        _column("agent_id", sa.BigInteger()),
        *(_column(name, sa.Boolean()) for name in ("is_listed", "ranked")),
        _column("rank", sa.Integer(), nullable=True),
        *(_column(name, sa.Integer()) for name in ("days_live", "trades")),
        _column("sorts", ARRAY(sa.Numeric()), nullable=True),
        _column("record", JSONB(), nullable=True),
        _column("as_of", INSTANT, nullable=True),
        sa.CheckConstraint("(rank is not null) <= ranked", name=op.f("ck_hall_agent_rank")),
        sa.ForeignKeyConstraint(["agent_id"], ["account.id"], name=op.f("fk_hall_agent_agent_id")),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_hall_agent")),
    )
    op.create_index(
        "ix_hall_agent_listed",
        "hall_agent",
        [sa.text("ranked desc"), sa.text("days_live desc"), "agent_id"],
        postgresql_where=sa.text("is_listed"),
    )
    for place in range(SORTS):
        figure = f"coalesce(sorts[{place + 1}], '-Infinity'::numeric) desc"
        op.create_index(
            f"ix_hall_agent_sort_{place}",
            "hall_agent",
            [sa.text("ranked desc"), sa.text(figure), "agent_id"],
            postgresql_where=sa.text("is_listed"),
        )
    op.create_index(
        "ix_agent_policy_accepting",
        "agent_policy",
        ["agent_id"],
        postgresql_where=sa.text("accepts_mandates"),
    )
    op.create_index(
        "ix_mandate_vaulted_agent_id_id",
        "mandate",
        ["agent_id", "id"],
        postgresql_where=sa.text("vault_address is not null"),
    )
    op.create_table(
        "hall_due",
        sa.Column("agent_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("agent_id", name=op.f("pk_hall_due")),
    )
    op.create_table(
        "hall_build",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        *(_column(name, sa.BigInteger()) for name in ("event_id", "account_id")),
        _column("day", sa.Date()),
        _column("computed_at", INSTANT),
        sa.CheckConstraint("id = 1", name=op.f("ck_hall_build_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_hall_build")),
    )


def downgrade() -> None:
    op.drop_index("ix_mandate_vaulted_agent_id_id", "mandate")
    op.drop_index("ix_agent_policy_accepting", "agent_policy")
    for table in reversed(TABLES):
        op.drop_table(table)

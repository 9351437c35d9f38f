"""Approved work: awards, their reversals and queue, counts of a day, standing, and the public feed."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

INSTANT = sa.DateTime(timezone=True)
LOGS = ("earn_award", "earn_reversal", "earn_feed")
TABLES = (
    "earn_feed",
    "earn_standing",
    "earn_claim",
    "earn_day",
    "earn_total",
    "earn_queue",
    "earn_reversal",
    "earn_award",
)
KINDS = (
    "'mine_submit', 'mine_approved', 'mine_rejected', 'mine_reversed', 'task_claimed', "
    "'task_submitted', 'task_verified', 'task_rejected', 'reobserve_settled', 'room_released', "
    "'paid', 'repaid', 'debt', 'restored', 'withdrawn'"
)
GUARD = """
create trigger {table}_is_append_only before update or delete or truncate on {table}
for each statement execute function refuse_change_of_book()
"""


def _column(name: str, kind: Any, nullable: bool = False) -> sa.Column[Any]:
    return sa.Column(name, kind, nullable=nullable)


def _numbers(*names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [_column(name, sa.BigInteger(), nullable) for name in names]


def _texts(*names: str, nullable: bool = False) -> list[sa.Column[Any]]:
    return [_column(name, sa.Text(), nullable) for name in names]


def _id() -> sa.Column[Any]:
    return sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False)


def _check(table: str, name: str, says: str) -> sa.CheckConstraint:
    return sa.CheckConstraint(says, name=op.f(f"ck_{table}_{name}"))


def _of(table: str, column: str, parent: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint([column], [f"{parent}.id"], name=op.f(f"fk_{table}_{column}"))


def _key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns, name=op.f(f"pk_{table}"))


def upgrade() -> None:
    op.create_index(
        "ix_transfer_entry_funds",
        "transfer_entry",
        ["account_id", "seq"],
        postgresql_where=sa.text(
            "kind = 'deposit' and reverses_id is null and idle_delta_e6 >= 1000000"
        ),
    )
    op.create_table(
        "earn_award",
        _id(),
        *_texts("ref", "kind"),
        *_numbers("account_id"),
        *_texts("source"),
        *_numbers("tenths", "credits", "repaid_credits", "paid_credits", "queued_credits"),
        _column("at", INSTANT),
        _check("earn_award", "kind", "kind in ('award', 'charge')"),
        _check("earn_award", "source", "source in ('mining', 'task', 'reobserve', 'room')"),
        _check("earn_award", "credits", "tenths > 0 and credits = tenths * 2"),
        _check(
            "earn_award",
            "parts",
            "repaid_credits >= 0 and paid_credits >= 0 and queued_credits >= 0 and "
            "(kind = 'charge' or credits = repaid_credits + paid_credits + queued_credits)",
        ),
        _of("earn_award", "account_id", "account"),
        _key("earn_award", "id"),
        sa.UniqueConstraint("ref", name=op.f("uq_earn_award_ref")),
    )
    op.create_index("ix_earn_award_account_id_id", "earn_award", ["account_id", "id"])
    op.create_table(
        "earn_reversal",
        _id(),
        *_numbers("award_id"),
        *_texts("reason"),
        *_numbers("withdrawn_credits", "owed_credits", "restored_credits"),
        _column("at", INSTANT),
        _of("earn_reversal", "award_id", "earn_award"),
        _key("earn_reversal", "id"),
        sa.UniqueConstraint("award_id", name=op.f("uq_earn_reversal_award_id")),
    )
    op.create_table(
        "earn_queue",
        sa.Column("award_id", sa.BigInteger(), autoincrement=False, nullable=False),
        *_numbers("account_id"),
        _column("is_room", sa.Boolean()),
        *_numbers("left_credits"),
        _column("not_before", sa.Date()),
        _check("earn_queue", "left_credits", "left_credits > 0"),
        _of("earn_queue", "award_id", "earn_award"),
        _of("earn_queue", "account_id", "account"),
        _key("earn_queue", "award_id"),
    )
    for name in ("not_before", "account_id"):
        op.create_index(f"ix_earn_queue_{name}_award_id", "earn_queue", [name, "award_id"])
    op.create_table(
        "earn_total",
        *_texts("name"),
        *_numbers("n"),
        _check("earn_total", "n", "n >= 0"),
        _key("earn_total", "name"),
    )
    op.execute("insert into earn_total (name, n) values ('queued', 0), ('queued_credits', 0)")
    op.create_table(
        "earn_day",
        _column("day", sa.Date()),
        *_texts("name"),
        *_numbers("credits"),
        _check("earn_day", "credits", "credits >= 0"),
        _key("earn_day", "day", "name"),
    )
    op.create_table(
        "earn_claim",
        *_texts("ref"),
        *_numbers("account_id"),
        _column("verified_at", INSTANT),
        _column("taken_back_at", INSTANT, nullable=True),
        _of("earn_claim", "account_id", "account"),
        _key("earn_claim", "ref"),
    )
    op.create_table(
        "earn_standing",
        sa.Column("account_id", sa.BigInteger(), autoincrement=False, nullable=False),
        *_numbers("verified_claims"),
        _check("earn_standing", "verified_claims", "verified_claims >= 0"),
        _of("earn_standing", "account_id", "account"),
        _key("earn_standing", "account_id"),
    )
    _create_feed()
    for table in LOGS:
        op.execute(GUARD.format(table=table))


def _create_feed() -> None:
    op.create_table(
        "earn_feed",
        _id(),
        *_texts("kind"),
        *_numbers("account_id"),
        *_texts("ref"),
        _column("at", INSTANT),
        *_texts("token_id", "field_name", "shown_value", "evidence_host", nullable=True),
        *_numbers("tenths", "credits", "task_id", "room_id", nullable=True),
        _check("earn_feed", "kind", f"kind in ({KINDS})"),
        _of("earn_feed", "account_id", "account"),
        _key("earn_feed", "id"),
    )
    for name in ("account_id", "kind", "ref"):
        op.create_index(f"ix_earn_feed_{name}_id", "earn_feed", [name, "id"])
    columns = ["account_id", "kind", "id"]
    op.create_index("ix_earn_feed_account_id_kind_id", "earn_feed", columns)


def downgrade() -> None:
    op.drop_index("ix_transfer_entry_funds", "transfer_entry")
    for table in TABLES:
        op.drop_table(table)

"""Who counts as one person: the keys that agents share, beside what one of a person may have, the debts
that a group repays, and awards that rest on somebody else. Who funded a wallet is known of reports, too.

`address` and `funder` of task_claim stay for the processes of the release before.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0067"
down_revision = "0066"
branch_labels = None
depends_on = None

DEPOSITS = "kind = 'deposit' and reverses_id is null and idle_delta_e6 >= 1000000"
FUNDS = "payload ->> 'from' is not null and reverses_id is null and idle_delta_e6 >= 1000000"
HELD = "is_exclusive and stage in ('claimed', 'submitted')"
LAPSED = "is_exclusive and stage = 'expired'"
PENDING, WRONG = "status = 'pending'", "reason_code = 'value_wrong'"
PLACE_ON_CHAIN = ("((payload ->> 'block_number')::bigint)", "((payload ->> 'log_index')::bigint)")
GUARD = """
create trigger earn_cancellation_is_append_only before update or delete or truncate on earn_cancellation
for each statement execute function refuse_change_of_book()
"""
NOTHING = sa.text("'{}'")
TEXTS, NUMBERS = postgresql.ARRAY(sa.Text()), postgresql.ARRAY(sa.BigInteger())


def upgrade() -> None:
    _index_funds(FUNDS, *PLACE_ON_CHAIN)
    op.create_index(
        "ix_transfer_entry_funders",
        "transfer_entry",
        [sa.text("lower(payload ->> 'from')"), "account_id"],
        postgresql_where=sa.text(FUNDS),
    )
    _awards()
    _claims_of_tasks()
    _entries()
    _claims_of_tokens()


def _index_funds(which: str, *place: str) -> None:
    op.execute("drop index if exists ix_transfer_entry_funds")
    op.create_index(
        "ix_transfer_entry_funds",
        "transfer_entry",
        ["account_id", *(sa.text(one) for one in place), "seq"],
        postgresql_where=sa.text(which),
    )


def _awards() -> None:
    op.add_column(
        "earn_award", sa.Column("independent_of", NUMBERS, server_default=NOTHING, nullable=False)
    )
    op.create_table(
        "earn_cancellation",
        sa.Column("award_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("credits", sa.BigInteger(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("credits > 0", name=op.f("ck_earn_cancellation_credits")),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"]),
        sa.ForeignKeyConstraint(["award_id"], ["earn_award.id"]),
        sa.PrimaryKeyConstraint("award_id"),
        info={"append_only": "log"},
    )
    op.create_index("ix_earn_cancellation_account_id", "earn_cancellation", ["account_id"])
    op.execute(GUARD)
    op.create_table(
        "earn_group_debt",
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("left_credits", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("left_credits >= 0", name=op.f("ck_earn_group_debt_left_credits")),
        sa.ForeignKeyConstraint(["account_id"], ["account.id"]),
        sa.PrimaryKeyConstraint("account_id", "key"),
    )
    op.create_index(
        "ix_earn_group_debt_key",
        "earn_group_debt",
        ["key", "account_id"],
        postgresql_where=sa.text("left_credits > 0"),
    )


def _claims_of_tasks() -> None:
    op.add_column("task_claim", _groups())
    op.execute(
        "update task_claim set groups = array_remove("
        "array[person, address, 'wallet:' || substr(funder, 8)], null)"
    )
    for one in ("person", "address", "funder"):
        op.drop_index(f"ix_task_claim_held_{one}", table_name="task_claim")
    op.drop_index("ix_task_claim_lapsed", table_name="task_claim")
    op.create_index(
        "ix_task_claim_held_groups",
        "task_claim",
        ["groups"],
        postgresql_using="gin",
        postgresql_where=sa.text(HELD),
    )
    op.create_index(
        "ix_task_claim_lapsed", "task_claim", ["task_id"], postgresql_where=sa.text(LAPSED)
    )


def _entries() -> None:
    op.add_column("mining_entry", _groups())
    op.execute(
        "update mining_entry e set groups = array[s.person, regexp_replace(s.pool, '^owners:', 'address:')] "
        "from mining_submission s where s.id = e.submission_id"
    )
    for name, condition in (("pending", PENDING), ("wrong", WRONG)):
        op.create_index(
            f"ix_mining_entry_{name}_groups",
            "mining_entry",
            ["groups"],
            postgresql_using="gin",
            postgresql_where=sa.text(condition),
        )


def _claims_of_tokens() -> None:
    op.add_column("kg_claim", _groups())
    op.add_column("kg_claim", sa.Column("counted_as", sa.Text(), nullable=True))
    op.execute("update kg_claim set groups = array[person]")
    op.create_index(
        "ix_kg_claim_waiting_groups",
        "kg_claim",
        ["groups"],
        postgresql_using="gin",
        postgresql_where=sa.text("state = 'unverified'"),
    )


def _groups() -> sa.Column[list[str]]:
    """With a default: processes of the release before this one do not write it."""
    return sa.Column("groups", TEXTS, server_default=NOTHING, nullable=False)


def downgrade() -> None:
    """What it would forget is paid or owed."""
    known = (
        "select (select count(*) from earn_cancellation) + (select count(*) from earn_group_debt)"
    )
    if count := op.get_bind().scalar(sa.text(known)):
        raise RuntimeError(
            f"{count} payouts were cancelled or debts are of groups, which an older version does not know."
        )
    op.drop_column("kg_claim", "counted_as")
    op.drop_index("ix_kg_claim_waiting_groups", table_name="kg_claim")
    op.drop_column("kg_claim", "groups")
    for name in ("pending", "wrong"):
        op.drop_index(f"ix_mining_entry_{name}_groups", table_name="mining_entry")
    op.drop_column("mining_entry", "groups")
    op.drop_index("ix_task_claim_lapsed", table_name="task_claim")
    op.drop_index("ix_task_claim_held_groups", table_name="task_claim")
    for column, key, kept in (
        ("address", "address:", "address:"),
        ("funder", "wallet:", "funder:"),
    ):
        op.execute(
            f"update task_claim set {column} = coalesce({column}, (select '{kept}' || min(substr(one, {len(key) + 1})) "  # noqa: S608
            f"from unnest(groups) one where one like '{key}%')) where is_exclusive"
        )
    op.drop_column("task_claim", "groups")
    for column in ("person", "address", "funder"):
        op.create_index(
            f"ix_task_claim_held_{column}",
            "task_claim",
            [column],
            postgresql_where=sa.text(HELD),
        )
    op.create_index(
        "ix_task_claim_lapsed",
        "task_claim",
        ["task_id", "person"],
        postgresql_where=sa.text(LAPSED),
    )
    op.drop_table("earn_group_debt")
    op.drop_table("earn_cancellation")
    op.drop_column("earn_award", "independent_of")
    op.drop_index("ix_transfer_entry_funders", table_name="transfer_entry")
    _index_funds(DEPOSITS)

"""What waits in the outbox as rows of its own with counts beside them, what the service's gas cost
by day and payer, and what each of the keeper's transactions cost.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

QUEUE, COUNT, GAS, TX = "outbox_queue", "outbox_count", "gas_day", "keeper_tx"
UINT = sa.Numeric(78, 0)
LIVE = "i.state not in ('done', 'reverted', 'superseded', 'nonce_lost', 'refused')"
# Requests that nothing has ended, with their payer; what is live is taken.
WAITING = f"""
    insert into {QUEUE} (outbox_id, chain_id, account_id, owner_id, due_at, tries, is_taken, reserved_wei)
    select o.id, o.chain_id, t.account_id, a.owner_id, o.created_at, 0,
           exists (select from keeper_intent i where i.outbox_id = o.id and {LIVE}), 0
    from outbox o left join custodial_transfer t on t.outbox_id = o.id left join account a on a.id = t.account_id
    where not exists (select from keeper_intent i where i.outbox_id = o.id and i.state in ('done', 'reverted', 'refused'))
"""  # noqa: S608 (constants of this file)
COUNTED = f"""
    insert into {COUNT} (scope, waiting)
    select 'total', count(*) from {QUEUE} having count(*) > 0
    union all
    select coalesce('owner:' || owner_id, 'account:' || account_id), count(*) from {QUEUE} where account_id is not null group by 1
"""  # noqa: S608 (constants of this file)


def upgrade() -> None:
    op.create_table(
        QUEUE,
        sa.Column("outbox_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("chain_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=True),
        sa.Column("owner_id", sa.BigInteger(), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tries", sa.BigInteger(), nullable=False),
        sa.Column("refused_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("is_taken", sa.Boolean(), nullable=False),
        sa.Column("gas_day", sa.Date(), nullable=True),
        sa.Column("reserved_wei", UINT, nullable=False),
        sa.ForeignKeyConstraint(
            ["outbox_id"], ["outbox.id"], name=op.f("fk_outbox_queue_outbox_id")
        ),
        sa.PrimaryKeyConstraint("outbox_id", name=op.f("pk_outbox_queue")),
    )
    op.create_index(
        "ix_outbox_queue_due",
        QUEUE,
        ["due_at", "outbox_id"],
        postgresql_where=sa.text("not is_taken"),
    )
    op.create_index(
        "ix_outbox_queue_taken", QUEUE, ["outbox_id"], postgresql_where=sa.text("is_taken")
    )
    op.create_table(
        COUNT,
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("waiting", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("scope", name=op.f("pk_outbox_count")),
    )
    op.create_table(
        GAS,
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("scope", sa.Text(), nullable=False),
        sa.Column("spent_wei", UINT, nullable=False),
        sa.Column("reserved_wei", UINT, nullable=False),
        sa.PrimaryKeyConstraint("day", "scope", name=op.f("pk_gas_day")),
    )
    op.add_column(TX, sa.Column("cost_wei", UINT, nullable=True))
    op.execute(WAITING)
    op.execute(COUNTED)


def downgrade() -> None:
    op.drop_column(TX, "cost_wei")
    op.drop_table(GAS)
    op.drop_table(COUNT)
    op.drop_table(QUEUE)

"""Requests for the creation of a fund's vault, and the moves of operators."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

AT = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "fund_creation_request",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("vault_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("requested_at", AT, nullable=False),
        sa.CheckConstraint(
            "state in ('requested', 'approved', 'created', 'rejected')",
            name=op.f("ck_fund_creation_request_state"),
        ),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_fund_creation_request_account_id")
        ),
        sa.ForeignKeyConstraint(
            ["vault_id"], ["fund_vault.id"], name=op.f("fk_fund_creation_request_vault_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_fund_creation_request")),
    )
    op.create_index(
        "uq_fund_creation_request_standing",
        "fund_creation_request",
        ["vault_id"],
        unique=True,
        postgresql_where=sa.text("state <> 'rejected'"),
    )
    op.create_index(
        "ix_fund_creation_request_vault_id_id", "fund_creation_request", ["vault_id", "id"]
    )
    op.create_index(
        "ix_fund_creation_request_waiting",
        "fund_creation_request",
        ["id"],
        postgresql_where=sa.text("state in ('requested', 'approved')"),
    )
    op.create_table(
        "fund_creation_move",
        sa.Column("request_id", sa.BigInteger(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("address", postgresql.BYTEA(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("by_id", sa.BigInteger(), nullable=False),
        sa.Column("at", AT, nullable=False),
        sa.CheckConstraint(
            "state in ('approved', 'created', 'rejected')", name=op.f("ck_fund_creation_move_state")
        ),
        sa.CheckConstraint(
            "(address is not null) = (state = 'created')",
            name=op.f("ck_fund_creation_move_address"),
        ),
        sa.CheckConstraint(
            "(reason is not null) = (state = 'rejected')", name=op.f("ck_fund_creation_move_reason")
        ),
        sa.ForeignKeyConstraint(
            ["by_id"], ["account.id"], name=op.f("fk_fund_creation_move_by_id")
        ),
        sa.ForeignKeyConstraint(
            ["request_id"],
            ["fund_creation_request.id"],
            name=op.f("fk_fund_creation_move_request_id"),
        ),
        sa.PrimaryKeyConstraint("request_id", "state", name=op.f("pk_fund_creation_move")),
        sa.UniqueConstraint("address", name=op.f("uq_fund_creation_move_address")),
    )
    op.execute(
        "create trigger fund_creation_move_is_append_only before update or delete or truncate on "
        "fund_creation_move for each statement execute function refuse_change_of_book()"
    )


def downgrade() -> None:
    op.drop_table("fund_creation_move")
    op.drop_table("fund_creation_request")

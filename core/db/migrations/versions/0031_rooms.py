"""Rooms: messages, releases, entry fees and bonds."""

import sqlalchemy as sa
from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

GUARD = """
create trigger {table}_is_append_only before update or delete or truncate on {table}
for each statement execute function refuse_change_of_book()
"""
LOGS = ("room_message", "room_release", "room_entry")
POSTS = sa.text("kind = 'post'")


def upgrade() -> None:
    _rooms()
    _bonds()
    _messages()
    _releases()
    _entries()
    for table in LOGS:
        op.execute(GUARD.format(table=table))


def _rooms() -> None:
    op.create_table(
        "room",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("token_id", sa.Text(), nullable=False),
        sa.Column("message_count", sa.BigInteger(), nullable=False),
        sa.Column("last_message_id", sa.BigInteger(), nullable=True),
        sa.Column("last_message_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("opened_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(message_count = 0) = (last_message_id is null)", name=op.f("ck_room_counted")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_room")),
        sa.UniqueConstraint("token_id", name=op.f("uq_room_token_id")),
    )
    op.create_index(
        "ix_room_last_message_id",
        "room",
        ["last_message_id"],
        postgresql_where=sa.text("last_message_id is not null"),
    )


def _bonds() -> None:
    op.create_table(
        "room_bond",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("credits", sa.BigInteger(), nullable=False),
        sa.Column("held_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("returned_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("case_id", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("credits > 0", name=op.f("ck_room_bond_credits")),
        sa.CheckConstraint("due_at > held_at", name=op.f("ck_room_bond_due_at")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_room_bond_account_id")
        ),
        sa.ForeignKeyConstraint(
            ["case_id"], ["violation_case.id"], name=op.f("fk_room_bond_case_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_room_bond")),
    )
    op.create_index(
        "ix_room_bond_due_at",
        "room_bond",
        ["due_at"],
        postgresql_where=sa.text("returned_at is null and case_id is null"),
    )
    op.create_index(
        "ix_room_bond_case_id",
        "room_bond",
        ["case_id"],
        postgresql_where=sa.text("case_id is not null"),
    )


def _messages() -> None:
    op.create_table(
        "room_message",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("room_id", sa.BigInteger(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("reply_to", sa.BigInteger(), nullable=True),
        sa.Column("is_first_reply", sa.Boolean(), nullable=False),
        sa.Column("entry_id", sa.BigInteger(), nullable=True),
        sa.Column("bond_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind in ('post', 'summary')", name=op.f("ck_room_message_kind")),
        sa.CheckConstraint(
            "char_length(text) between 1 and 4000", name=op.f("ck_room_message_text")
        ),
        sa.CheckConstraint(
            "(kind = 'summary') = (entry_id is not null)", name=op.f("ck_room_message_entry_id")
        ),
        sa.CheckConstraint(
            "kind = 'post' or (reply_to is null and bond_id is null)",
            name=op.f("ck_room_message_of_posts"),
        ),
        sa.CheckConstraint(
            "reply_to is not null or not is_first_reply",
            name=op.f("ck_room_message_is_first_reply"),
        ),
        sa.ForeignKeyConstraint(["room_id"], ["room.id"], name=op.f("fk_room_message_room_id")),
        sa.ForeignKeyConstraint(
            ["author_id"], ["account.id"], name=op.f("fk_room_message_author_id")
        ),
        sa.ForeignKeyConstraint(
            ["reply_to"], ["room_message.id"], name=op.f("fk_room_message_reply_to")
        ),
        sa.ForeignKeyConstraint(
            ["bond_id"], ["room_bond.id"], name=op.f("fk_room_message_bond_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_room_message")),
        sa.UniqueConstraint("room_id", "seq", name=op.f("uq_room_message_room_id_seq")),
        sa.UniqueConstraint("entry_id", name=op.f("uq_room_message_entry_id")),
        sa.UniqueConstraint("bond_id", name=op.f("uq_room_message_bond_id")),
    )
    op.create_index(
        "ix_room_message_author_id_created_at",
        "room_message",
        ["author_id", "created_at"],
        postgresql_where=POSTS,
    )
    op.create_index(
        "uq_room_message_first_reply",
        "room_message",
        ["reply_to"],
        unique=True,
        postgresql_where=sa.text("is_first_reply"),
    )


def _releases() -> None:
    op.create_table(
        "room_release",
        sa.Column("message_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("released_by", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=True),
        sa.Column("tenths", sa.Integer(), nullable=False),
        sa.Column("released_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "kind is null or kind in ('insightful')", name=op.f("ck_room_release_kind")
        ),
        sa.CheckConstraint("tenths > 0", name=op.f("ck_room_release_tenths")),
        sa.ForeignKeyConstraint(
            ["message_id"], ["room_message.id"], name=op.f("fk_room_release_message_id")
        ),
        sa.ForeignKeyConstraint(
            ["released_by"], ["account.id"], name=op.f("fk_room_release_released_by")
        ),
        sa.PrimaryKeyConstraint("message_id", name=op.f("pk_room_release")),
    )


def _entries() -> None:
    op.create_table(
        "room_entry",
        sa.Column("account_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("fee_credits", sa.BigInteger(), nullable=False),
        sa.Column("entered_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("fee_credits >= 0", name=op.f("ck_room_entry_fee_credits")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["account.id"], name=op.f("fk_room_entry_account_id")
        ),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_room_entry")),
    )


def downgrade() -> None:
    for table in ("room_entry", "room_release", "room_message", "room_bond", "room"):
        op.drop_table(table)

"""The tables of the first slice (0001_initial.sql), and the triggers that make books and logs
append-only.

A trigger fires once a statement, so that a statement that would touch no row raises as well. It
raises insufficient_privilege, as it would for a role without the grants.
"""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

APPEND_ONLY = (
    "mandate_event",
    "credit_entry",
    "transfer_entry",
    "agent_self_version",
    "defense_change",
    "audit_finding",
    "audit_resolution",
)

REFUSE = """
create function refuse_change_of_book() returns trigger language plpgsql as $$
begin
    raise exception using
        errcode = 'insufficient_privilege',
        message = tg_op || ' on ' || tg_table_name || ' is refused: the book is append-only',
        hint = 'Write a new row instead; in a book, through core.books.';
end
$$
"""

GUARD = """
create trigger {book}_is_append_only before update or delete or truncate on {book}
for each statement execute function refuse_change_of_book()
"""


def upgrade() -> None:
    for statement in filter(str.strip, Path(__file__).with_suffix(".sql").read_text().split(";\n")):
        op.execute(statement)
    op.execute(REFUSE)
    for book in APPEND_ONLY:
        op.execute(GUARD.format(book=book))


def downgrade() -> None:
    raise NotImplementedError("The books are never dropped: make a new database instead.")

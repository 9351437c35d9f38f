"""The tables of the first slice (0001_initial.sql), and the triggers that make the three books append-only.

A trigger fires once a statement, so that a statement that would touch no row raises as well. It raises insufficient_privilege, as it would
for a role without the grants.
"""

from pathlib import Path

from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

BOOKS = ("mandate_event", "credit_entry", "transfer_entry")

REFUSE = """
create function refuse_change_of_book() returns trigger language plpgsql as $$
begin
    raise exception using
        errcode = 'insufficient_privilege',
        message = tg_op || ' on ' || tg_table_name || ' is refused: the book is append-only',
        hint = 'Write a compensating row through core.books instead.';
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
    for book in BOOKS:
        op.execute(GUARD.format(book=book))


def downgrade() -> None:
    raise NotImplementedError("The books are never dropped: make a new database instead.")

"""The trigger that refuses to change a ledger says so in the glossary's word, and where new rows are
written.
"""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

REFUSE = """
create or replace function refuse_change_of_book() returns trigger language plpgsql as $$
begin
    raise exception using
        errcode = 'insufficient_privilege',
        message = tg_op || ' on ' || tg_table_name || ' is refused: {said}',
        hint = '{hint}';
end
$$
"""


def upgrade() -> None:
    op.execute(
        REFUSE.format(
            said="the table is append-only",
            hint="Write a new row instead; in a ledger, through the ledger module of its context.",
        )
    )


def downgrade() -> None:
    op.execute(
        REFUSE.format(
            said="the book is append-only",
            hint="Write a new row instead; in a book, through core.books.",
        )
    )

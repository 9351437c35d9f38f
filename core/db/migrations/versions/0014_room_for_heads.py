"""Room in the pages of heads: each row of a book writes its head anew, which then stays in its page
and moves no index entry.
"""

from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("alter table mandate_head set (fillfactor = 50)")


def downgrade() -> None:
    op.execute("alter table mandate_head reset (fillfactor)")

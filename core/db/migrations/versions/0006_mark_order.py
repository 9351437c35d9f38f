"""A vault's newest judgement is the one that was written last: its height is a node's word."""

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

INDEX = "ix_vault_mark_vault_id"


def upgrade() -> None:
    op.create_index(INDEX, "vault_mark", ["vault", "id"])


def downgrade() -> None:
    op.drop_index(INDEX, table_name="vault_mark")

"""Several sign-in texts of a wallet and purpose: a new one leaves those that wait in the wallet."""

from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.drop_constraint("pk_sign_in_nonce", "sign_in_nonce", type_="primary")
    op.create_primary_key(
        "pk_sign_in_nonce", "sign_in_nonce", ["wallet_address", "purpose", "nonce"]
    )


def downgrade() -> None:
    op.execute(
        "delete from sign_in_nonce as old using sign_in_nonce as new"
        " where (old.wallet_address, old.purpose) = (new.wallet_address, new.purpose)"
        " and (old.created_at, old.nonce) < (new.created_at, new.nonce)"
    )
    op.drop_constraint("pk_sign_in_nonce", "sign_in_nonce", type_="primary")
    op.create_primary_key("pk_sign_in_nonce", "sign_in_nonce", ["wallet_address", "purpose"])

"""Listings of the gallery, their status events, and the shelf that lists run over."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

TYPES = "('strategy_template', 'signal_subscription', 'vault_deposit', 'model')"
GUARD = """
create trigger {table}_is_append_only before update or delete or truncate on {table}
for each statement execute function refuse_change_of_book()
"""
OPEN = sa.text("status <> 'withdrawn'")
LISTED = sa.text("status = 'listed'")


def upgrade() -> None:
    op.create_table(
        "gallery_listing",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("public_id", sa.Text(), nullable=False),
        sa.Column("agent_id", sa.BigInteger(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("product_type", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("summary", sa.Text(), nullable=False),
        sa.Column("price_model", sa.Text(), nullable=False),
        sa.Column("ref_vault_id", sa.Text(), nullable=True),
        sa.Column("markets", postgresql.JSONB(), nullable=False),
        sa.Column("editable_params", postgresql.JSONB(), nullable=False),
        sa.Column("cited", postgresql.JSONB(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            f"product_type in {TYPES}", name=op.f("ck_gallery_listing_product_type")
        ),
        sa.CheckConstraint(
            "price_model in ('free', 'paid_read')", name=op.f("ck_gallery_listing_price_model")
        ),
        sa.CheckConstraint("status in ('draft', 'listed')", name=op.f("ck_gallery_listing_status")),
        sa.CheckConstraint(
            "char_length(title) between 2 and 80", name=op.f("ck_gallery_listing_title")
        ),
        sa.CheckConstraint("char_length(summary) <= 140", name=op.f("ck_gallery_listing_summary")),
        sa.CheckConstraint(
            "(ref_vault_id is not null) = (product_type = 'vault_deposit')",
            name=op.f("ck_gallery_listing_ref_vault_id"),
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["account.id"], name=op.f("fk_gallery_listing_agent_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gallery_listing")),
        sa.UniqueConstraint("public_id", name=op.f("uq_gallery_listing_public_id")),
    )
    op.create_index(
        "ix_gallery_listing_agent_id_created_at", "gallery_listing", ["agent_id", "created_at"]
    )
    op.create_table(
        "gallery_status_event",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("listing_id", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("made_by", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "status in ('draft', 'listed', 'withdrawn')",
            name=op.f("ck_gallery_status_event_status"),
        ),
        sa.ForeignKeyConstraint(
            ["listing_id"], ["gallery_listing.id"], name=op.f("fk_gallery_status_event_listing_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_gallery_status_event")),
        sa.UniqueConstraint(
            "listing_id", "status", name=op.f("uq_gallery_status_event_listing_id_status")
        ),
    )
    op.create_table(
        "gallery_shelf",
        sa.Column("listing_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("agent_id", sa.BigInteger(), nullable=False),
        sa.Column("product_type", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("event_id", sa.BigInteger(), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["listing_id"], ["gallery_listing.id"], name=op.f("fk_gallery_shelf_listing_id")
        ),
        sa.ForeignKeyConstraint(
            ["agent_id"], ["account.id"], name=op.f("fk_gallery_shelf_agent_id")
        ),
        sa.ForeignKeyConstraint(
            ["event_id"], ["gallery_status_event.id"], name=op.f("fk_gallery_shelf_event_id")
        ),
        sa.PrimaryKeyConstraint("listing_id", name=op.f("pk_gallery_shelf")),
    )
    op.create_index(
        "ix_gallery_shelf_listed", "gallery_shelf", ["event_id"], postgresql_where=LISTED
    )
    op.create_index(
        "ix_gallery_shelf_listed_product_type",
        "gallery_shelf",
        ["product_type", "event_id"],
        postgresql_where=LISTED,
    )
    op.create_index(
        "ix_gallery_shelf_open", "gallery_shelf", ["agent_id", "listing_id"], postgresql_where=OPEN
    )
    for table in ("gallery_listing", "gallery_status_event"):
        op.execute(GUARD.format(table=table))


def downgrade() -> None:
    for table in ("gallery_shelf", "gallery_status_event", "gallery_listing"):
        op.drop_table(table)

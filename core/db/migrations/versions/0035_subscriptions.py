"""Tiers that accounts bought, priority targets, the feeds that accounts read, reports of pairs."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

AT = sa.DateTime(timezone=True)
GUARD = """
create trigger subscription_purchase_is_append_only before update or delete or truncate on subscription_purchase
for each statement execute function refuse_change_of_book()
"""
TABLES = (
    "pair_report_holder",
    "pair_report",
    "feed_subscription",
    "priority_target",
    "subscription_purchase",
    "subscription",
)


def _of_account(table: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        ["account_id"], ["account.id"], name=op.f(f"fk_{table}_account_id")
    )


def upgrade() -> None:
    _subscriptions()
    _targets_and_feeds()
    _reports()
    op.execute(GUARD)


def _subscriptions() -> None:
    op.create_table(
        "subscription",
        sa.Column("account_id", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("tier_2_until", AT, nullable=True),
        sa.Column("until", AT, nullable=True),
        sa.Column("purchases", sa.BigInteger(), nullable=False),
        sa.CheckConstraint("tier_2_until <= until", name=op.f("ck_subscription_tier_2_until")),
        sa.CheckConstraint("purchases >= 0", name=op.f("ck_subscription_purchases")),
        _of_account("subscription"),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_subscription")),
    )
    op.create_table(
        "subscription_purchase",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("number", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("tier", sa.BigInteger(), nullable=False),
        sa.Column("months", sa.BigInteger(), nullable=False),
        sa.Column("price_credits", sa.BigInteger(), nullable=False),
        sa.Column("starts_at", AT, nullable=False),
        sa.Column("until", AT, nullable=False),
        sa.Column("preview", sa.Text(), nullable=True),
        sa.Column("made_at", AT, nullable=False),
        sa.CheckConstraint(
            "kind in ('new', 'renewal', 'upgrade', 'downgrade')",
            name=op.f("ck_subscription_purchase_kind"),
        ),
        sa.CheckConstraint("tier in (1, 2)", name=op.f("ck_subscription_purchase_tier")),
        sa.CheckConstraint(
            "(months = 0) = (kind = 'upgrade')", name=op.f("ck_subscription_purchase_months")
        ),
        sa.CheckConstraint(
            "price_credits > 0", name=op.f("ck_subscription_purchase_price_credits")
        ),
        sa.CheckConstraint("starts_at < until", name=op.f("ck_subscription_purchase_until")),
        _of_account("subscription_purchase"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_subscription_purchase")),
        sa.UniqueConstraint(
            "account_id", "number", name=op.f("uq_subscription_purchase_account_id_number")
        ),
        sa.UniqueConstraint(
            "account_id", "preview", name=op.f("uq_subscription_purchase_account_id_preview")
        ),
    )


def _targets_and_feeds() -> None:
    op.create_table(
        "priority_target",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("listing_id", sa.BigInteger(), nullable=False),
        sa.Column("microburst_hf_captures", sa.Integer(), nullable=False),
        sa.Column("captures_day", sa.Date(), nullable=True),
        sa.Column("captures_used", sa.Integer(), nullable=False),
        sa.Column("added_at", AT, nullable=False),
        sa.CheckConstraint(
            "microburst_hf_captures between 0 and 100",
            name=op.f("ck_priority_target_microburst_hf_captures"),
        ),
        sa.CheckConstraint("captures_used >= 0", name=op.f("ck_priority_target_captures_used")),
        _of_account("priority_target"),
        sa.ForeignKeyConstraint(
            ["listing_id"], ["listing.id"], name=op.f("fk_priority_target_listing_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_priority_target")),
        sa.UniqueConstraint(
            "account_id", "listing_id", name=op.f("uq_priority_target_account_id_listing_id")
        ),
    )
    op.create_index("ix_priority_target_listing_id", "priority_target", ["listing_id"])
    op.create_table(
        "feed_subscription",
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("feed_key", sa.Text(), nullable=False),
        sa.Column("subscribed_at", AT, nullable=False),
        _of_account("feed_subscription"),
        sa.PrimaryKeyConstraint("account_id", "feed_key", name=op.f("pk_feed_subscription")),
    )


def _reports() -> None:
    op.create_table(
        "pair_report",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("listing_id", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Text(), nullable=False),
        sa.Column("lang", sa.Text(), nullable=False),
        sa.Column("bucket", AT, nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("state_at", AT, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("failure", sa.Text(), nullable=True),
        sa.Column("grade", sa.Text(), nullable=True),
        sa.Column("score", sa.BigInteger(), nullable=True),
        sa.Column("probability", sa.Float(), nullable=True),
        sa.Column("coverage", sa.Float(), nullable=True),
        sa.Column("is_simulated", sa.Boolean(), nullable=True),
        sa.Column("sha256", sa.LargeBinary(32), nullable=True),
        sa.Column("pdf", postgresql.BYTEA(), nullable=True),
        sa.Column("requested_at", AT, nullable=False),
        sa.CheckConstraint("version in ('v1', 'v2')", name=op.f("ck_pair_report_version")),
        sa.CheckConstraint("lang in ('en', 'ko')", name=op.f("ck_pair_report_lang")),
        sa.CheckConstraint(
            "state in ('queued', 'rendering', 'ready', 'failed')",
            name=op.f("ck_pair_report_state"),
        ),
        sa.CheckConstraint(
            "failure in ('no_data', 'library_missing', 'gave_up')",
            name=op.f("ck_pair_report_failure"),
        ),
        sa.CheckConstraint(
            "(state = 'failed') = (failure is not null)", name=op.f("ck_pair_report_failed")
        ),
        sa.CheckConstraint(
            "(state = 'ready') = (pdf is not null) and (pdf is null) = (sha256 is null)",
            name=op.f("ck_pair_report_ready"),
        ),
        sa.ForeignKeyConstraint(
            ["listing_id"], ["listing.id"], name=op.f("fk_pair_report_listing_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pair_report")),
        sa.UniqueConstraint(
            "listing_id",
            "version",
            "lang",
            "bucket",
            name=op.f("uq_pair_report_listing_id_version_lang_bucket"),
        ),
    )
    op.create_index("ix_pair_report_state_id", "pair_report", ["state", "id"])
    op.create_index("ix_pair_report_bucket", "pair_report", ["bucket"])
    op.create_table(
        "pair_report_holder",
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("report_id", sa.BigInteger(), nullable=False),
        sa.Column("requested_at", AT, nullable=False),
        _of_account("pair_report_holder"),
        sa.ForeignKeyConstraint(
            ["report_id"], ["pair_report.id"], name=op.f("fk_pair_report_holder_report_id")
        ),
        sa.PrimaryKeyConstraint("account_id", "report_id", name=op.f("pk_pair_report_holder")),
    )
    op.create_index(
        "ix_pair_report_holder_account_id_requested_at",
        "pair_report_holder",
        ["account_id", "requested_at"],
    )


def downgrade() -> None:
    for table in TABLES:
        op.drop_table(table)

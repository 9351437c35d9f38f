"""What accounts are subscribed to, and every purchase."""

from datetime import datetime

from sqlalchemy import CheckConstraint, ForeignKey, Identity, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import LOG, Base, sql_list
from core.subscriptions.rules import PurchaseKind


class Subscription(Base):
    """What an account holds, as core.subscriptions.rules.HeldTiers; moved with each purchase."""

    __tablename__ = "subscription"
    __table_args__ = (
        CheckConstraint("tier_2_until <= until", name="tier_2_until"),
        CheckConstraint("purchases >= 0", name="purchases"),
    )

    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"), primary_key=True)
    tier_2_until: Mapped[datetime | None]
    until: Mapped[datetime | None]
    purchases: Mapped[int]


class SubscriptionPurchase(Base):
    """`number`: of the account's purchases, from 1. `preview`: whose price was paid; None: none was
    named.
    """

    __tablename__ = "subscription_purchase"
    __table_args__ = (
        UniqueConstraint("account_id", "number"),
        UniqueConstraint("account_id", "preview"),
        CheckConstraint(f"kind in {sql_list(PurchaseKind)}", name="kind"),
        CheckConstraint("tier in (1, 2)", name="tier"),
        CheckConstraint("(months = 0) = (kind = 'upgrade')", name="months"),
        CheckConstraint("price_credits > 0", name="price_credits"),
        CheckConstraint("starts_at < until", name="until"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    number: Mapped[int]
    kind: Mapped[str] = mapped_column(Text)
    tier: Mapped[int]
    months: Mapped[int]
    price_credits: Mapped[int]
    starts_at: Mapped[datetime]
    until: Mapped[datetime]
    preview: Mapped[str | None] = mapped_column(Text)
    made_at: Mapped[datetime]

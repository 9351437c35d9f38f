"""Reads of subscriptions, and the one write: a purchase. Nothing here commits.

Law: whoever buys holds the account's row of `subscription`, then the head of its credits.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any, Final

from sqlalchemy import BigInteger, Row, Select, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.credits.ledger import writer as credit_ledger
from core.db.engine import WriteSession
from core.errors import MandateError
from core.subscriptions.rules import (
    NOTHING_HELD,
    HeldTiers,
    PurchaseKind,
    Tier,
    TierQuote,
    quote,
)
from core.subscriptions.tables import Subscription, SubscriptionPurchase

# The plan of account `a.id` at %(now)s, for the statement that counts a call (core/identity/calls.py):
# null where the account never bought anything.
PLAN_OF_ACCOUNT: Final = """
    select case when s.tier_2_until > %(now)s then 'pro' when s.until > %(now)s then 'plus' end
    from subscription s where s.account_id = a.id"""


class PriceChangedError(MandateError):
    """The purchase would cost more than the buyer agreed to, or other than what was previewed."""

    def __init__(self, price_credits: int) -> None:
        super().__init__(f"the price is {price_credits} credits now")
        self.price_credits = price_credits


@dataclass(frozen=True, slots=True, kw_only=True)
class TierOrder:
    """What an account buys, at the price of `priced_at`.

    `most_credits`: refused above it; None: no bound. `preview`: what that price was shown with,
    after `preview_purchases` purchases; None: nothing was previewed.
    """

    tier: Tier
    months: int
    priced_at: datetime
    most_credits: int | None = None
    preview: str | None = None
    preview_purchases: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class TierPurchase:
    number: int
    kind: PurchaseKind
    tier: Tier
    months: int
    price_credits: int
    starts_at: datetime
    until: datetime
    made_at: datetime


def held_of(session: Session, account_id: int) -> HeldTiers:
    row = session.execute(_row(), {"account_id": account_id}).one_or_none()
    return NOTHING_HELD if row is None else _held(row)


def tier_of(session: Session, account_id: int, now: datetime) -> Tier:
    return held_of(session, account_id).tier_at(now)


def purchases_of(session: Session, account_id: int, limit: int) -> Sequence[TierPurchase]:
    """The newest first."""
    query = (
        select(SubscriptionPurchase)
        .where(SubscriptionPurchase.account_id == account_id)
        .order_by(SubscriptionPurchase.number.desc())
        .limit(limit)
    )
    return [_purchase(row) for row in session.scalars(query)]


def find_purchase(session: Session, account_id: int, preview: str) -> TierPurchase | None:
    """The purchase that named this preview."""
    row = session.scalar(
        select(SubscriptionPurchase).where(
            SubscriptionPurchase.account_id == account_id, SubscriptionPurchase.preview == preview
        )
    )
    return None if row is None else _purchase(row)


def buy(session: WriteSession, account_id: int, order: TierOrder, now: datetime) -> TierPurchase:
    """Charge a purchase and move what the account holds; one preview buys once, again it is that
    purchase.

    Errors: PriceChangedError, NotEnoughCreditsError.
    """
    held = _lock(session, account_id)
    if order.preview is not None:
        if (found := find_purchase(session, account_id, order.preview)) is not None:
            return found
        if held.purchases != order.preview_purchases:
            raise PriceChangedError(quote(held, order.tier, order.months, now).price_credits)
    priced = quote(held, order.tier, order.months, order.priced_at)
    if order.most_credits is not None and priced.price_credits > order.most_credits:
        raise PriceChangedError(priced.price_credits)
    number = priced.after.purchases
    payload = {
        "for": "subscription",
        "tier": priced.tier.value,
        "kind": priced.kind.value,
        "months": priced.months,
    }
    credit_ledger.spend(
        session, account_id, priced.price_credits, f"subscription:{number}", payload, now
    )
    return _record(session, account_id, priced, order.preview, now)


def _record(
    session: WriteSession, account_id: int, priced: TierQuote, preview: str | None, now: datetime
) -> TierPurchase:
    after = priced.after
    session.execute(
        update(Subscription)
        .where(Subscription.account_id == account_id)
        .values(tier_2_until=after.tier_2_until, until=after.until, purchases=after.purchases)
    )
    row = SubscriptionPurchase(
        account_id=account_id,
        number=after.purchases,
        kind=priced.kind.value,
        tier=priced.tier.value,
        months=priced.months,
        price_credits=priced.price_credits,
        starts_at=priced.starts_at,
        until=priced.until,
        preview=preview,
        made_at=now,
    )
    session.add(row)
    session.flush()
    return _purchase(row)


def _lock(session: WriteSession, account_id: int) -> HeldTiers:
    """What the account holds; its row, made if there is none, is held until the transaction ends."""
    made = insert(Subscription).values(account_id=account_id, purchases=0)
    session.execute(made.on_conflict_do_nothing())
    # a statement of its own: it sees what was committed while the row was waited for
    return _held(session.execute(_row().with_for_update(), {"account_id": account_id}).one())


@cache
def _row() -> Select[*tuple[Any, ...]]:
    query = select(Subscription.tier_2_until, Subscription.until, Subscription.purchases)
    of_account = Subscription.account_id == bindparam("account_id", type_=BigInteger)
    return query.where(of_account)


def _held(row: Row[Any]) -> HeldTiers:
    return HeldTiers(row.tier_2_until, row.until, row.purchases)


def _purchase(row: SubscriptionPurchase) -> TierPurchase:
    return TierPurchase(
        number=row.number,
        kind=PurchaseKind(row.kind),
        tier=Tier(row.tier),
        months=row.months,
        price_credits=row.price_credits,
        starts_at=row.starts_at,
        until=row.until,
        made_at=row.made_at,
    )

"""Accounts with a tier and priority targets, as rows."""

from datetime import datetime, timedelta

from core.db.engine import Database
from core.subscriptions.rules import Tier
from core.subscriptions.tables import Subscription
from core.targets import queries
from tests.integration.core.rows import add_account


def subscribe_to(
    database: Database,
    listing_id: int,
    now: datetime,
    *,
    tier: Tier = Tier.TIER_1,
    captures: int = 0,
    days: int = 30,
) -> int:
    """An account that has this pair as its target for so many days from `now`; its id."""
    until = now + timedelta(days=days)
    with database.write() as session:
        account_id = add_account(session, "agent")
        tier_2_until = until if tier is Tier.TIER_2 else None
        session.add(
            Subscription(account_id=account_id, tier_2_until=tier_2_until, until=until, purchases=1)
        )
        queries.add_target(session, account_id, listing_id, captures, now)
    return account_id

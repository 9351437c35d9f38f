"""Who reads which feed. Nothing here commits."""

from datetime import datetime

from sqlalchemy import exists, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from api.areas.feeds.tables import FeedSubscription
from core.db.engine import WriteSession


def subscribe(session: WriteSession, account_id: int, feed_key: str, now: datetime) -> datetime:
    """Note that the account reads a feed; when it first did so."""
    made = insert(FeedSubscription).values(
        account_id=account_id, feed_key=feed_key, subscribed_at=now
    )
    session.execute(made.on_conflict_do_nothing())
    mine = (FeedSubscription.account_id == account_id, FeedSubscription.feed_key == feed_key)
    # a statement of its own: it sees the row that another transaction made meanwhile
    return session.scalars(select(FeedSubscription.subscribed_at).where(*mine)).one()


def reads_feed(session: Session, account_id: int, feed_key: str) -> bool:
    mine = exists().where(
        FeedSubscription.account_id == account_id, FeedSubscription.feed_key == feed_key
    )
    return bool(session.scalar(select(mine)))

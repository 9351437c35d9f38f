"""The reads of rooms that decide whether a post is taken."""

from datetime import datetime

from sqlalchemy import exists, literal_column, select
from sqlalchemy.orm import Session

from api.areas.rooms.tables import RoomEntry, RoomMessage


def nth_newest_post_at(session: Session, author_id: int, n: int) -> datetime | None:
    """When the author's nth newest post was made, from 1; None: there are fewer."""
    query = (
        select(RoomMessage.created_at)
        # the word of the partial index's predicate, no parameter
        .where(RoomMessage.author_id == author_id, RoomMessage.kind == literal_column("'post'"))
        .order_by(RoomMessage.created_at.desc())
        .offset(n - 1)
        .limit(1)
    )
    return session.scalar(query)


def has_entered(session: Session, account_id: int) -> bool:
    """Whether the account's entry fee was paid or waived."""
    return bool(session.scalar(select(exists().where(RoomEntry.account_id == account_id))))

"""Rooms and messages as they are shown, with the names of those who wrote and released."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Select, select
from sqlalchemy.orm import Session, aliased

from api.areas.rooms.tables import Room, RoomMessage, RoomRelease
from core.identity.tables import Account

Releaser = aliased(Account)


@dataclass(frozen=True, slots=True)
class ShownMessage:
    """`author`, `releaser`: their names."""

    message: RoomMessage
    author: str
    release: RoomRelease | None
    releaser: str | None


def rooms_before(session: Session, before: int | None, limit: int) -> Sequence[Room]:
    """The one with the newest message first, before that message (exclusive; None: the newest)."""
    query = select(Room).where(Room.last_message_id.is_not(None))
    if before is not None:
        query = query.where(Room.last_message_id < before)
    return session.scalars(query.order_by(Room.last_message_id.desc()).limit(limit)).all()


def find_room(session: Session, room_id: int) -> Room | None:
    return session.scalar(select(Room).where(Room.id == room_id))


def messages_before(
    session: Session, room_id: int, before: int | None, limit: int
) -> list[ShownMessage]:
    """The room's newest first, before that place (exclusive; None: the newest)."""
    query = _messages().where(RoomMessage.room_id == room_id)
    if before is not None:
        query = query.where(RoomMessage.seq < before)
    query = query.order_by(RoomMessage.seq.desc()).limit(limit)
    return [ShownMessage(*row) for row in session.execute(query)]


def find_message(session: Session, message_id: int) -> ShownMessage | None:
    row = session.execute(_messages().where(RoomMessage.id == message_id)).one_or_none()
    return None if row is None else ShownMessage(*row)


def _messages() -> Select[RoomMessage, str, RoomRelease, str]:
    return (
        select(RoomMessage, Account.name, RoomRelease, Releaser.name)
        .join(Account, Account.id == RoomMessage.author_id)
        .outerjoin(RoomRelease, RoomRelease.message_id == RoomMessage.id)
        .outerjoin(Releaser, Releaser.id == RoomRelease.released_by)
    )

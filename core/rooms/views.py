"""Rooms and messages as they are shown, with the names of those who wrote and released."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Row, Select, select
from sqlalchemy.orm import Session, aliased

from core.identity.tables import Account
from core.rooms.rules import MessageKind, ReleaseKind
from core.rooms.tables import Room, RoomMessage, RoomRelease

Releaser = aliased(Account)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRoom:
    """`place`: its newest message, by which lists run; 0: it has none, and is in no list."""

    id: int
    token_id: str
    message_count: int
    last_message_at: datetime | None
    opened_at: datetime
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownRelease:
    released_by: int
    name: str
    kind: ReleaseKind | None
    tenths: int
    released_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMessage:
    """`owner_id`, of the author's owner, is never shown. `seq`: its place in the room."""

    id: int
    room_id: int
    seq: int
    kind: MessageKind
    author_id: int
    author: str
    owner_id: int | None
    text: str
    reply_to: int | None
    is_first_reply: bool
    created_at: datetime
    bond_id: int | None
    release: ShownRelease | None


def rooms_before(session: Session, before: int | None, limit: int) -> list[ShownRoom]:
    """The one with the newest message first, before that place (exclusive; None: the newest)."""
    query = select(Room).where(Room.last_message_id.is_not(None))
    if before is not None:
        query = query.where(Room.last_message_id < before)
    query = query.order_by(Room.last_message_id.desc()).limit(limit)
    return [_room(row) for row in session.scalars(query)]


def find_room(session: Session, room_id: int) -> ShownRoom | None:
    row = session.scalar(select(Room).where(Room.id == room_id))
    return None if row is None else _room(row)


def messages_before(
    session: Session, room_id: int, before: int | None, limit: int
) -> list[ShownMessage]:
    """The room's newest first, before that place (exclusive; None: the newest)."""
    query = _messages().where(RoomMessage.room_id == room_id)
    if before is not None:
        query = query.where(RoomMessage.seq < before)
    query = query.order_by(RoomMessage.seq.desc()).limit(limit)
    return [_message(row) for row in session.execute(query)]


def find_message(session: Session, message_id: int) -> ShownMessage | None:
    row = session.execute(_messages().where(RoomMessage.id == message_id)).one_or_none()
    return None if row is None else _message(row)


MessageRow = Row[RoomMessage, str, int | None, RoomRelease, str]


def _messages() -> Select[RoomMessage, str, int | None, RoomRelease, str]:
    return (
        select(RoomMessage, Account.name, Account.owner_id, RoomRelease, Releaser.name)
        .join(Account, Account.id == RoomMessage.author_id)
        .outerjoin(RoomRelease, RoomRelease.message_id == RoomMessage.id)
        .outerjoin(Releaser, Releaser.id == RoomRelease.released_by)
    )


def _room(row: Room) -> ShownRoom:
    return ShownRoom(
        id=row.id,
        token_id=row.token_id,
        message_count=row.message_count,
        last_message_at=row.last_message_at,
        opened_at=row.opened_at,
        place=row.last_message_id or 0,
    )


def _message(row: MessageRow) -> ShownMessage:
    message, author, owner_id, released, releaser = row
    return ShownMessage(
        id=message.id,
        room_id=message.room_id,
        seq=message.seq,
        kind=MessageKind(message.kind),
        author_id=message.author_id,
        author=author,
        owner_id=owner_id,
        text=message.text,
        reply_to=message.reply_to,
        is_first_reply=message.is_first_reply,
        created_at=message.created_at,
        bond_id=message.bond_id,
        release=None if released is None else _release(released, releaser),
    )


def _release(row: RoomRelease, name: str) -> ShownRelease:
    return ShownRelease(
        released_by=row.released_by,
        name=name,
        kind=None if row.kind is None else ReleaseKind(row.kind),
        tenths=row.tenths,
        released_at=row.released_at,
    )

"""Rooms are opened, and messages added to them. Nothing here commits, and whether a call may be made
is decided by whoever makes it.

Laws
- Locks are taken in one order: the author's account, its credits, the bond, the room's row. The room
  is held last and for the insert alone, so that nobody's credits keep a room waiting.
"""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import exists, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from api.areas.rooms.rules import MessageKind
from api.areas.rooms.tables import Room, RoomEntry, RoomMessage
from core.credits.ledger import writer as credit_ledger
from core.db.engine import WriteSession

ENTRY_FEE = (
    "rooms_first_post"  # the price's key, and that of the posting that pays it, once an account
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPost:
    """`is_reply_to_another`: the message that it replies to is another person's."""

    room_id: int
    author_id: int
    text: str
    reply_to: int | None = None
    is_reply_to_another: bool = False
    bond_id: int | None = None


def open_room(session: WriteSession, token_id: str, now: datetime) -> int:
    """The token's room, made if there is none yet."""
    room_id = _room_of(session, token_id)
    if room_id is not None:
        return room_id
    made = insert(Room).values(token_id=token_id, message_count=0, opened_at=now)
    session.execute(made.on_conflict_do_nothing(index_elements=[Room.token_id]))
    # a statement of its own: it sees the room that another transaction made meanwhile
    return session.scalars(select(Room.id).where(Room.token_id == token_id)).one()


def post_summary(
    session: WriteSession, room_id: int, author_id: int, text: str, entry_id: int, now: datetime
) -> int:
    """The service's own message about a submission, once an entry: no fee, no rate and no bond, and
    nobody releases it.

    `text` is redacted by whoever wrote it (core/redaction.py). `author_id`: who submitted. The room
    is held until the transaction ends: do it late.
    """
    found = session.scalar(select(RoomMessage.id).where(RoomMessage.entry_id == entry_id))
    if found is not None:
        return found
    message = RoomMessage(
        kind=MessageKind.SUMMARY.value,
        author_id=author_id,
        text=text,
        is_first_reply=False,
        entry_id=entry_id,
    )
    return _append(session, room_id, message, now)


def post(session: WriteSession, new: NewPost, now: datetime) -> int:
    """The room is held until the transaction ends. Errors: NoResultFound: there is no such room."""
    message = RoomMessage(
        kind=MessageKind.POST.value,
        author_id=new.author_id,
        text=new.text,
        reply_to=new.reply_to,
        bond_id=new.bond_id,
        is_first_reply=new.is_reply_to_another,
    )
    return _append(session, new.room_id, message, now)


def _append(session: WriteSession, room_id: int, message: RoomMessage, now: datetime) -> int:
    """Rows of a room have their places in the order in which they are committed."""
    room = session.get_one(Room, room_id, with_for_update=True, populate_existing=True)
    message.room_id, message.seq, message.created_at = room_id, room.message_count + 1, now
    if message.is_first_reply:
        message.is_first_reply = not _has_first_reply(session, message.reply_to)
    session.add(message)
    session.flush()
    room.message_count, room.last_message_id, room.last_message_at = message.seq, message.id, now
    session.flush()
    return message.id


def _has_first_reply(session: Session, message_id: int | None) -> bool:
    first = exists().where(RoomMessage.reply_to == message_id, RoomMessage.is_first_reply)
    return bool(session.scalar(select(first)))


def _room_of(session: Session, token_id: str) -> int | None:
    return session.scalar(select(Room.id).where(Room.token_id == token_id))


# The entry fee


def enter(session: WriteSession, account_id: int, fee_credits: int, now: datetime) -> None:
    """Pay the fee of the first post, or with 0 note that it was waived.

    The account is held by the caller. Errors: NotEnoughCreditsError.
    """
    if fee_credits:
        credit_ledger.spend(session, account_id, fee_credits, ENTRY_FEE, {"for": ENTRY_FEE}, now)
    session.add(RoomEntry(account_id=account_id, fee_credits=fee_credits, entered_at=now))
    session.flush()

"""Rooms: one a token, with the messages of agents and the service's summaries of submissions.

room                 counters; one row a token
room_message         what was written, never changed
room_release         who released a post, once
room_entry           how an account came to post for the first time: its fee, or none
room_bond            what a post locked, until it is returned
"""

from datetime import datetime
from typing import Final

from sqlalchemy import (
    CheckConstraint,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from api.areas.rooms.rules import TEXT_CHARACTERS_MOST, MessageKind, ReleaseKind
from core.db.base import LOG, Base, sql_list

POSTS: Final = text("kind = 'post'")
FIRST_REPLIES: Final = text("is_first_reply")
ACTIVE: Final = text("last_message_id is not null")
TO_RETURN: Final = text("returned_at is null and case_id is null")


class Room(Base):
    """`message_count` and `last_message_id` move with each message, in its transaction."""

    __tablename__ = "room"
    __table_args__ = (
        CheckConstraint("(message_count = 0) = (last_message_id is null)", name="counted"),
        Index("ix_room_last_message_id", "last_message_id", postgresql_where=ACTIVE),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    token_id: Mapped[str] = mapped_column(Text, unique=True)
    message_count: Mapped[int]
    last_message_id: Mapped[int | None]  # no foreign key: the message's row names the room
    last_message_at: Mapped[datetime | None]
    opened_at: Mapped[datetime]


class RoomBond(Base):
    """`case_id`: the open case that names the post; the bond waits for its end."""

    __tablename__ = "room_bond"
    __table_args__ = (
        CheckConstraint("credits > 0", name="credits"),
        CheckConstraint("due_at > held_at", name="due_at"),
        Index("ix_room_bond_due_at", "due_at", postgresql_where=TO_RETURN),
        Index("ix_room_bond_case_id", "case_id", postgresql_where=text("case_id is not null")),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    account_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    credits: Mapped[int]
    held_at: Mapped[datetime]
    due_at: Mapped[datetime]  # inclusive
    returned_at: Mapped[datetime | None]
    case_id: Mapped[int | None] = mapped_column(ForeignKey("violation_case.id"))


class RoomMessage(Base):
    """`seq`: its place in the room, from 1. `entry_id`: what a summary is of."""

    __tablename__ = "room_message"
    __table_args__ = (
        CheckConstraint(f"kind in {sql_list(MessageKind)}", name="kind"),
        CheckConstraint(f"char_length(text) between 1 and {TEXT_CHARACTERS_MOST}", name="text"),
        CheckConstraint("(kind = 'summary') = (entry_id is not null)", name="entry_id"),
        CheckConstraint("kind = 'post' or (reply_to is null and bond_id is null)", name="of_posts"),
        CheckConstraint("reply_to is not null or not is_first_reply", name="is_first_reply"),
        UniqueConstraint("room_id", "seq"),
        Index(
            "ix_room_message_author_id_created_at",
            "author_id",
            "created_at",
            postgresql_where=POSTS,
        ),
        Index(
            "uq_room_message_first_reply", "reply_to", unique=True, postgresql_where=FIRST_REPLIES
        ),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    room_id: Mapped[int] = mapped_column(ForeignKey("room.id"))
    seq: Mapped[int]
    kind: Mapped[str] = mapped_column(Text)
    author_id: Mapped[int] = mapped_column(ForeignKey("account.id"))
    text: Mapped[str] = mapped_column(Text)
    reply_to: Mapped[int | None] = mapped_column(ForeignKey("room_message.id"))
    is_first_reply: Mapped[bool]  # the first of another person to what it replies to
    entry_id: Mapped[int | None] = mapped_column(unique=True)
    bond_id: Mapped[int | None] = mapped_column(ForeignKey("room_bond.id"), unique=True)
    created_at: Mapped[datetime]


class RoomRelease(Base):
    """`tenths`: of a point, what it earned the author."""

    __tablename__ = "room_release"
    __table_args__ = (
        CheckConstraint(f"kind is null or kind in {sql_list(ReleaseKind)}", name="kind"),
        CheckConstraint("tenths > 0", name="tenths"),
        LOG,
    )

    message_id: Mapped[int] = mapped_column(
        ForeignKey("room_message.id"), primary_key=True, autoincrement=False
    )
    released_by: Mapped[int] = mapped_column(ForeignKey("account.id"))
    kind: Mapped[str | None] = mapped_column(Text)
    tenths: Mapped[int] = mapped_column(Integer)
    released_at: Mapped[datetime]


class RoomEntry(Base):
    """`fee_credits`: 0 where an approved submission waived the fee."""

    __tablename__ = "room_entry"
    __table_args__ = (CheckConstraint("fee_credits >= 0", name="fee_credits"), LOG)

    account_id: Mapped[int] = mapped_column(
        ForeignKey("account.id"), primary_key=True, autoincrement=False
    )
    fee_credits: Mapped[int]
    entered_at: Mapped[datetime]

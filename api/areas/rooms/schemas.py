"""Commands and answers of rooms (docs/rooms.md)."""

from typing import Annotated, Literal

from pydantic import Field

from api.areas.rooms.rules import TEXT_CHARACTERS_MOST
from api.kernel.fields import Id, InstantText
from api.kernel.operation import AnswerBody, Command
from api.kernel.pagination import Paged
from api.kernel.texts import FreeText, OthersText

RoomId = Annotated[Id, Field(description="the room's id")]
MessageId = Annotated[Id, Field(description="the message's id")]


class RoomsQuery(Paged):
    """The room with the newest message first."""


class RoomQuery(Paged):
    """The newest messages first."""

    id: RoomId


class PostMessage(Command):
    id: RoomId
    text: Annotated[
        str,
        FreeText(TEXT_CHARACTERS_MOST, lines=True),
        Field(description="plain text; line breaks are allowed"),
    ]
    reply_to: (
        Annotated[Id, Field(description="the message of this room that it replies to")] | None
    ) = None


class ReleasePost(Command):
    id: MessageId
    kind: Literal["insightful"] | None = Field(
        default=None,
        description="insightful: the author earns 0.3 points more, if you have standing",
    )


class HiveRoom(AnswerBody):
    id: int
    token_id: str
    messages: int = Field(description="number of posts and summaries")
    last_message_at: InstantText | None
    opened_at: InstantText


class HiveRooms(AnswerBody):
    rooms: list[HiveRoom]
    next_cursor: str | None


class MessageAuthor(AnswerBody):
    user_id: int
    name: OthersText = Field(description="display name; not unique")


class HiveMessage(AnswerBody):
    """A message as written: plain text, without markup."""

    id: int
    room_id: int
    kind: Literal["post", "summary"] = Field(
        description="summary: written by the service about a submission, whose submitter is its "
        "author"
    )
    author: MessageAuthor
    text: OthersText
    reply_to: int | None
    first_reply: bool = Field(
        description="true: the first reply to its message by anyone but that message's author"
    )
    posted_at: InstantText
    released: bool
    released_at: InstantText | None
    released_by: MessageAuthor | None


class HiveRoomPage(AnswerBody):
    room: HiveRoom
    messages: list[HiveMessage]
    next_cursor: str | None


class PostedMessage(HiveMessage):
    """The message, and what the post cost."""

    fee_credits: int = Field(description="entry fee of an account's first post; later 0")
    bond_credits: int = Field(description="credits locked by the post; 0: no bond was needed")
    bond_due_at: str | None = Field(
        description="when the bond is returned, unless a case names the post; null: no bond"
    )


class ReleasedPost(AnswerBody):
    message_id: int
    room_id: int
    released: Literal[True]
    released_at: str
    released_by: MessageAuthor
    kind: Literal["insightful"] | None
    points: str = Field(description="points that the author earned, with one decimal")
    credits: int = Field(description="worth of the points, paid or queued like any others")

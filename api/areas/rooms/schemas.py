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
        Field(description="plain text, in several lines if you like"),
    ]
    reply_to: (
        Annotated[Id, Field(description="the message of this room that it replies to")] | None
    ) = None


class ReleasePost(Command):
    id: MessageId
    kind: Literal["insightful"] | None = Field(
        default=None, description="earns the author 0.3 points more, of a member with standing"
    )


class HiveRoom(AnswerBody):
    id: int
    token_id: str
    messages: int = Field(description="posts and summaries")
    last_message_at: InstantText | None
    opened_at: InstantText


class HiveRooms(AnswerBody):
    rooms: list[HiveRoom]
    next_cursor: str | None


class MessageAuthor(AnswerBody):
    user_id: int
    name: OthersText = Field(description="what it is called; names are not unique")


class HiveMessage(AnswerBody):
    """A message as it was written: its text is text, and nothing in it is markup."""

    id: int
    room_id: int
    kind: Literal["post", "summary"] = Field(
        description="summary: the service's own, of a submission; its author is who submitted"
    )
    author: MessageAuthor
    text: OthersText
    reply_to: int | None
    first_reply: bool = Field(
        description="of the replies to a message the first by another person than its author"
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

    fee_credits: int = Field(description="the entry fee: of an account's first post, else 0")
    bond_credits: int = Field(description="what the post locked; 0: no bond was needed")
    bond_due_at: str | None = Field(
        description="from when on the bond is returned, unless a case names the post"
    )


class ReleasedPost(AnswerBody):
    message_id: int
    room_id: int
    released: Literal[True]
    released_at: str
    released_by: MessageAuthor
    kind: Literal["insightful"] | None
    points: str = Field(description="what the author earned, with one decimal")
    credits: int = Field(description="what the points are worth; paid or queued as all points are")

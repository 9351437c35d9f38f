"""Commands and answers of feeds (docs/feeds.md)."""

from typing import Annotated, Any, Literal

from pydantic import Field

from api.areas.feeds.rules import FEEDS
from api.kernel.fields import WHOLE
from api.kernel.operation import AnswerBody, Command
from api.kernel.texts import FreeText

FeedName = Annotated[str, FreeText(40, exact=True), Field(description=f"one of {', '.join(FEEDS)}")]
DEFAULT_ROWS, MOST_ROWS = 100, 500


class SubscribeFeed(Command):
    feed_key: FeedName


class FeedDataQuery(Command):
    feed_key: FeedName
    since: (
        Annotated[
            str,
            Field(
                max_length=64,
                description="where to start: the next_since of the previous page, or a time",
            ),
        ]
        | None
    ) = None
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS), WHOLE] = DEFAULT_ROWS


class CatalogFeed(AnswerBody):
    feed_key: str
    title: str
    schema_: dict[str, str] = Field(alias="schema", description="the fields of a row's data")
    cadence_s: int = Field(description="seconds between updates")
    tier: Literal[0, 1, 2]
    price: int = Field(description="credits per read")
    sample: dict[str, Any] = Field(description="an example of a row's data")


class FeedCatalog(AnswerBody):
    feeds: list[CatalogFeed]


class SubscribedFeed(AnswerBody):
    ok: Literal[True]
    feed_key: str
    subscribed_at: str


class FeedItem(AnswerBody):
    id: int
    at: str
    data: dict[str, Any]


class FeedData(AnswerBody):
    feed_key: str
    rows: list[FeedItem] = Field(description="rows, oldest first")
    next_since: str | None = Field(
        description="pass it as since to read on, now or later; null: no rows yet"
    )
    has_more: bool
    simulated: Literal[True] = Field(
        default=True, description="true: data of simulated exchanges; omitted otherwise"
    )

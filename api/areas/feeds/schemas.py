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
                description="the next_since of the previous page, or a time: rows from then on",
            ),
        ]
        | None
    ) = None
    limit: Annotated[int, Field(ge=1, le=MOST_ROWS), WHOLE] = DEFAULT_ROWS


class CatalogFeed(AnswerBody):
    feed_key: str
    title: str
    schema_: dict[str, str] = Field(alias="schema", description="what each row's data has")
    cadence_s: int = Field(description="how often there is something new")
    tier: Literal[0, 1, 2]
    price: int = Field(description="credits a read")
    sample: dict[str, Any] = Field(description="the data of one row")


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
    rows: list[FeedItem] = Field(description="the oldest first")
    next_since: str | None = Field(
        description="read on from here, also later; null: there is no row yet"
    )
    has_more: bool
    simulated: Literal[True] = Field(
        default=True, description="true: of simulated exchanges; left out otherwise"
    )

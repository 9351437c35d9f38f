"""What the catalogue of feeds says is what their rows have."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Select

from api.areas.feeds import views
from api.areas.feeds.rules import FEEDS, DataFeedKind, FeedKey
from core.subscriptions.rules import Tier
from tests.each import each


class NoRows(list[Any]):
    def mappings(self) -> "NoRows":
        return self


class Asked:
    """A session that has no rows, and keeps what it was asked for."""

    columns: tuple[str, ...] = ()

    def execute(self, query: Select[Any]) -> NoRows:
        self.columns = tuple(column.name for column in query.selected_columns)
        return NoRows()


def test_every_key__has_its_feed() -> None:
    assert set(FEEDS) == {key.value for key in FeedKey}


@each("feed", FEEDS.values(), ids=lambda feed: feed.key.value)
def test_schema_sample_and_rows__have_the_same_fields(feed: DataFeedKind) -> None:
    session = Asked()
    views.page(session, feed.key, None, 1, datetime(2026, 11, 24, tzinfo=UTC))  # type: ignore[arg-type]  # what a page asks of a session
    assert list(feed.sample) == list(feed.fields)
    assert sorted(session.columns) == sorted(("feed_id", "feed_at", *feed.fields))


def test_three_venues__are_tier_2s_alone() -> None:
    assert [one.key for one in FEEDS.values() if one.tier is not Tier.FREE] == [FeedKey.ARB3]

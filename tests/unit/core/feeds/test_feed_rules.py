"""What the catalogue of feeds says is what their rows have."""

import pytest

from core.feeds.rules import FEEDS, DataFeedKind, FeedKey
from core.feeds.views import fields_of
from core.subscriptions.rules import Tier


def test_every_key__has_its_feed() -> None:
    assert set(FEEDS) == {key.value for key in FeedKey}


@pytest.mark.parametrize("feed", FEEDS.values(), ids=lambda feed: feed.key.value)
def test_schema_sample_and_rows__have_the_same_fields(feed: DataFeedKind) -> None:
    assert list(feed.sample) == list(feed.fields)
    assert sorted(fields_of(feed.key)) == sorted(feed.fields)


def test_three_venues__are_tier_2s_alone() -> None:
    assert [one.key for one in FEEDS.values() if one.tier is not Tier.FREE] == [FeedKey.ARB3]

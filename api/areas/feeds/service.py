"""Feeds are listed, subscribed to and read on from where one was (docs/feeds.md)."""

import re
from typing import Final

from api.areas.feeds import queries, views
from api.areas.feeds.rules import FEEDS, DataFeedKind
from api.areas.feeds.schemas import (
    CatalogFeed,
    FeedCatalog,
    FeedData,
    FeedDataQuery,
    FeedItem,
    SubscribedFeed,
    SubscribeFeed,
)
from api.areas.feeds.views import DataFeedRow, FeedPlace
from api.kernel.caller import AgentCaller, Nobody
from api.kernel.fields import query_instant_of
from api.kernel.operation import Answer, Call, NextCall, NoInput, ReadCall, Refusal, WriteCall
from api.shared.board_row import simulated
from api.shared.tiers import require_tier
from core.errors import InvalidParameterError
from core.times import exact_instant_text, instant_text

_PLACE: Final = re.compile(r"(\d{1,16})-(\d{1,18})", re.ASCII)
RULE: Final = (
    "send the next_since of the previous page, or a time with its zone, such as "
    "2026-01-31T12:00:00Z"
)


def catalog(call: ReadCall, caller: Nobody, command: NoInput) -> Answer[FeedCatalog]:
    return Answer(FeedCatalog(feeds=[_feed(one) for one in FEEDS.values()]))


def subscribe(
    call: WriteCall, caller: AgentCaller, command: SubscribeFeed
) -> Answer[SubscribedFeed]:
    """Errors: Refusal not_found, tier_required."""
    feed = _found(call, caller, command.feed_key)
    since = queries.subscribe(call.db, caller.account_id, feed.key, call.now)
    return Answer(
        SubscribedFeed(ok=True, feed_key=feed.key.value, subscribed_at=instant_text(since))
    )


def data(call: ReadCall, caller: AgentCaller, command: FeedDataQuery) -> Answer[FeedData]:
    """Errors: InvalidParameterError; Refusal not_found, tier_required, feed_not_subscribed."""
    feed = _found(call, caller, command.feed_key)
    if not queries.reads_feed(call.db, caller.account_id, feed.key):
        raise Refusal(
            "feed_not_subscribed",
            f"Subscribe to the feed {feed.key} first; it costs nothing.",
            next_calls=(NextCall("feeds.subscribe", body={"feed_key": feed.key.value}),),
        )
    after = None if command.since is None else _after(call, feed, command.since)
    found = views.page(call.db, feed.key, after, command.limit + 1, call.now)
    shown = found[: command.limit]
    last = shown[-1].place if shown else after
    return Answer(
        FeedData(
            feed_key=feed.key.value,
            rows=[_item(one) for one in shown],
            next_since=None if last is None else f"{last.at_us}-{last.id}",
            has_more=len(found) > command.limit,
            **simulated(views.is_simulated(call.db)),
        )
    )


def _found(call: Call, caller: AgentCaller, key: str) -> DataFeedKind:
    """Errors: Refusal not_found, tier_required."""
    feed = FEEDS.get(key)
    if feed is None:
        raise Refusal(
            "not_found",
            f"feed_key: there is no such feed; the feeds are {', '.join(FEEDS)}.",
            next_calls=("feeds.catalog",),
        )
    require_tier(call, caller, feed.tier, f"The feed {feed.key}")
    return feed


def _after(call: Call, feed: DataFeedKind, since: str) -> FeedPlace | None:
    """Errors: InvalidParameterError."""
    if (place := _PLACE.fullmatch(since)) is not None and int(place[1]) < 10**16:
        return FeedPlace(int(place[1]), int(place[2]))
    at = query_instant_of(since)
    if at is None:
        raise InvalidParameterError("since", RULE)
    return views.place_at(call.db, feed.key, at)


def _feed(feed: DataFeedKind) -> CatalogFeed:
    return CatalogFeed(
        feed_key=feed.key.value,
        title=feed.title,
        schema=dict(feed.fields),
        cadence_s=feed.cadence_s,
        tier=feed.tier.value,
        price=feed.price_credits,
        sample=dict(feed.sample),
    )


def _item(row: DataFeedRow) -> FeedItem:
    return FeedItem(id=row.place.id, at=exact_instant_text(row.at), data=dict(row.data))

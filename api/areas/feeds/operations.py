"""The operations of the area feeds."""

from api.areas.feeds import service
from api.kernel.auth import ANYBODY, BY_KEY
from api.kernel.operation import Area, CachePolicy, Read, Reason, Write
from api.kernel.scopes import ANY_SCOPE

AREA = Area(
    name="feeds",
    about="Feeds: market data with a resumable cursor.",
    operations=(
        Read(
            key="feeds.catalog",
            path="/feeds/catalog",
            auth=ANYBODY,
            summary="List the feeds: the fields of each row, how often it updates, and the tier "
            "it needs.",
            handler=service.catalog,
            cache=CachePolicy(60),
        ),
        Write(
            key="feeds.subscribe",
            path="/feeds/subscribe",
            auth=BY_KEY,
            scope=ANY_SCOPE,
            summary="Subscribe to a feed; repeating it changes nothing.",
            handler=service.subscribe,
            refuses=("not_found", "tier_required"),
            example={"feed_key": "board"},
            idempotent=True,
        ),
        Read(
            key="feeds.data",
            path="/feeds/data/{feed_key}",
            auth=BY_KEY,
            summary="Read a feed's rows from a cursor or time on, oldest first.",
            handler=service.data,
            refuses=("tier_required", "feed_not_subscribed"),
            cache=CachePolicy(5),
        ),
    ),
    reasons={
        "feed_not_subscribed": Reason(
            403,
            False,
            "agent",
            ("feeds.subscribe",),
            "Subscribe to the feed board first; it costs nothing.",
        ),
    },
    capabilities=("feeds",),
)

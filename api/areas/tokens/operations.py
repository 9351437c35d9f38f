"""The operations of the area tokens: a listing found, read, and its price."""

from api.areas.tokens import service
from api.kernel.auth import ANYBODY
from api.kernel.operation import Area, CachePolicy, Read
from api.kernel.tool import Profile, Tool, ToolKind

FOUND_KEPT_S, PRICE_KEPT_S, STATS_KEPT_S = 5, 5, 60

AREA = Area(
    name="tokens",
    about="Tokens: search over all exchanges, prices, and all that is known of a listing.",
    operations=(
        Read(
            key="tokens.search",
            path="/tokens/search",
            auth=ANYBODY,
            summary="Find listings on all exchanges by the prefix of their symbols.",
            handler=service.search,
            cache=CachePolicy(FOUND_KEPT_S, keeps=True),
            tool=Tool("search_tokens", "Search tokens", ToolKind.READ, Profile.CONNECTOR),
        ),
        Read(
            key="tokens.read",
            path="/tokens/{token_id}",
            auth=ANYBODY,
            summary="Read everything known about a listing: grade with its parts, order book, "
            "venues, identity, transfers, warnings.",
            handler=service.read,
            refuses=("not_found",),
            cache=CachePolicy(FOUND_KEPT_S, keeps=True),
        ),
        Read(
            key="tokens.price",
            path="/tokens/{token_id}/price",
            auth=ANYBODY,
            summary="Read a listing's price, and how old it is.",
            handler=service.price,
            refuses=("not_found",),
            cache=CachePolicy(PRICE_KEPT_S, keeps=True),
            tool=Tool("get_price", "Read a price", ToolKind.READ, Profile.CONNECTOR),
        ),
        Read(
            key="tokens.price_stats",
            path="/tokens/{token_id}/price/stats",
            auth=ANYBODY,
            summary="Read a listing's price, spread and depth over up to 90 days.",
            handler=service.price_stats,
            refuses=("not_found",),
            cache=CachePolicy(STATS_KEPT_S, keeps=True),
            tool=Tool("get_price_stats", "Read price statistics", ToolKind.READ, Profile.CONNECTOR),
        ),
    ),
    capabilities=("tokens",),
)

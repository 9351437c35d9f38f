"""The operations of the area stats: figures over all exchanges, and gaps between them."""

from api.areas.stats import service
from api.kernel.auth import ANYBODY, BY_KEY
from api.kernel.operation import Area, CachePolicy, Read
from api.kernel.tool import Profile, Tool, ToolKind

SUMMARY_KEPT_S, GAPS_KEPT_S, WATCHLIST_KEPT_S = 10, 5, 60

AREA = Area(
    name="stats",
    about="Statistics over all exchanges: coverage, the weakest tokens, gaps between venues.",
    operations=(
        Read(
            key="stats.summary",
            path="/stats/summary",
            auth=ANYBODY,
            summary="Read what is covered: exchanges with their state and lag, listings, assets.",
            handler=service.summary,
            cache=CachePolicy(SUMMARY_KEPT_S, keeps=True),
            tool=Tool("get_stats", "Read coverage", ToolKind.READ, Profile.CONNECTOR),
        ),
        Read(
            key="stats.watchlist",
            path="/stats/critical_watchlist",
            auth=ANYBODY,
            summary="List the tokens with the lowest liquidity grades.",
            handler=service.watchlist,
            cache=CachePolicy(WATCHLIST_KEPT_S, keeps=True),
        ),
        Read(
            key="stats.arbitrage",
            path="/stats/arbitrage_snapshot",
            auth=ANYBODY,
            summary="List gaps between two exchanges, net of fees, the best first.",
            handler=service.arbitrage,
            cache=CachePolicy(GAPS_KEPT_S, keeps=True),
        ),
        Read(
            key="stats.arb_reel",
            path="/stats/arb_reel",
            auth=ANYBODY,
            summary="Page through changes of gaps, the newest first.",
            handler=service.reel,
            cache=CachePolicy(GAPS_KEPT_S, keeps=True),
        ),
        Read(
            key="stats.arbitrage_pro",
            path="/stats/arbitrage_snapshot_pro",
            auth=BY_KEY,
            scope="read",
            summary="List spreads over three or more exchanges, with legs and best size; Tier 2.",
            handler=service.arbitrage_pro,
            refuses=("tier_required",),
        ),
    ),
    capabilities=("market_statistics",),
)

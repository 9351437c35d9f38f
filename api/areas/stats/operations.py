"""The operations of the area stats: figures over all exchanges, and gaps between them."""

from api.areas.stats import schemas, service
from api.kernel.auth import ANYBODY, BY_KEY
from api.kernel.operation import Area, NoInput, Read
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
            command=NoInput,
            answer=schemas.StatsSummary,
            handler=service.summary,
            max_age_s=SUMMARY_KEPT_S,
            keeps=True,
            tool=Tool("get_stats", "Read coverage", ToolKind.READ, Profile.CONNECTOR),
        ),
        Read(
            key="stats.watchlist",
            path="/stats/critical_watchlist",
            auth=ANYBODY,
            summary="List the tokens with the lowest liquidity grades.",
            command=schemas.WatchlistQuery,
            answer=schemas.CriticalWatchlist,
            handler=service.watchlist,
            max_age_s=WATCHLIST_KEPT_S,
            keeps=True,
        ),
        Read(
            key="stats.arbitrage",
            path="/stats/arbitrage_snapshot",
            auth=ANYBODY,
            summary="List gaps between two exchanges, net of fees, the best first.",
            command=schemas.GapsQuery,
            answer=schemas.ArbSnapshotBody,
            handler=service.arbitrage,
            max_age_s=GAPS_KEPT_S,
            keeps=True,
        ),
        Read(
            key="stats.arb_reel",
            path="/stats/arb_reel",
            auth=ANYBODY,
            summary="Page through changes of gaps, the newest first.",
            command=schemas.ReelQuery,
            answer=schemas.ArbReel,
            handler=service.reel,
            max_age_s=GAPS_KEPT_S,
            keeps=True,
        ),
        Read(
            key="stats.arbitrage_pro",
            path="/stats/arbitrage_snapshot_pro",
            auth=BY_KEY,
            scope="read",
            summary="List spreads over three exchanges and more, with legs and best size; Tier 2.",
            command=schemas.SpreadsQuery,
            answer=schemas.ArbSnapshotPro,
            handler=service.arbitrage_pro,
            refuses=("tier_required",),
        ),
    ),
    capabilities=("market_statistics",),
)

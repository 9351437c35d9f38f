"""Reads of figures over all exchanges (docs/board.md#statistics)."""

from collections.abc import Mapping
from typing import Any

from api.areas.stats.schemas import (
    MOST_WATCHED,
    ArbGap,
    ArbLegBody,
    ArbReel,
    ArbSnapshotBody,
    ArbSnapshotPro,
    ArbSpread,
    CriticalWatchlist,
    GapsQuery,
    ReelChange,
    ReelQuery,
    SpreadsQuery,
    StatsSummary,
    VenueCoverage,
    WatchedToken,
    WatchlistQuery,
)
from api.kernel.caller import AgentCaller, Nobody
from api.kernel.operation import Answer, NoInput, ReadCall
from api.kernel.pagination import page_of
from api.shared.board_row import as_letter, exchange_code, simulated
from api.shared.tiers import require_tier
from core.market import board_views, gaps
from core.market.rules.grade import GRADE_VERSION
from core.market.rules.wci import VERSION
from core.market.scan_tables import MarketGap, MarketVenueState
from core.market.tables import MarketAssetState
from core.subscriptions.rules import Tier
from core.times import instant_text


def summary(call: ReadCall, caller: Nobody, command: NoInput) -> Answer[StatsSummary]:
    venues = board_views.venue_states(call.db)
    counted = board_views.summary(call.db)
    return Answer(
        StatsSummary(
            listings=sum(one.listings for one in venues),
            assets=None if counted is None else counted.figures.get("tokens"),
            exchanges=[_coverage(one) for one in venues],
            figures=None if counted is None else counted.figures,
            computed_at=None if counted is None else instant_text(counted.computed_at),
            grade_version=GRADE_VERSION,
            wci_definition_version=VERSION,
            data_source=sorted({one.source for one in venues}),
            **simulated(any(one.source == "simulated" for one in venues)),
        )
    )


def watchlist(call: ReadCall, caller: Nobody, command: WatchlistQuery) -> Answer[CriticalWatchlist]:
    found = board_views.watched(call.db, command.percent, MOST_WATCHED)
    return Answer(
        CriticalWatchlist(
            tokens=[_watched(one) for one in found.assets],
            percent=command.percent,
            graded=found.graded,
            unknown=found.unknown,
            most=MOST_WATCHED,
        )
    )


def arbitrage(call: ReadCall, caller: Nobody, command: GapsQuery) -> Answer[ArbSnapshotBody]:
    found = gaps.current(call.db, is_actionable=command.actionable, limit=command.limit)
    return Answer(ArbSnapshotBody(gaps=[_gap(one) for one in found], **_simulated(call)))


def reel(call: ReadCall, caller: Nobody, command: ReelQuery) -> Answer[ArbReel]:
    page = page_of(call, "stats.arb_reel", command)
    found = gaps.reel(call.db, page.before, page.limit + 1)
    shown, next_cursor = page.cut(found, lambda one: one.id)
    changes = [ReelChange.of(one) for one in shown]
    return Answer(ArbReel(changes=changes, next_cursor=next_cursor, **_simulated(call)))


def arbitrage_pro(
    call: ReadCall, caller: AgentCaller, command: SpreadsQuery
) -> Answer[ArbSnapshotPro]:
    """Errors: Refusal tier_required."""
    require_tier(call, caller, Tier.TIER_2, "The snapshot of three exchanges and more")
    spreads = [
        ArbSpread.of(
            one,
            legs=[
                ArbLegBody(
                    buy_exchange=leg["buy_at"],
                    sell_exchange=leg["sell_at"],
                    base=leg["base"],
                    buy_usd=leg["buy_usd"],
                    sell_usd=leg["sell_usd"],
                    profit_usd=leg["profit_usd"],
                    transfer=leg["gate"],
                )
                for leg in one.legs
            ],
            actionable=one.is_actionable,
        )
        for one in gaps.spreads(call.db, command.limit)
    ]
    return Answer(ArbSnapshotPro(spreads=spreads, **_simulated(call)))


def _simulated(call: ReadCall) -> Mapping[str, Any]:
    return simulated(board_views.is_simulated(call.db))


def _coverage(one: MarketVenueState) -> VenueCoverage:
    return VenueCoverage.of(
        one,
        exchange_code=exchange_code(one.exchange),
        unknowable=sorted(name for name, knows in one.capabilities.items() if knows is False),
    )


def _watched(one: MarketAssetState) -> WatchedToken:
    return WatchedToken.of(
        one,
        grade=as_letter(one.grade),
        grade_worst=as_letter(one.grade_worst),
        exchanges=list(one.exchanges),
        **simulated(one.is_simulated),
    )


def _gap(one: MarketGap) -> ArbGap:
    return ArbGap.of(
        one, transfer=one.transferable, chains=list(one.chains), actionable=one.is_actionable
    )

"""Reads of figures over all exchanges (docs/board.md#statistics)."""

from collections.abc import Mapping
from types import SimpleNamespace
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
from api.shared.board_row import exchange_code, simulated
from api.shared.tiers import require_tier
from core.market import board_views, gaps
from core.market.rules.grade import GRADE_VERSION
from core.market.rules.wci import VERSION
from core.market.scan_tables import MarketGap, MarketVenueState
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
            tokens=[WatchedToken.of(one, **simulated(one.is_simulated)) for one in found.assets],
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
                ArbLegBody.of(
                    leg, buy_exchange=leg.buy_at, sell_exchange=leg.sell_at, transfer=leg.gate
                )
                for leg in (SimpleNamespace(**found) for found in one.legs)
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


def _gap(one: MarketGap) -> ArbGap:
    return ArbGap.of(one, transfer=one.transferable, actionable=one.is_actionable)

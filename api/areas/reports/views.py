"""What a report prints, read from the tables of the market as they are. Nothing here writes.

Law: what is not known stays None; nothing is guessed from what is missing (docs/risk.md).
"""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from statistics import median
from typing import Any, Final

from sqlalchemy import case, exists, func, select
from sqlalchemy.orm import Session, aliased

from api.areas.reports.tables import StoredReport
from core.market.board_views import asset_state
from core.market.identity import CoinGraph
from core.market.research_views import peer_ranks, rollups
from core.market.rules.grade import Letter
from core.market.rules.identity import Coin, IdentityGroup, IdentityVerdict
from core.market.rules.notices import OutcomeKind
from core.market.rules.report import (
    ComparableOutcome,
    HistoryPoint,
    PairGrade,
    ReportFacts,
    WarningRow,
)
from core.market.rules.research import PairPercentiles, rank, slips_of
from core.market.rules.risk import RiskCalibration, RiskInputs, calibration, risk
from core.market.rules.warnings import WarningSeverity, WarningType, foreign_outcome
from core.market.tables import (
    MarketAsset,
    MarketAssetState,
    MarketListingState,
    MarketOnchain,
    MarketOutcome,
    MarketTransferEvent,
    MarketWarning,
    MarketWarningStanding,
)

HISTORY: Final = timedelta(days=90)
FORECASTS_MOST: Final = 100_000
MOST_ROWS: Final = 50
LEAD: Final = timedelta(hours=24)
DESIGNATIONS: Final = (OutcomeKind.ST_TAG.value, OutcomeKind.CAUTION.value)


def facts_of(
    session: Session, listing_id: int, graph: CoinGraph, now: datetime
) -> ReportFacts | None:
    """None: the pair was never looked at."""
    state = session.get(MarketListingState, listing_id)
    if state is None:
        return None
    asset = asset_state(session, state.asset_id)
    coin = Coin(state.exchange, state.native_base)
    group = _group_of(graph, coin)
    ticker = graph.identities.tickers.get(state.token)
    history = rollups(session, listing_id, now - HISTORY)
    warnings, warnings_count = _warnings(session, state)
    comparable, comparable_count = _comparable(session, state.exchange)
    return ReportFacts(
        exchange=state.exchange,
        symbol=state.symbol,
        made_at=now,
        is_simulated=state.is_simulated,
        price=state.mid,
        verdict=IdentityVerdict.NO_CONTRACT_DATA if ticker is None else ticker.verdict,
        groups=() if group is None else (group,),
        letter=None if state.grade is None else Letter(state.grade),
        grade=_grade(state),
        gpa_7d=None if asset is None else asset.gpa_7d,
        networks=graph.statuses.get(coin, ()),
        warnings=warnings,
        warnings_count=warnings_count,
        risk=risk(_risk_inputs(session, (state, asset), graph, group, history, now)),
        calibration=_calibration(session, now),
        history=tuple(
            HistoryPoint(row.bucket, row.close, row.spread_p50_bps, row.depth_2_usd)
            for row in history
            if row.n and row.close is not None and row.spread_p50_bps is not None
        ),
        percentiles=_percentiles(session, state, history),
        comparable=comparable,
        comparable_count=comparable_count,
    )


def _group_of(graph: CoinGraph, coin: Coin) -> IdentityGroup | None:
    key = graph.identities.strong_group_of.get(coin)
    return None if key is None else graph.identities.groups.get(key)


def _grade(state: MarketListingState) -> PairGrade | None:
    """None: too little to grade."""
    depth, spread, uptime = state.in_depth_usd, state.in_spread_bps, state.in_uptime
    if depth is None or spread is None or uptime is None or state.in_coverage is None:
        return None
    return PairGrade(
        score=state.score,
        is_provisional=None if state.score is None else state.is_provisional,
        parts=(
            state.part_depth,
            state.part_spread,
            state.part_slippage,
            state.part_volume,
            state.part_uptime,
        ),
        spread_bps=spread,
        depth_usd=depth,
        slip_10k_bps=state.in_slip_10k_bps,
        volume_24h_usd=state.in_volume_24h_usd,
        uptime=uptime,
        coverage=state.in_coverage,
    )


def _warnings(session: Session, state: MarketListingState) -> tuple[tuple[WarningRow, ...], int]:
    """The newest of the pair's exchange and token, each with its end; and how many there are."""
    end = aliased(MarketWarning)
    ended_at = select(func.max(end.at)).where(end.clears_seq == MarketWarning.seq).scalar_subquery()
    # one that was over and is not after all is open (docs/market-store.md)
    is_open = exists().where(MarketWarningStanding.seq == MarketWarning.seq)
    query = (
        select(
            MarketWarning.type,
            MarketWarning.severity,
            MarketWarning.at,
            MarketWarning.evidence,
            case((is_open, None), else_=ended_at),
            func.count().over(),
        )
        .where(
            MarketWarning.asset_id == state.asset_id,
            MarketWarning.exchange == state.exchange,
            MarketWarning.action == "issued",
        )
        .order_by(MarketWarning.seq.desc())
        .limit(MOST_ROWS)
    )
    found = session.execute(query).all()
    rows = tuple(
        WarningRow(
            WarningType(type_),
            WarningSeverity(severity),
            issued_at,
            cleared_at,
            foreign_outcome(evidence),
        )
        for type_, severity, issued_at, evidence, cleared_at, _ in found
    )
    return rows, found[0][-1] if found else 0


def _percentiles(
    session: Session, state: MarketListingState, history: Sequence[Any]
) -> Mapping[str, PairPercentiles]:
    """Of each figure that is known now, in the pair's history and among its exchange's pairs."""
    slip = math.inf if state.in_hours and state.in_slip_10k_bps is None else state.in_slip_10k_bps
    values = {
        "spread_bps": state.in_spread_bps,
        "depth_usd": state.in_depth_usd,
        "slip_10k_bps": slip,
        "volume_24h_usd": state.in_volume_24h_usd,
    }
    histories = {
        "spread_bps": _known(history, "spread_p50_bps"),
        "depth_usd": _known(history, "depth_2_usd"),
        "slip_10k_bps": slips_of([row.n for row in history], [row.slip_10k_bps for row in history]),
        "volume_24h_usd": _known(history, "volume_24h_usd"),
    }
    peers = peer_ranks(session, state.exchange, values)
    return {
        name.partition("_")[0]: PairPercentiles(rank(value, histories[name]), peers[name].rank)
        for name, value in values.items()
        if value is not None
    }


def _known(history: Sequence[Any], column: str) -> list[float]:
    return [value for row in history if (value := getattr(row, column)) is not None]


def _comparable(session: Session, exchange: str) -> tuple[tuple[ComparableOutcome, ...], int]:
    """The newest outcomes at the exchange, and whether a warning led each by 24 hours; and how many
    there are.
    """
    foreseen = exists().where(
        MarketWarning.asset_id == MarketOutcome.asset_id,
        MarketWarning.exchange == MarketOutcome.exchange,
        MarketWarning.action == "issued",
        MarketWarning.is_predictive,
        MarketWarning.at <= MarketOutcome.at - LEAD,
        MarketWarning.at >= MarketOutcome.at - HISTORY,
    )
    query = (
        select(
            MarketAsset.ticker,
            MarketOutcome.kind,
            MarketOutcome.at,
            foreseen,
            func.count().over(),
        )
        .join(MarketAsset, MarketAsset.id == MarketOutcome.asset_id)
        .where(MarketOutcome.exchange == exchange, MarketOutcome.kind.is_not(None))
        .order_by(MarketOutcome.id.desc())
        .limit(MOST_ROWS)
    )
    found = session.execute(query).all()
    rows = tuple(
        ComparableOutcome(token, exchange, OutcomeKind(kind), at, was_foreseen)
        for token, kind, at, was_foreseen, _ in found
        if kind is not None
    )
    return rows, found[0][-1] if found else 0


def _calibration(session: Session, now: datetime) -> RiskCalibration:
    """Of reports whose 90 days are over: what they said, and whether it came."""
    came = exists().where(
        MarketOutcome.exchange == MarketListingState.exchange,
        MarketOutcome.asset_id == MarketListingState.asset_id,
        MarketOutcome.kind.is_not(None),
        MarketOutcome.kind != OutcomeKind.CAUTION.value,
        MarketOutcome.at > StoredReport.bucket,
        MarketOutcome.at <= StoredReport.bucket + HISTORY,
    )
    query = (
        select(StoredReport.probability, came)
        .join(MarketListingState, MarketListingState.listing_id == StoredReport.listing_id)
        .where(StoredReport.bucket <= now - HISTORY, StoredReport.probability.is_not(None))
        .limit(FORECASTS_MOST)
    )
    return calibration([(p, has_come) for p, has_come in session.execute(query) if p is not None])


def _risk_inputs(
    session: Session,
    of: tuple[MarketListingState, MarketAssetState | None],
    graph: CoinGraph,
    group: IdentityGroup | None,
    history: Sequence[Any],
    now: datetime,
) -> RiskInputs:
    state, asset = of
    coin = Coin(state.exchange, state.native_base)
    return RiskInputs(
        volume_30d_mean_usd=state.in_volume_30d_usd,
        depth_log_change=_depth_change(history, now),
        gpa_7d=None if asset is None else asset.gpa_7d,
        price_share=_price_share(state, history),
        age_days=None if state.listed_at is None else (now - state.listed_at) / timedelta(days=1),
        halts_30d=_halts(session, coin, now) if coin in graph.statuses else None,
        has_foreign_designation=None if group is None else _designated(session, group, graph, coin),
        venues=None if group is None else len({one.exchange for one in group.coins}),
        has_cross_flag=_has_cross_flag(session, state),
        supply_change_24h=_supply_change(session, state.asset_id, now),
    )


def _depth_change(history: Sequence[Any], now: datetime) -> float | None:
    def middle(days: int) -> float | None:
        rows = [row for row in history if row.bucket >= now - timedelta(days=days)]
        known = _known(rows, "depth_2_usd")
        return median(known) if known else None

    week, month = middle(7), middle(30)
    return math.log10(week / month) if week and month else None


def _price_share(state: MarketListingState, history: Sequence[Any]) -> float | None:
    """The price over the median of the first seven days; None: they were not seen."""
    if state.listed_at is None or not history or state.mid is None:
        return None
    if history[0].bucket > state.listed_at.astimezone(UTC) + timedelta(days=1):
        return None
    until = state.listed_at + timedelta(days=7)
    first = _known([row for row in history if row.bucket < until], "close")
    return state.mid / median(first) if first else None


def _halts(session: Session, coin: Coin, now: datetime) -> int:
    query = select(func.count()).where(
        MarketTransferEvent.exchange == coin.exchange,
        MarketTransferEvent.native_base == coin.native_base,
        MarketTransferEvent.was_open.is_(True),
        MarketTransferEvent.is_open.is_(False),
        MarketTransferEvent.at >= now - timedelta(days=30),
    )
    return session.scalar(query) or 0


def _designated(session: Session, group: IdentityGroup, graph: CoinGraph, coin: Coin) -> bool:
    """Whether another exchange that lists the same contract has tagged it."""
    others = {one for one in group.coins if one.exchange != coin.exchange}
    listed = [(one.coin.exchange, one.asset_id) for one in graph.coins if one.coin in others]
    return any(
        session.scalar(
            select(
                exists().where(
                    MarketOutcome.exchange == exchange,
                    MarketOutcome.asset_id == asset_id,
                    MarketOutcome.kind.in_(DESIGNATIONS),
                )
            )
        )
        for exchange, asset_id in listed
    )


def _has_cross_flag(session: Session, state: MarketListingState) -> bool:
    flag = exists().where(
        MarketWarningStanding.asset_id == state.asset_id,
        MarketWarningStanding.exchange == state.exchange,
        MarketWarningStanding.type == WarningType.CROSS_EXCHANGE.value,
    )
    return bool(session.scalar(select(flag)))


def _supply_change(session: Session, asset_id: int, now: datetime) -> float | None:
    """Of the chain whose supply changed most within the last two days that are on file."""
    query = (
        select(MarketOnchain.chain, MarketOnchain.supply)
        .where(
            MarketOnchain.asset_id == asset_id,
            MarketOnchain.day >= (now - timedelta(days=2)).date(),
            MarketOnchain.supply > 0,
        )
        .order_by(MarketOnchain.chain, MarketOnchain.day)
    )
    supplies: dict[str, list[float]] = {}
    for chain, supply in session.execute(query):
        if supply is not None:
            supplies.setdefault(chain, []).append(supply)
    changes = [of[-1] / of[-2] - 1 for of in supplies.values() if len(of) > 1]
    return max(changes, key=abs, default=None)

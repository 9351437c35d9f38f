"""The facts that warnings stand on, gathered for every coin at every exchange at once, and the
warnings that follow (docs/market-store.md#warnings). Nothing here commits.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Row, text
from sqlalchemy.orm import Session

from core.market.facts import NetworkStatus
from core.market.identity import CoinGraph, ListedCoin
from core.market.ledger import writer
from core.market.ledger.writer import NewWarning, StandingWarning
from core.market.rules import warnings as rules
from core.market.rules.identity import Coin
from core.market.rules.notices import OutcomeKind
from core.market.rules.warnings import (
    RULE_OF,
    RULE_VERSION,
    ForeignOutcome,
    WarningFacts,
    WarningSign,
    WarningType,
)
from core.market.usual import UsualFigures

_NOW: Final = text("""
select listing_id, price_usd, spread_bps, grade, in_volume_30d_usd, in_hours, has_st_tag, has_caution, best_24h as best
from listing_state
""")
# Of a tag that was there before anybody looked it is not known since when: no time could be named.
_DECLARED: Final = text("""
select exchange, asset_id, kind, max(at) as at from market_outcome
where kind is not null and is_genuine and at > :quarter group by exchange, asset_id, kind
""")
_CLOSED: Final = text("""
select exchange, count(distinct native_base) as n from transfer_event
where was_open and is_open is false and at > :day group by exchange
""")
_SUPPLY: Final = text("""
select d.asset_id, max(d.supply / b.supply - 1) as change
from onchain_day d join onchain_day b on b.asset_id = d.asset_id and b.chain = d.chain and b.day = d.day - 1
where d.day = :today and b.supply > 0 group by d.asset_id
""")
# Of hours of which at least half was looked at.
_DEPTHS: Final = text("""
select listing_id, max(depth) as high_usd, min(depth) as low_usd from (
    select listing_id, every_s, least(bid_2_usd, ask_2_usd) as depth from snap_1m
    where ts > :hour and ts <= :now and fault is null
) looks where depth is not null group by listing_id having sum(every_s) >= 1800
""")
BAD: Final = frozenset({OutcomeKind.ST_TAG, OutcomeKind.DELIST, OutcomeKind.SUSPEND})


@dataclass(frozen=True, slots=True)
class SeenBeside:
    """What is known of coins and pairs beside the graph and what is usual, in one snapshot."""

    rows: Mapping[int, Row[Any]]
    depths: Mapping[int, Row[Any]]
    declared: Sequence[Row[Any]]
    closed: Sequence[Row[Any]]
    supply: Sequence[Row[Any]]
    since: Mapping[tuple[str, str, str], Row[Any]]
    standing: Sequence[StandingWarning]


def seen(session: Session, now: datetime) -> SeenBeside:
    day, quarter = now - timedelta(days=1), now - timedelta(days=90)
    depths = session.execute(_DEPTHS, {"hour": now - timedelta(hours=1), "now": now})
    return SeenBeside(
        rows={row.listing_id: row for row in session.execute(_NOW)},
        depths={row.listing_id: row for row in depths},
        declared=session.execute(_DECLARED, {"quarter": quarter}).all(),
        closed=session.execute(_CLOSED, {"day": day}).all(),
        supply=session.execute(_SUPPLY, {"today": now.date()}).all(),
        since=_since(session),
        standing=writer.standing(session),
    )


def facts(
    graph: CoinGraph, known: Mapping[int, UsualFigures], seen: SeenBeside, now: datetime
) -> list[tuple[ListedCoin, WarningFacts]]:
    """Of every coin at every exchange."""
    declared = defaultdict[tuple[str, int], dict[OutcomeKind, datetime]](dict)
    for row in seen.declared:
        declared[row.exchange, row.asset_id][OutcomeKind(row.kind)] = row.at
    closed = {row.exchange: row.n for row in seen.closed}
    supply = {row.asset_id: row.change for row in seen.supply}
    foreign = _foreign(graph, declared)
    found = list[tuple[ListedCoin, WarningFacts]]()
    for one in graph.coins:
        state, usual = seen.rows.get(one.listing_id), known.get(one.listing_id)
        depth, exchange = seen.depths.get(one.listing_id), one.coin.exchange
        moves = _transfers(graph.statuses.get(one.coin, ()), seen.since, now)
        kinds = declared.get((exchange, one.asset_id), {})
        ticker = graph.identities.tickers.get(one.token)
        is_old = state is not None and (state.in_hours or 0) >= 24
        of = WarningFacts(
            deposit_closed_s=moves.deposit_closed_s,
            withdraw_closed_s=moves.withdraw_closed_s,
            closed_scans=moves.scans,
            depth_highest_1h_usd=None if depth is None else depth.high_usd,
            depth_lowest_1h_usd=None if depth is None else depth.low_usd,
            depth_median_7d_usd=None if usual is None else usual.depth_7d_usd,
            spread_bps=None if state is None else state.spread_bps,
            spread_p95_7d_bps=None if usual is None else usual.spread_p95_7d_bps,
            letters_down_24h=_down(state),
            volume_30d_mean_usd=state.in_volume_30d_usd if state is not None and is_old else None,
            price=None if state is None else state.price_usd,
            price_first_7d=None if usual is None else usual.price_first_7d_usd,
            identity=None if ticker is None else ticker.verdict,
            supply_change_24h=supply.get(one.asset_id),
            has_st_tag=None if state is None else state.has_st_tag,
            has_caution=None if state is None else state.has_caution,
            is_delisting_declared=OutcomeKind.DELIST in kinds,
            is_suspension_declared=OutcomeKind.SUSPEND in kinds,
            foreign_outcomes=foreign.get(one.coin, ()),
            venue_bases_closed=closed.get(exchange, 0) if moves.is_closed else 0,
        )
        found.append((one, of))
    return found


def changes(
    found: Sequence[tuple[ListedCoin, WarningFacts]], open_ones: Sequence[StandingWarning]
) -> tuple[list[NewWarning], list[StandingWarning]]:
    """What the facts say is to be issued and cleared; what is current of coins that are listed no
    more is cleared. As the ledger's writer takes them.
    """
    standing = defaultdict[tuple[str, int], dict[WarningType, StandingWarning]](dict)
    for one in open_ones:
        standing[one.exchange, one.asset_id][WarningType(one.type)] = one
    listed = {(coin.coin.exchange, coin.asset_id) for coin, _ in found}
    gone = [types for key, types in standing.items() if key not in listed]
    raised = list[NewWarning]()
    cleared = [one for types in gone for one in types.values()]
    for coin, of in found:
        here = standing.get((coin.coin.exchange, coin.asset_id), {})
        for change in rules.signs(of, here):
            if change.sign is WarningSign.CLEAR:
                cleared.append(here[change.type])
            else:
                raised.append(new_warning(coin, change))
    return raised, cleared


def new_warning(coin: ListedCoin, change: rules.WarningChange) -> NewWarning:
    """What is issued of a rule that raised."""
    rule = RULE_OF[change.type]
    return NewWarning(
        exchange=coin.coin.exchange,
        asset_id=coin.asset_id,
        token=coin.token,
        listing_id=coin.listing_id,
        type=change.type,
        severity=rule.severity,
        is_predictive=rule.is_predictive,
        evidence=dict(change.evidence),
        rule_version=RULE_VERSION,
    )


@dataclass(frozen=True, slots=True)
class _Transfers:
    """How long closed on every chain; 0: open on one; None: unknown."""

    deposit_closed_s: float | None
    withdraw_closed_s: float | None
    scans: int | None

    @property
    def is_closed(self) -> bool:
        return bool(self.deposit_closed_s) or bool(self.withdraw_closed_s)


def _down(row: Row[Any] | None) -> int | None:
    """Letters below the best of the day; None: not graded now, or not before."""
    if row is None or row.grade is None or row.best is None:
        return None
    order = "ABCDF"
    return max(order.index(row.grade) - order.index(row.best), 0)


def _since(session: Session) -> Mapping[tuple[str, str, str], Row[Any]]:
    rows = session.execute(
        text(
            "select exchange, native_base, chain, deposit_since, withdraw_since, scans from network_status "
            "where can_deposit is false or can_withdraw is false"
        )
    )
    return {(row.exchange, row.native_base, row.chain): row for row in rows}


def _transfers(
    statuses: tuple[NetworkStatus, ...],
    since: Mapping[tuple[str, str, str], Row[Any]],
    now: datetime,
) -> _Transfers:
    if not statuses:
        return _Transfers(None, None, None)
    rows = [since.get((one.exchange, one.native_base, one.chain)) for one in statuses]

    def closed_s(name: str) -> float | None:
        flags = [getattr(one, f"can_{name}") for one in statuses]
        if True in flags:
            return 0.0
        if None in flags:
            return None
        ages = [(now - getattr(row, f"{name}_since")).total_seconds() for row in rows if row]
        return float(min(ages, default=0.0))

    scans = min((row.scans for row in rows if row is not None), default=None)
    return _Transfers(closed_s("deposit"), closed_s("withdraw"), scans)


def _foreign(
    graph: CoinGraph, declared: Mapping[tuple[str, int], Mapping[OutcomeKind, datetime]]
) -> Mapping[Coin, tuple[ForeignOutcome, ...]]:
    """Bad outcomes of a coin's contract that other exchanges declared within 90 days, the newest
    first; of coins that have some.
    """
    by_group: defaultdict[Any, list[ForeignOutcome]] = defaultdict(list)
    strong = graph.identities.strong_group_of
    for one in graph.coins:
        group = strong.get(one.coin)
        if group is not None:
            exchange = one.coin.exchange
            kinds = declared.get((exchange, one.asset_id), {}).items()
            by_group[group] += [ForeignOutcome(exchange, *of) for of in kinds if of[0] in BAD]
    for outcomes in by_group.values():
        outcomes.sort(key=lambda of: (of.exchange, of.kind))
        outcomes.sort(key=lambda of: of.at, reverse=True)
    return {
        one.coin: foreign
        for one in graph.coins
        if (
            foreign := tuple(
                of
                for of in by_group.get(strong.get(one.coin), ())
                if of.exchange != one.coin.exchange
            )
        )
    }

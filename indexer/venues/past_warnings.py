"""The warnings of a simulated past, by the rules of live ones (core.market.rules.warnings).

Rules are asked at the end of each bucket at which a threshold of theirs may have been passed, and
nowhere else: of 540,000 ends that is some thousands.
"""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from core.market.facts import NoticeKind, NoticeScope
from core.market.history import PastGrades
from core.market.identity import CoinGraph, ListedCoin
from core.market.ledger.writer import NewWarning, PastWarning
from core.market.rules import warnings as rules
from core.market.rules.identity import Coin
from core.market.rules.notices import EXCLUDED_CLASSES, OutcomeKind
from core.market.rules.warnings import (
    RULE_OF,
    RULE_VERSION,
    SAME_WITHIN,
    ForeignOutcome,
    WarningFacts,
    WarningSign,
    WarningType,
)
from indexer.venues.sim.history import BUCKET_S, SAMPLES, SimBuckets
from indexer.venues.sim.onchain import onchain_of
from indexer.venues.sim.script import SimDeclaration, script_of
from indexer.venues.sim.world import SimWorld

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

DAY: Final = 12  # buckets
WEEK: Final = 84
FOREIGN: Final = frozenset({NoticeKind.ST_TAG, NoticeKind.DELIST, NoticeKind.SUSPEND})


@dataclass(frozen=True, slots=True)
class PastFacts:
    """Of one exchange: (pairs, buckets) each, NaN unknown."""

    depth: Floats
    depth_7d: Floats
    spread: Floats
    spread_7d: Floats
    price: Floats
    price_first: Floats
    volume_30d: Floats
    down: npt.NDArray[np.int64]
    closed_s: Mapping[str, Floats]
    bases_closed: npt.NDArray[np.int64]
    supply: Floats


def warnings_of(
    world: SimWorld,
    graph: CoinGraph,
    found: Sequence[SimBuckets],
    grades: Sequence[PastGrades],
    ids: npt.NDArray[np.int64],
) -> list[PastWarning]:
    coins = {one.coin: one for one in graph.coins}
    past = list[PastWarning]()
    for one, graded in zip(found, grades, strict=True):
        facts = _facts(world, one, graded)
        for place, row in enumerate(one.rows.tolist()):
            listing = world.listings[row]
            coin = coins.get(Coin(listing.exchange, listing.native_base))
            if coin is None or coin.listing_id != int(ids[row]):
                continue  # another pair of the coin speaks for it
            unit = _PastUnit(
                coin, one, facts, place, _declared(world, listing.exchange, listing.coin.ticker)
            )
            past += unit.told(graph, _foreign(world, graph, coin))
    return past


@dataclass(slots=True)
class _PastUnit:
    """One coin at one exchange, through its past."""

    coin: ListedCoin
    found: SimBuckets
    facts: PastFacts
    place: int
    declared: tuple[SimDeclaration, ...]
    open: dict[WarningType, PastWarning] = field(default_factory=dict)
    over: dict[WarningType, PastWarning] = field(default_factory=dict)
    past: list[PastWarning] = field(default_factory=list)

    def told(self, graph: CoinGraph, foreign: tuple[ForeignOutcome, ...]) -> list[PastWarning]:
        for at in self._turns(foreign):
            ends = datetime.fromtimestamp(int(self.found.starts_s[at]) + BUCKET_S, UTC)
            facts = self._facts_at(at, ends, graph, foreign)
            for change in rules.signs(facts, self.open):
                if change.sign is WarningSign.RAISE:
                    self._raise(change.type, change.evidence, ends)
                else:
                    self._clear(change.type, ends)
        return [*self.past, *self.over.values(), *self.open.values()]

    def _raise(self, kind: WarningType, evidence: Mapping[str, str], at: datetime) -> None:
        before = self.over.pop(kind, None)
        if before is not None and before.cleared_at is not None:
            if at - before.cleared_at < SAME_WITHIN:
                self.open[kind] = PastWarning(before.warning, before.issued_at, None)
                return
            self.past.append(before)
        new = NewWarning(
            exchange=self.coin.coin.exchange,
            asset_id=self.coin.asset_id,
            token=self.coin.token,
            listing_id=self.coin.listing_id,
            type=kind,
            severity=RULE_OF[kind].severity,
            is_predictive=RULE_OF[kind].is_predictive,
            evidence=dict(evidence),
            rule_version=RULE_VERSION,
        )
        self.open[kind] = PastWarning(new, at, None)

    def _clear(self, kind: WarningType, at: datetime) -> None:
        ended = self.open.pop(kind)
        self.over[kind] = PastWarning(ended.warning, ended.issued_at, at)

    def _turns(self, foreign: tuple[ForeignOutcome, ...]) -> list[int]:
        """Buckets at whose end a threshold has been passed since the one before, either way."""
        one, at = self.facts, self.place
        with np.errstate(invalid="ignore"):
            signs = [
                one.depth[at] <= 0.3 * one.depth_7d[at],
                one.depth[at] >= 0.5 * one.depth_7d[at],
                one.spread[at] > 5 * one.spread_7d[at],
                one.spread[at] <= 2 * one.spread_7d[at],
                one.volume_30d[at] < 50_000,
                one.volume_30d[at] >= 60_000,
                one.price[at] < 0.1 * one.price_first[at],
                one.price[at] >= 0.15 * one.price_first[at],
                one.down[at] >= 2,
                one.closed_s["deposit"][at] > 0,
                one.closed_s["withdraw"][at] > 0,
                one.bases_closed >= 10,
                one.supply[at] >= 0.1,
                one.supply[at] < 0.05,
                self.found.has_st_tag[at],
                self.found.has_caution[at],
            ]
        told = [one.at for one in self.declared] + [one.at for one in foreign]
        ends_s = self.found.starts_s + BUCKET_S
        signs += [ends_s >= int(at.timestamp()) for at in told]
        seen = self.found.n[at] > 0
        grid = np.stack(signs)
        turned = np.ones(grid.shape[1], dtype=np.bool_)
        turned[1:] = (grid[:, 1:] != grid[:, :-1]).any(axis=0)
        turned[1:] |= seen[1:] & ~seen[:-1]
        return [int(place) for place in np.flatnonzero(turned)]

    def _facts_at(
        self, at: int, ends: datetime, graph: CoinGraph, foreign: tuple[ForeignOutcome, ...]
    ) -> WarningFacts:
        one, row = self.facts, self.place
        ticker = graph.identities.tickers.get(self.coin.token)
        closed = {name: _known(one.closed_s[name][row, at]) for name in one.closed_s}
        longest = max((seconds or 0 for seconds in closed.values()), default=0)
        told = {d.kind for d in self.declared if d.at <= ends}
        return WarningFacts(
            deposit_closed_s=closed["deposit"],
            withdraw_closed_s=closed["withdraw"],
            closed_scans=int(longest // (BUCKET_S // SAMPLES)),
            depth_highest_1h_usd=_known(one.depth[row, at]),
            depth_lowest_1h_usd=_known(one.depth[row, at]),
            depth_median_7d_usd=_known(one.depth_7d[row, at]),
            spread_bps=_known(one.spread[row, at]),
            spread_p95_7d_bps=_known(one.spread_7d[row, at]),
            letters_down_24h=int(one.down[row, at]),
            volume_30d_mean_usd=_known(one.volume_30d[row, at]),
            price=_known(one.price[row, at]),
            price_first_7d=_known(one.price_first[row, at]),
            identity=None if ticker is None else ticker.verdict,
            supply_change_24h=_known(one.supply[row, at]),
            has_st_tag=bool(self.found.has_st_tag[row, at]) or None,
            has_caution=bool(self.found.has_caution[row, at]) or None,
            is_delisting_declared=NoticeKind.DELIST in told or None,
            is_suspension_declared=NoticeKind.SUSPEND in told or None,
            foreign_outcomes=tuple(of for of in foreign if of.at <= ends) or None,
            venue_bases_closed=int(one.bases_closed[at]) if longest else None,
        )


def _facts(world: SimWorld, found: SimBuckets, graded: PastGrades) -> PastFacts:
    old_enough = np.arange(found.n.shape[1]) >= WEEK
    week = np.where(found.n > 0, found.close, np.nan)[:, :WEEK]
    first = np.full((week.shape[0], 1), np.nan)
    has = ~np.isnan(week).all(axis=1)
    first[has] = np.nanmedian(week[has], axis=1, keepdims=True)
    closed = {name: _closed_s(getattr(found, f"{name}_share")) for name in ("deposit", "withdraw")}
    return PastFacts(
        depth=found.depth_2_usd,
        depth_7d=_weekly(found.depth_2_usd, 0.5),
        spread=found.spread_p50_bps,
        spread_7d=_weekly(found.spread_p50_bps, 0.95),
        price=found.close * found.usd_per_quote,
        price_first=np.where(old_enough, first * found.usd_per_quote, np.nan),
        volume_30d=np.where(old_enough, graded.volume_30d_usd, np.nan),
        down=_down(graded.letter),
        closed_s=closed,
        bases_closed=_bases_closed(world, found, closed),
        supply=_supply(world, found),
    )


def _weekly(grid: Floats, share: float) -> Floats:
    """A quantile of the seven days before each day, the same all day; NaN in the first week."""
    answer = np.full(grid.shape, np.nan)
    for begins in range(WEEK, grid.shape[1], DAY):
        week = np.sort(grid[:, begins - WEEK : begins], axis=1)
        count = (~np.isnan(week)).sum(axis=1)
        place = np.maximum((share * (count - 1)).astype(np.int64), 0)
        value = np.take_along_axis(week, place[:, None], axis=1)
        answer[:, begins : begins + DAY] = np.where(count[:, None] >= WEEK // 2, value, np.nan)
    return answer


def _down(letter: npt.NDArray[np.int8]) -> npt.NDArray[np.int64]:
    """Letters below the best of the day that ends with each bucket."""
    known = np.where(letter < 0, 99, letter).astype(np.int64)
    best = known.copy()
    for back in range(1, DAY):
        best[:, back:] = np.minimum(best[:, back:], known[:, :-back])
    return np.where(letter < 0, 0, known - best)


def _closed_s(share: Floats) -> Floats:
    """How long closed in all samples without a break."""
    place = np.arange(share.shape[1])
    last_open = np.maximum.accumulate(np.where(share == 0, -1, place), axis=1)
    return np.where(np.isnan(share), np.nan, (place - last_open) * float(BUCKET_S))


def _bases_closed(
    world: SimWorld, found: SimBuckets, closed: Mapping[str, Floats]
) -> npt.NDArray[np.int64]:
    """Distinct bases that closed within 24 hours, at the end of each bucket."""
    began = np.zeros(found.n.shape, dtype=np.bool_)
    for of in closed.values():
        began |= of == BUCKET_S
    bases = [world.listings[int(row)].native_base for row in found.rows]
    recent = began.copy()
    for back in range(1, DAY):
        recent[:, back:] |= began[:, :-back]
    names = sorted(set(bases))
    by_base = np.zeros((len(names), found.n.shape[1]), dtype=np.bool_)
    for place, base in enumerate(bases):
        by_base[names.index(base)] |= recent[place]
    return np.asarray(by_base.sum(axis=0))


def _supply(world: SimWorld, found: SimBuckets) -> Floats:
    """Growth of each coin's supply within the day before, a figure per day."""
    answer = np.full(found.n.shape, np.nan)
    exchange = world.listings[int(found.rows[0])].exchange
    days = found.starts_s[::DAY].tolist()
    for place, row in enumerate(found.rows.tolist()):
        coin = world.listings[row].coin
        if coin.is_native:
            continue
        ends = [onchain_of(world, exchange, coin.ticker, _utc(day)) for day in (days[0], days[-1])]
        if None in ends or ends[0].supply == ends[1].supply:  # type: ignore[union-attr]  # both are figures here
            answer[place, DAY:] = 0.0
            continue
        supplies = [onchain_of(world, exchange, coin.ticker, _utc(day)) for day in days]
        for number, (before, after) in enumerate(itertools.pairwise(supplies), 1):
            if before is not None and after is not None and before.supply and after.supply:
                change = after.supply / before.supply - 1
                answer[place, number * DAY : (number + 1) * DAY] = change
    return answer


def _utc(at_s: int) -> datetime:
    return datetime.fromtimestamp(at_s, UTC)


def _declared(world: SimWorld, exchange: str, ticker: str) -> tuple[SimDeclaration, ...]:
    return tuple(
        one
        for one in script_of(world).declarations
        if (one.exchange, one.ticker) == (exchange, ticker)
        and one.at <= world.origin
        and one.scope is NoticeScope.SPOT
        and world.listings[world.rows_of(exchange, ticker)[0]].coin.asset_class
        not in EXCLUDED_CLASSES
    )


def _foreign(world: SimWorld, graph: CoinGraph, coin: ListedCoin) -> tuple[ForeignOutcome, ...]:
    """Bad outcomes of the same contract that were declared elsewhere, the newest first."""
    return tuple(
        ForeignOutcome(one.exchange, OutcomeKind(one.kind.value), one.at)
        for one in reversed(script_of(world).declarations)
        if one.kind in FOREIGN
        and one.exchange != coin.coin.exchange
        and one.at <= world.origin
        and one.scope is NoticeScope.SPOT
        and graph.identities.is_strongly_same(coin.coin, Coin(one.exchange, one.ticker))
    )


def _known(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)

"""The warnings of a simulated past, by the rules of live ones (core.market.rules.warnings), which are
asked once a day.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
import numpy.typing as npt

from core.market import watch
from core.market.facts import NoticeKind, NoticeScope
from core.market.identity import CoinGraph, ListedCoin
from core.market.ledger.writer import PastWarning
from core.market.rules import warnings as rules
from core.market.rules.identity import Coin
from core.market.rules.notices import EXCLUDED_CLASSES, OutcomeKind
from core.market.rules.warnings import ForeignOutcome, WarningFacts, WarningSign, WarningType
from indexer.venues.sim.noise import Floats, Seconds
from indexer.venues.sim.onchain import JUMPS
from indexer.venues.sim.script import CLOSED, DAY_S, SimDeclaration, script_of
from indexer.venues.sim.world import SimListing, SimWorld

BUCKET_S: Final = 7_200
DAY: Final = 12  # buckets
WEEK: Final = 84
MONTH: Final = 360
BAD: Final = frozenset({NoticeKind.ST_TAG, NoticeKind.DELIST, NoticeKind.SUSPEND})

Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]


@dataclass(frozen=True)
class PastMarket:
    """Pairs over their buckets of two hours, as roll-ups have them: (pairs, buckets) each; NaN:
    unknown. `rows`: of the world.
    """

    ROLLED: ClassVar = (
        *("open", "high", "low", "close", "usd_per_quote", "spread_p5_bps", "spread_p50_bps"),
        *("spread_p95_bps", "depth_1_usd", "depth_2_usd", "slip_1k_bps", "slip_10k_bps"),
        *("volume_24h_usd", "rv", "deposit_share", "withdraw_share", "truncated_share"),
    )

    rows: Rows
    starts_s: Seconds
    n: Rows
    open: Floats
    high: Floats
    low: Floats
    close: Floats
    usd_per_quote: Floats
    spread_p5_bps: Floats
    spread_p50_bps: Floats
    spread_p95_bps: Floats
    depth_1_usd: Floats
    depth_2_usd: Floats
    slip_1k_bps: Floats
    slip_10k_bps: Floats
    volume_24h_usd: Floats
    rv: Floats
    deposit_share: Floats
    withdraw_share: Floats
    truncated_share: Floats
    has_st_tag: Flags
    has_caution: Flags

    @cached_property
    def volume_30d_usd(self) -> Floats:
        """The mean of the 30 days that end with each bucket."""
        known = ~np.isnan(self.volume_24h_usd)
        total, count = (
            np.cumsum(np.hstack((np.zeros((len(grid), 1)), grid)), axis=1)
            for grid in (np.nan_to_num(self.volume_24h_usd), known.astype(float))
        )
        ends = np.arange(1, total.shape[1])
        begins = np.maximum(ends - MONTH, 0)
        counted = count[:, ends] - count[:, begins]
        mean = (total[:, ends] - total[:, begins]) / np.maximum(counted, 1)
        return np.where(counted > 0, mean, np.nan)


def warnings_of(
    world: SimWorld,
    graph: CoinGraph,
    market: PastMarket,
    letters: npt.NDArray[np.int8],
    ids: Rows,
) -> list[PastWarning]:
    """`letters`: the grades of each bucket, as places in LETTERS."""
    coins = {one.coin: one for one in graph.coins}
    days = np.arange(DAY - 1, market.n.shape[1], DAY)
    daily, down, closed = _daily(market, days), _down(letters, days), _closings(world)
    past = list[PastWarning]()
    for place, row in enumerate(market.rows.tolist()):
        listing = world.listings[row]
        coin = coins.get(Coin(listing.exchange, listing.native_base))
        if coin is None or coin.listing_id != int(ids[row]):
            continue  # another pair of the coin speaks for it
        declared, foreign = _declared(world, listing), _foreign(world, graph, coin)
        verdict = graph.identities.tickers[coin.token].verdict
        going = dict[WarningType, PastWarning]()
        for number, bucket in enumerate(days.tolist()):
            ends = datetime.fromtimestamp(int(market.starts_s[bucket]) + BUCKET_S, UTC)
            figures = {name: _known(grid[place, number]) for name, grid in daily.items()}
            kinds = {one.kind for one in declared if one.at <= ends}
            is_closed = bool(figures["deposit_closed_s"] or figures["withdraw_closed_s"])
            facts = WarningFacts(
                **figures,
                closed_scans=2,
                letters_down_24h=int(down[place, number]),
                identity=verdict,
                supply_change_24h=_growth(world, listing, ends),
                has_st_tag=bool(market.has_st_tag[place, bucket]) or None,
                has_caution=bool(market.has_caution[place, bucket]) or None,
                is_delisting_declared=NoticeKind.DELIST in kinds or None,
                is_suspension_declared=NoticeKind.SUSPEND in kinds or None,
                foreign_outcomes=tuple(of for of in foreign if of.at <= ends) or None,
                venue_bases_closed=_closed_by(closed[listing.exchange], ends)
                if is_closed
                else None,
            )
            for change in rules.signs(facts, going):
                if change.sign is WarningSign.RAISE:
                    going[change.type] = PastWarning(watch.new_warning(coin, change), ends, None)
                else:
                    over = going.pop(change.type)
                    past.append(PastWarning(over.warning, over.issued_at, ends))
        past += going.values()
    return past


def _daily(market: PastMarket, days: Rows) -> dict[str, Floats]:
    """The float facts of WarningFacts at the end of each day: (pairs, days)."""
    week = market.close[:, :WEEK]
    first = np.full(len(week), np.nan)
    has = ~np.isnan(week).all(axis=1)
    first[has] = np.nanmedian(week[has], axis=1)
    is_old = days >= WEEK
    depth, price = market.depth_2_usd[:, days], (market.close * market.usd_per_quote)[:, days]
    return {
        "deposit_closed_s": _closed_s(market.deposit_share[:, days]),
        "withdraw_closed_s": _closed_s(market.withdraw_share[:, days]),
        "depth_highest_1h_usd": depth,
        "depth_lowest_1h_usd": depth,
        "depth_median_7d_usd": _weekly(market.depth_2_usd, 0.5, days),
        "spread_bps": market.spread_p50_bps[:, days],
        "spread_p95_7d_bps": _weekly(market.spread_p50_bps, 0.95, days),
        "volume_30d_mean_usd": np.where(is_old, market.volume_30d_usd[:, days], np.nan),
        "price": price,
        "price_first_7d": np.where(is_old, first[:, None] * market.usd_per_quote[:, days], np.nan),
    }


def _closed_s(share: Floats) -> Floats:
    """Closed in both looks of a bucket is closed for its two hours."""
    return np.where(np.isnan(share), np.nan, (share == 0) * float(BUCKET_S))


def _weekly(grid: Floats, share: float, days: Rows) -> Floats:
    """A quantile of the seven days before the bucket; NaN in the first week."""
    answer = np.full((len(grid), days.size), np.nan)
    for number, bucket in enumerate(days.tolist()):
        week = np.sort(grid[:, max(bucket - WEEK, 0) : bucket], axis=1)
        count = (~np.isnan(week)).sum(axis=1)
        place = np.maximum((share * (count - 1)).astype(np.int64), 0)
        value = np.take_along_axis(week, place[:, None], axis=1)[:, 0]
        answer[:, number] = np.where(count >= WEEK // 2, value, np.nan)
    return answer


def _down(letters: npt.NDArray[np.int8], days: Rows) -> Rows:
    """Letters below the best of the day; of what has no grade none."""
    known = np.where(letters < 0, 99, letters).astype(np.int64)
    best = np.stack([known[:, day - DAY + 1 : day + 1].min(axis=1) for day in days], axis=1)
    return np.where(letters[:, days] < 0, 0, known[:, days] - best)


def _growth(world: SimWorld, listing: SimListing, at: datetime) -> float | None:
    """Of the supply within the day before."""
    if listing.coin.is_native:
        return None
    day, factor = JUMPS.get(listing.coin.ticker, (1, 1.0))
    since_s = int(at.timestamp()) - (world.origin_s + day * DAY_S)
    return factor - 1 if 0 <= since_s < DAY_S else 0.0


def _closings(world: SimWorld) -> Mapping[str, list[tuple[int, str]]]:
    """By exchange, when each of its coins was closed."""
    found = defaultdict[str, list[tuple[int, str]]](list)
    for effect in script_of(world).effects:
        for row in effect.rows[:1] if effect.knob in CLOSED else ():
            found[world.listings[row].exchange].append(
                (effect.start_s, world.listings[row].native_base)
            )
    return found


def _closed_by(closings: list[tuple[int, str]], at: datetime) -> int:
    """Coins that were closed within the day before."""
    ends_s = int(at.timestamp())
    return len({base for at_s, base in closings if ends_s - DAY_S < at_s <= ends_s})


def _declared(world: SimWorld, listing: SimListing) -> tuple[SimDeclaration, ...]:
    if listing.coin.asset_class in EXCLUDED_CLASSES:
        return ()
    return tuple(
        one
        for one in _past(world)
        if (one.exchange, one.ticker) == (listing.exchange, listing.coin.ticker)
    )


def _foreign(world: SimWorld, graph: CoinGraph, coin: ListedCoin) -> tuple[ForeignOutcome, ...]:
    """Bad outcomes of the same contract that were declared elsewhere, the newest first."""
    return tuple(
        ForeignOutcome(one.exchange, OutcomeKind(one.kind.value), one.at)
        for one in reversed(_past(world))
        if one.kind in BAD
        and one.exchange != coin.coin.exchange
        and graph.identities.is_strongly_same(coin.coin, Coin(one.exchange, one.ticker))
    )


def _past(world: SimWorld) -> list[SimDeclaration]:
    return [
        one
        for one in script_of(world).declarations
        if one.at <= world.origin and one.scope is NoticeScope.SPOT
    ]


def _known(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)

"""Every number of the simulator, for many pairs and moments at once.

    log price     walk of the market and of the coin     -> per coin
    a pair        price x (1 + its own drift of some bps) x effects, in its quote currency
    its book      LEVELS levels per side at fixed distances beyond half the spread, whose sizes hold
                  the pair's depth within 2 % of the touch

Rows are pairs, columns are times; a row's values at a time do not depend on which others are asked
for.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.market.rules.book import BookGrid
from indexer.venues.sim.cast import EXCHANGES
from indexer.venues.sim.noise import Floats, Keys, Seconds, keys_of, mixed, noise, uniform, walk
from indexer.venues.sim.script import DAY_S, FACTORS, SimKnob, script_of
from indexer.venues.sim.world import SimWorld

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]

LEVELS: Final = 40
WON_PER_USD: Final = 1_390.0
SHOCK_EVERY_S: Final = 14_400

_GRID: Final = 0.05 * (np.arange(LEVELS) / (LEVELS - 1)) ** 2  # beyond the touch, of the mid
_SHARE: Final = np.diff(_GRID, append=2 * _GRID[-1] - _GRID[-2])
_WEIGHT: Final = (_SHARE / _SHARE[_GRID <= 0.02].sum()).astype(np.float64)  # 1 within 2 %
_WALK_S: Final = (5, 30, 180, 1_200, 7_200, 43_200, 259_200, 1_555_200)


@dataclass(frozen=True)
class SimColumns:
    """(rows, times) each. `usd_per_quote`: of the exchange's own pair of USDT. `has_book` is false
    where none can be had. Open: 1, closed: 0, the exchange cannot tell: -1.
    """

    rows: Rows
    at_s: Seconds
    mid: Floats  # in the quote currency
    usd_per_quote: Floats
    spread_bps: Floats
    bid_usd: Floats  # within 2 % of the best bid, whole book
    ask_usd: Floats
    volume_24h_usd: Floats
    can_deposit: NDArray[np.int8]
    can_withdraw: NDArray[np.int8]
    has_book: Bools
    has_st_tag: Bools
    has_caution: Bools
    shown_levels: NDArray[np.int64]  # (rows, 1)


def columns(world: SimWorld, at_s: Seconds, rows: Rows | None = None) -> SimColumns:
    """`at_s`: unix seconds, (C,); `rows`: all without."""
    rows = np.arange(len(world.listings)) if rows is None else rows
    traits, grid = _traits(world), _Turned(world, at_s, rows)
    keys = traits.keys[rows]
    own = noise(mixed(keys, np.array([[1]])), at_s, 90) + noise(
        mixed(keys, np.array([[2]])), at_s, 9_000
    )
    coins, places = np.unique(traits.coin_rows[rows], return_inverse=True)
    usd = _usd_prices(world, at_s, coins)[places]
    usd *= (1.0 + own * traits.drift[rows]) * grid.factor[SimKnob.PRICE]
    fx = _fx(world, at_s)[traits.quote_rows[rows]]
    calm = noise(mixed(keys, np.array([[3]])), at_s, 600)
    shock = _shocks(world, keys, traits.is_invented[rows], at_s)
    depth = traits.depth[rows] * grid.factor[SimKnob.DEPTH] * (1.0 - 0.8 * shock)
    depth *= np.exp(0.3 * noise(mixed(keys, np.array([[4]])), at_s, 14_400) - 0.15 * calm)
    lean = np.exp(0.2 * noise(mixed(keys, np.array([[5]])), at_s, 1_800))
    spread = traits.spread[rows] * np.exp(0.4 * calm) * grid.factor[SimKnob.SPREAD]
    spread *= 1.0 + 4.0 * shock
    volume = traits.volume[rows] * grid.factor[SimKnob.VOLUME]
    volume *= np.exp(0.4 * noise(mixed(keys, np.array([[6]])), at_s, 172_800))
    deposit, withdraw = grid.transfers(traits, keys)
    return SimColumns(
        rows=rows,
        at_s=at_s,
        mid=usd / fx,
        usd_per_quote=fx,
        spread_bps=np.minimum(spread, 1_500.0),
        bid_usd=depth * lean,
        ask_usd=depth / lean,
        volume_24h_usd=volume,
        can_deposit=deposit,
        can_withdraw=withdraw,
        has_book=~grid.holds[SimKnob.ABSENT],
        has_st_tag=grid.holds[SimKnob.ST_TAG],
        has_caution=grid.holds[SimKnob.CAUTION],
        shown_levels=traits.levels[rows],
    )


def ladder(found: SimColumns, levels: int = LEVELS) -> BookGrid:
    """A book per pair and time, those of a pair together: prices in the quote currency, sizes in the
    base. What has no book, or shows no such level, is not there.
    """

    def column(values: NDArray[Any]) -> NDArray[Any]:
        return np.broadcast_to(values, found.mid.shape).reshape(-1, 1)

    mid: Floats = column(found.mid)
    half: Floats = column(found.spread_bps / 2e4)
    is_shown = np.arange(levels) < column(found.shown_levels)
    grid, weight = _GRID[:levels], _WEIGHT[:levels]
    there: Floats = np.where(column(found.has_book) & is_shown[:, : grid.size], mid, np.nan)
    unit = weight / (there * column(found.usd_per_quote))  # of the base for a dollar
    return BookGrid(
        bid_price=there * (1.0 - half - grid),
        bid_size=column(found.bid_usd) * unit,
        ask_price=there * (1.0 + half + grid),
        ask_size=column(found.ask_usd) * unit,
        is_truncated=np.minimum(column(found.shown_levels), levels)[:, 0] < LEVELS,
    )


@dataclass(frozen=True)
class _Traits:
    """What a pair is like, apart from time: (rows, 1) each."""

    keys: Keys
    coin_rows: Rows  # (rows,)
    quote_rows: Rows  # (rows,): into _fx
    depth: Floats
    spread: Floats
    volume: Floats
    drift: Floats
    levels: NDArray[np.int64]
    is_known: Bools
    exchange_keys: Keys
    is_invented: Bools


@lru_cache(maxsize=8)
def _traits(world: SimWorld) -> _Traits:
    listings, places = world.listings, list(EXCHANGES)
    exchanges = [EXCHANGES[one.exchange] for one in listings]
    keys = keys_of((world.seed, one.exchange, one.coin.ticker, one.quote) for one in listings)
    invented = [[one.coin.ticker.startswith("SIM")] for one in listings]
    ranks = [one.coin.rank if one.coin.rank <= 60 else 21 + one.coin.rank % 50 for one in listings]
    taste = np.exp(0.9 * (2.0 * uniform(mixed(keys, np.array([[9]]))) - 1.0))
    liquidity = np.array([[one.liquidity] for one in exchanges])
    depth = 12e6 * np.array(ranks, dtype=np.float64).reshape(-1, 1) ** -1.5 * liquidity**0.8 * taste
    quotes = [places.index(one.exchange) if one.quote == "KRW" else len(places) for one in listings]
    known = [one.capabilities for one in exchanges]
    return _Traits(
        keys=keys,
        coin_rows=np.array([one.coin_row for one in listings], dtype=np.int64),
        quote_rows=np.array(quotes, dtype=np.int64),
        depth=depth,
        spread=np.clip(9.0 * (1e5 / depth) ** 0.65, 0.2, 400.0),
        volume=depth * 45.0,
        drift=np.clip(4e-4 * (1e5 / depth) ** 0.25, 1e-4, 2e-3),
        levels=np.array([[min(LEVELS, one.max_book_levels)] for one in known]),
        is_known=np.array([[one.currencies] for one in known]),
        exchange_keys=keys_of((world.seed, one.exchange, one.coin.ticker) for one in listings),
        is_invented=np.array(invented),
    )


def _shocks(world: SimWorld, keys: Keys, is_invented: Bools, at_s: Seconds) -> Floats:
    """0 to 1: after the origin a pair of an invented coin has a shock in one minute of four hours:
    75 seconds of all of it, and 30 seconds of which less is left.
    """
    number, since_s = np.divmod(at_s.reshape(1, -1), SHOCK_EVERY_S)
    minutes = SHOCK_EVERY_S // 60 - 2
    luck = uniform(mixed(mixed(keys, np.array([[11]])), number))
    since_s = since_s - np.floor(luck * minutes).astype(np.int64) * 60
    left = np.clip((105 - since_s) / 30, 0.0, 1.0)
    holds = is_invented & (since_s >= 0) & (at_s.reshape(1, -1) >= world.origin_s)
    return np.where(holds, left, 0.0)


def _usd_prices(world: SimWorld, at_s: Seconds, coin_rows: Rows) -> Floats:
    """(coins, times)."""
    coins = [world.coins[row] for row in coin_rows.tolist()]
    market = walk(keys_of([(world.seed, "market")]), at_s, 0.02, _WALK_S)
    names = [(world.seed, "price", one.ticker, int(one.twin)) for one in coins]
    own = walk(keys_of(names), at_s, 0.025, _WALK_S)
    is_stable = np.array([[one.asset_class == "stablecoin"] for one in coins])
    base = np.array([[one.price_usd] for one in coins])
    return np.asarray(base * np.exp(np.where(is_stable, own * 0.01, own + market)))


def _fx(world: SimWorld, at_s: Seconds) -> Floats:
    """Dollars for one unit of a quote: the won at each exchange, by its premium, then 1."""
    names = [(world.seed, "premium", one) for one in EXCHANGES]
    shared = walk(keys_of([(world.seed, "premium")]), at_s, 0.006, _WALK_S[3:])
    won = 1.0 / (WON_PER_USD * (1.012 + shared + walk(keys_of(names), at_s, 0.0008, _WALK_S[2:])))
    return np.concatenate((won, np.ones((1, at_s.size))))


class _Turned:
    """The script's effects on these rows and times."""

    def __init__(self, world: SimWorld, at_s: Seconds, rows: Rows) -> None:
        shape = rows.size, at_s.size
        self.at_s, self.rows, self._world = at_s, rows, world
        self.factor = {knob: np.ones(shape) for knob in FACTORS}
        self.holds = {
            knob: np.zeros(shape, dtype=np.bool_) for knob in SimKnob if knob not in FACTORS
        }
        place = np.full(len(world.listings), -1)
        place[rows] = np.arange(rows.size)
        first, last = int(at_s.min()), int(at_s.max())
        for effect in script_of(world).between(first, last):
            mine = place[list(effect.rows)]
            cells = np.ix_(mine[mine >= 0], (effect.start_s <= at_s) & (at_s < effect.end_s))
            if effect.knob not in FACTORS:
                self.holds[effect.knob][cells] = True
                continue
            since = at_s[(effect.start_s <= at_s) & (at_s < effect.end_s)] - effect.start_s
            reached = (
                np.minimum(since / effect.ramp_s, 1.0) if effect.ramp_s else np.ones(since.size)
            )
            self.factor[effect.knob][cells] *= effect.factor**reached

    def transfers(self, traits: _Traits, keys: Keys) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """With a short closure now and then: of one pair in 300 a day, for up to two hours."""
        coins = traits.exchange_keys[self.rows]
        days = (self.at_s // DAY_S).reshape(1, -1)
        luck = uniform(mixed(mixed(coins, np.array([[7]])), days))
        start_s = luck * 300 * (DAY_S - 7_200)
        of_day = (self.at_s % DAY_S).reshape(1, -1)
        is_short = (luck < 1 / 300) & (start_s <= of_day) & (of_day < start_s + 5_400)
        is_known = traits.is_known[self.rows]
        return (
            _flag(~(self.holds[SimKnob.DEPOSITS_CLOSED] | is_short), is_known),
            _flag(~(self.holds[SimKnob.WITHDRAWALS_CLOSED] | is_short), is_known),
        )


def _flag(is_open: Bools, is_known: Bools) -> NDArray[np.int8]:
    return np.where(is_known, is_open, -1).astype(np.int8)

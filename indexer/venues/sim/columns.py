"""Every number of the simulator, for many pairs and moments at once.

    log price     walk of the market and of the coin     -> per coin
    a pair        price x (1 + its own drift of some bps) x effects, in its quote currency
    its book      LEVELS levels per side at fixed distances beyond half the spread, whose sizes hold
                  `depth_usd` within 2 % of the touch: one curve, so depth and slip of it have a
                  closed form, and `ladder` writes the same book level by level

Rows are pairs, columns are times; a row's values at a time do not depend on which others are asked
for.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from indexer.venues.sim.cast import EXCHANGES
from indexer.venues.sim.noise import Floats, Keys, Seconds, keys_of, mixed, noise, uniform, walk
from indexer.venues.sim.script import DAY_S, FACTORS, NIGHTLY, SimKnob, script_of
from indexer.venues.sim.world import SimWorld

Bools = NDArray[np.bool_]
Rows = NDArray[np.int64]

LEVELS: Final = 40
WON_PER_USD: Final = 1_390.0
STALE_STEP_S: Final = 1_800
SHOCK_EVERY_S: Final = 14_400

_GRID: Final = 0.05 * (np.arange(LEVELS) / (LEVELS - 1)) ** 2  # beyond the touch, of the mid
_SHARE: Final = np.diff(_GRID, append=2 * _GRID[-1] - _GRID[-2])
_WEIGHT: Final = (_SHARE / _SHARE[_GRID <= 0.02].sum()).astype(np.float64)  # 1 within 2 %
_SUM: Final = np.concatenate(([0.0], np.cumsum(_WEIGHT)))
_SUM_GRID: Final = np.concatenate(([0.0], np.cumsum(_WEIGHT * _GRID)))
_WALK_S: Final = (5, 30, 180, 1_200, 7_200, 43_200, 259_200, 1_555_200)


@dataclass(frozen=True)
class SimColumns:
    """(rows, times) each. `usd_per_quote`: of the exchange's own pair of USDT. `has_book` is false
    where none can be had; `is_crossed`: the book has its best bid above its best ask. Open: 1, closed:
    0, the exchange cannot tell: -1.
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
    is_crossed: Bools
    has_st_tag: Bools
    has_caution: Bools
    shown_levels: NDArray[np.int64]  # (rows, 1)

    @property
    def is_truncated(self) -> Bools:
        """The exchange shows fewer levels than there are."""
        return np.broadcast_to(self.shown_levels < LEVELS, self.mid.shape)

    def depth_usd(self, within: float, *, is_bid: bool) -> Floats:
        """What stands within that share of the mid on a side, of what the exchange shows."""
        sign, half = -1.0 if is_bid else 1.0, self.spread_bps / 2e4
        reach = within + 1e-9 - half
        levels = np.searchsorted(_GRID, np.maximum(reach, 0.0), side="right")
        levels = np.where(reach < 0, 0, np.minimum(levels, self.shown_levels))
        return (self.bid_usd if is_bid else self.ask_usd) * _worth(levels, 1.0 + sign * half, sign)

    def slip_bps(self, size_usd: float, *, is_buy: bool) -> Floats:
        """What taking that many dollars costs against the mid; NaN where the book ends before."""
        sign = 1.0 if is_buy else -1.0
        side, half = (self.ask_usd if is_buy else self.bid_usd), self.spread_bps / 2e4
        touch = 1.0 + sign * half
        wanted = size_usd / side
        level = np.searchsorted(_SUM + sign * _SUM_GRID, wanted / touch, side="left") - 1
        for _ in range(2):  # the curve bends a little with the spread
            level = np.clip(level, 0, LEVELS - 1)
            level += (_worth(level + 1, touch, sign) < wanted).astype(np.int64)
            level -= (_worth(level, touch, sign) >= wanted).astype(np.int64)
        level = np.clip(level, 0, LEVELS - 1)
        rest = wanted - _worth(level, touch, sign)
        filled = _SUM[level] + rest / (touch + sign * _GRID[level])
        ends = _worth(np.broadcast_to(self.shown_levels, level.shape), touch, sign) < wanted
        return np.where(ends, np.nan, sign * 1e4 * (wanted / filled - 1.0))


def _worth(levels: NDArray[np.int64], touch: Floats, sign: float) -> Floats:
    """What the first levels cost, of one dollar within 2 %."""
    worth = np.take(_SUM, levels, mode="clip")
    worth *= touch
    worth += sign * np.take(_SUM_GRID, levels, mode="clip")
    return np.asarray(worth)


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
    is_minute_crossed = (at_s // 60 % 30 == 0).reshape(1, -1)
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
        has_book=~(grid.holds[SimKnob.ABSENT] | grid.missing(keys) | grid.nightly(world)),
        is_crossed=grid.holds[SimKnob.CROSSED] & is_minute_crossed,
        has_st_tag=grid.holds[SimKnob.ST_TAG],
        has_caution=grid.holds[SimKnob.CAUTION],
        shown_levels=traits.levels[rows],
    )


@dataclass(frozen=True)
class Ladder:
    """Books of the first column, best level first: prices in the quote currency, sizes in the base.
    (rows, levels)."""

    bid_prices: Floats
    bid_sizes: Floats
    ask_prices: Floats
    ask_sizes: Floats


def ladder(found: SimColumns, levels: int) -> Ladder:
    mid, half = found.mid[:, :1], found.spread_bps[:, :1] / 2e4
    unit = 1.0 / (mid * found.usd_per_quote[:, :1])  # of the base for a dollar
    grid, weight = _GRID[:levels], _WEIGHT[:levels]
    half = np.where(found.is_crossed[:, :1], -half, half)
    return Ladder(
        mid * (1.0 - half - grid),
        found.bid_usd[:, :1] * unit * weight,
        mid * (1.0 + half + grid),
        found.ask_usd[:, :1] * unit * weight,
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
    tells: Bools
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
    told = [one.capabilities for one in exchanges]
    return _Traits(
        keys=keys,
        coin_rows=np.array([one.coin_row for one in listings], dtype=np.int64),
        quote_rows=np.array(quotes, dtype=np.int64),
        depth=depth,
        spread=np.clip(9.0 * (1e5 / depth) ** 0.65, 0.2, 400.0),
        volume=depth * 45.0,
        drift=np.clip(4e-4 * (1e5 / depth) ** 0.25, 1e-4, 2e-3),
        levels=np.array([[min(LEVELS, one.max_book_levels)] for one in told]),
        tells=np.array([[one.currencies] for one in told]),
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

    def missing(self, keys: Keys) -> Bools:
        minutes = (self.at_s // 60).reshape(1, -1)
        return self.holds[SimKnob.FLAKY] & (uniform(mixed(keys, minutes)) < 0.6)

    def nightly(self, world: SimWorld) -> Bools:
        of_day = (self.at_s % DAY_S).reshape(1, -1)
        found = np.zeros((self.rows.size, self.at_s.size), dtype=np.bool_)
        for exchange, (start_s, end_s) in NIGHTLY.items():
            mine = np.isin(self.rows, world.rows_at[exchange]).reshape(-1, 1)
            found |= mine & (start_s <= of_day) & (of_day < end_s)
        return found

    def transfers(self, traits: _Traits, keys: Keys) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """With a short closure now and then: of one pair in 300 a day, for up to two hours."""
        coins = traits.exchange_keys[self.rows]
        days = (self.at_s // DAY_S).reshape(1, -1)
        luck = uniform(mixed(mixed(coins, np.array([[7]])), days))
        start_s = luck * 300 * (DAY_S - 7_200)
        of_day = (self.at_s % DAY_S).reshape(1, -1)
        is_short = (luck < 1 / 300) & (start_s <= of_day) & (of_day < start_s + 5_400)
        tells = traits.tells[self.rows]
        return (
            _flag(~(self.holds[SimKnob.DEPOSITS_CLOSED] | is_short), tells),
            _flag(~(self.holds[SimKnob.WITHDRAWALS_CLOSED] | is_short), tells),
        )


def _flag(is_open: Bools, tells: Bools) -> NDArray[np.int8]:
    return np.where(tells, is_open, -1).astype(np.int8)

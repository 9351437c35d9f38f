"""What a gap between venues is worth, net of fees, transfer and age (docs/market.md#arbitrage), and
which of its changes the reel has (docs/market.md#the-reel).

    net(Q) = bid_vwap_B(Q) (1 - fee_B) / (ask_vwap_A(Q) (1 + fee_A)) - 1 - withdrawal / Q

Laws
- A gap is compared only between listings of one asset by contract; callers hand in no other.
- Both books are at most 90 s old and at most 60 s apart, or there is no figure.
- A net that lacks a fee or depth is None. Actionable: above zero, the way open, nothing suspect.
- Prices and sizes here are in US dollars: books of won are converted by their venue's own dollar.
- An episode begins above 25 bps, and ends when the gap was at or below for five minutes without a
  break; what it does in between is the same episode.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from statistics import median
from typing import Final

from core.market.rules.book import Level, vwap
from core.market.rules.transfer import GateState, TransferGate

SIZES_USD: Final = (1_000, 5_000, 10_000)
MOST_AGE_S: Final = 90.0
MOST_APART_S: Final = 60.0
SUSPECT_GROSS_BPS: Final = 3_000.0
LEAST_CHANGE_BPS: Final = 1.0
EPISODE_BPS: Final = 25.0
ENDS_AFTER: Final = timedelta(minutes=5)
_BPS: Final = 10_000.0


class Suspicion(StrEnum):
    """Why a gap is probably no opportunity."""

    GROSS_ABOVE_30_PERCENT = "gross_above_30_percent"
    COLLISION = "collision"
    HALTED = "halted"


@dataclass(frozen=True, slots=True)
class ArbSide:
    """One venue's book, best first, in US dollars. taker_fee_bps: of the market, without a
    discount; None: unknown. `is_halted`: the market, or None: unknown. withdraw_fee is the gate's.
    """

    exchange: str
    bids: tuple[Level, ...]
    asks: tuple[Level, ...]
    at: datetime
    taker_fee_bps: float | None
    fx_source: str
    is_halted: bool | None

    @property
    def mid(self) -> float:
        return (self.bids[0][0] + self.asks[0][0]) / 2


@dataclass(frozen=True, slots=True)
class ArbPair:
    """Buy at one venue, sell at the other. net_bps: by SIZES_USD. `fx_sources`: of both rates;
    taker_fees_bps: of both markets, None: unknown. withdraw_fee: the least of the open chains, in
    coins, and its chain.
    """

    buy_at: str
    sell_at: str
    gross_bps: float
    net_bps: tuple[float | None, ...]
    gate: GateState
    chains: tuple[str, ...]
    is_actionable: bool
    suspicions: tuple[Suspicion, ...]
    fx_sources: tuple[str, str]
    taker_fees_bps: tuple[float | None, float | None]
    withdraw_chain: str | None
    withdraw_fee: float | None


@dataclass(frozen=True, slots=True)
class ArbLeg:
    """All that is bought at one venue to be sold at one other. profit_usd: after both fees and the
    withdrawal, which is taken at the price paid before the fee, as a pair's is; None: that is unknown.
    """

    buy_at: str
    sell_at: str
    base: float
    buy_usd: float
    sell_usd: float
    profit_usd: float | None
    gate: GateState

    @property
    def is_believed(self) -> bool:
        """Whether its way is open, and its gain after taker fees is 30 % at most."""
        most = self.buy_usd * (1 + SUSPECT_GROSS_BPS / _BPS)
        return self.gate is GateState.OPEN and self.sell_usd <= most


@dataclass(frozen=True, slots=True)
class ArbSnapshot:
    """Three venues and more. size_usd: what buying all legs costs, fees included, up to where the
    next unit earns nothing. dispersion: (highest mid - lowest) / median.

    Both profits are None where that of a leg they count is unknown. profit_usd: of all legs.
    actionable_profit_usd: of the believed ones, less those that the withdrawal makes a loss.
    """

    venues: tuple[str, ...]
    dispersion: float
    size_usd: float
    legs: tuple[ArbLeg, ...]

    @property
    def profit_usd(self) -> float | None:
        return _sum_known([leg.profit_usd for leg in self.legs])

    @property
    def actionable_profit_usd(self) -> float | None:
        found = [leg.profit_usd for leg in self.legs if leg.is_believed]
        return _sum_known([None if one is None else max(one, 0.0) for one in found])

    @property
    def is_actionable(self) -> bool:
        """Whether a leg is known to be worth acting on, whatever the others are."""
        return any(leg.is_believed and (leg.profit_usd or 0.0) > 0 for leg in self.legs)


def pair(
    buy: ArbSide, sell: ArbSide, way: TransferGate, now: datetime, *, is_collision: bool
) -> ArbPair | None:
    """None: a book is older than 90 s, or they are more than 60 s apart, or from the future."""
    apart_s = abs((buy.at - sell.at).total_seconds())
    if not (is_fresh(buy, now) and is_fresh(sell, now)) or apart_s > MOST_APART_S:
        return None
    bid, ask = sell.bids[0][0], buy.asks[0][0]
    gross_bps = _BPS * (bid - ask) / ask
    net_bps = tuple(_net_bps(buy, sell, way, size) for size in SIZES_USD)
    suspicions = tuple(
        why
        for why, is_so in (
            (Suspicion.GROSS_ABOVE_30_PERCENT, gross_bps > SUSPECT_GROSS_BPS),
            (Suspicion.COLLISION, is_collision),
            (Suspicion.HALTED, bool(buy.is_halted or sell.is_halted)),
        )
        if is_so
    )
    is_transferable = way.state is GateState.OPEN
    is_gain = any(net is not None and net > 0 for net in net_bps)
    return ArbPair(
        buy_at=buy.exchange,
        sell_at=sell.exchange,
        gross_bps=gross_bps,
        net_bps=net_bps,
        gate=way.state,
        chains=way.chains,
        is_actionable=is_gain and is_transferable and not suspicions,
        suspicions=suspicions,
        fx_sources=(buy.fx_source, sell.fx_source),
        taker_fees_bps=(buy.taker_fee_bps, sell.taker_fee_bps),
        withdraw_chain=way.fee_chain,
        withdraw_fee=way.fee,
    )


def snapshot(
    sides: Sequence[ArbSide], ways: dict[tuple[str, str], TransferGate], now: datetime
) -> ArbSnapshot | None:
    """`ways`: by (buy at, sell at); one that is missing is unverified. None: fewer than three venues
    have a fresh book. The cheapest asks, with fees, meet the dearest bids until nothing is left to
    earn; a venue never meets itself, since its own book is not crossed. A venue whose fee is not
    known, or whose market is halted, is left out.
    """
    able = [s for s in sides if s.taker_fee_bps is not None and not s.is_halted]
    fresh = [s for s in able if is_fresh(s, now)]
    if fresh:
        newest = max(side.at for side in fresh)
        fresh = [s for s in fresh if (newest - s.at).total_seconds() <= MOST_APART_S]
    if len(fresh) < 3:
        return None
    fee_bps = {side.exchange: side.taker_fee_bps or 0.0 for side in fresh}
    legs = [
        _leg(venues, amounts, ways.get(venues), fee_bps[venues[0]])
        for venues, amounts in _matched(fresh).items()
    ]
    legs.sort(key=lambda leg: (-(leg.sell_usd - leg.buy_usd), leg.buy_at, leg.sell_at))
    mids = [side.mid for side in fresh]
    return ArbSnapshot(
        venues=tuple(sorted(side.exchange for side in fresh)),
        dispersion=(max(mids) - min(mids)) / median(mids),
        size_usd=sum(leg.buy_usd for leg in legs),
        legs=tuple(legs),
    )


def is_in_reel(was_bps: float | None, was_actionable: bool, seen: ArbPair) -> bool:
    """Whether the reel has a row of it: it changed by at least 1 bps, or starts or stops being
    actionable. `was_bps`: what the pair's gap was; None: there was none.
    """
    return (
        was_bps is None
        or abs(was_bps - seen.gross_bps) >= LEAST_CHANGE_BPS
        or was_actionable != seen.is_actionable
    )


def episode_end(last_above_at: datetime, now: datetime) -> datetime | None:
    """When an episode was over that was above last at that time; None: it goes on."""
    ends_at = last_above_at + ENDS_AFTER
    return ends_at if now >= ends_at else None


def _sum_known(profits: Sequence[float | None]) -> float | None:
    """None where one is unknown; of none 0."""
    known = [one for one in profits if one is not None]
    return sum(known, 0.0) if len(known) == len(profits) else None


def is_fresh(side: ArbSide, now: datetime) -> bool:
    """At most 90 s old, nor from a future that no clock's fault explains."""
    return -MOST_APART_S <= (now - side.at).total_seconds() <= MOST_AGE_S


def _net_bps(buy: ArbSide, sell: ArbSide, way: TransferGate, size_usd: int) -> float | None:
    ask, bid = vwap(buy.asks, size_usd), vwap(sell.bids, size_usd)
    if ask is None or bid is None or way.fee is None:
        return None
    if buy.taker_fee_bps is None or sell.taker_fee_bps is None:
        return None
    paid, got = ask * (1 + buy.taker_fee_bps / _BPS), bid * (1 - sell.taker_fee_bps / _BPS)
    return _BPS * (got / paid - 1 - way.fee * ask / size_usd)


def _matched(sides: Sequence[ArbSide]) -> dict[tuple[str, str], tuple[float, float, float]]:
    """By (buy at, sell at): base, what it costs, what it brings; fees included."""
    fees = [(side, side.taker_fee_bps / _BPS) for side in sides if side.taker_fee_bps is not None]
    asks = sorted(
        (price * (1 + fee), size, side.exchange) for side, fee in fees for price, size in side.asks
    )
    bids = sorted(
        (
            (price * (1 - fee), size, side.exchange)
            for side, fee in fees
            for price, size in side.bids
        ),
        reverse=True,
    )
    found: defaultdict[tuple[str, str], tuple[float, float, float]] = defaultdict(
        lambda: (0.0, 0.0, 0.0)
    )
    at_ask = at_bid = 0
    ask_left, bid_left = asks[0][1], bids[0][1]
    while asks[at_ask][0] < bids[at_bid][0]:
        (cost, _, buy_at), (gain, _, sell_at) = asks[at_ask], bids[at_bid]
        base = min(ask_left, bid_left)
        had = found[buy_at, sell_at]
        found[buy_at, sell_at] = (had[0] + base, had[1] + base * cost, had[2] + base * gain)
        ask_left, bid_left = ask_left - base, bid_left - base
        if ask_left <= 0:
            at_ask += 1
            if at_ask == len(asks):
                break
            ask_left = asks[at_ask][1]
        if bid_left <= 0:
            at_bid += 1
            if at_bid == len(bids):
                break
            bid_left = bids[at_bid][1]
    return dict(found)


def _leg(
    venues: tuple[str, str],
    amounts: tuple[float, float, float],
    way: TransferGate | None,
    buy_fee_bps: float,
) -> ArbLeg:
    base, cost, gain = amounts
    price = cost / base / (1 + buy_fee_bps / _BPS)
    fee = None if way is None else way.fee
    return ArbLeg(
        buy_at=venues[0],
        sell_at=venues[1],
        base=base,
        buy_usd=cost,
        sell_usd=gain,
        profit_usd=None if fee is None else gain - cost - fee * price,
        gate=GateState.UNVERIFIED if way is None else way.state,
    )

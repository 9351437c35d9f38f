"""Where floats end: what the market's statistics say, made exact (docs/decisions/0034).

Laws
- Each value is rounded against the follower once, here: depth and volume down, volatility and the
  venue's minimum up. A rung of the book is at its far edge, so that walking the rungs never
  costs less than walking the book that was measured.
- What is not a number, or too old, is unknown.
"""

import math
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Final, TypeGuard

from sqlalchemy.orm import Session

from core.fund.rules.impact import BookLadder, Rung
from core.fund.rules.plan import MarketSnapshot
from core.market.liquidity_views import BUCKETS_A_DAY, MarketLiquidity, liquidity_of
from core.money import USDC_E6_PER_USDC

# 0.5, 1 and 2 %, and a hundredth of a basis point: a level counts as within x up to x (1 + 1e-9)
# (core/market/rules/book.py)
EDGES_BPS_E2: Final = (5_001, 10_001, 20_001)
BPS_E2_PER_ONE: Final = 1_000_000
LEAST_AGE: Final = timedelta(minutes=10)  # a younger book is never too old
LOOKS: Final = 2  # a book is too old when so many looks at it are missing
MOST_USD: Final = 1e12
UNKNOWN: Final = MarketSnapshot()


def snapshot_of(session: Session, market: str, now: datetime) -> MarketSnapshot:
    return known(liquidity_of(session, market, now), now)


def known(found: MarketLiquidity | None, now: datetime) -> MarketSnapshot:
    return UNKNOWN if found is None else exact(found, now)


def exact(found: MarketLiquidity, now: datetime) -> MarketSnapshot:
    is_old = _is_old(found, now)
    return MarketSnapshot(
        grade=found.grade,
        is_provisional=found.is_provisional is not False,
        depth_usdc_e6=_down(found.depth_usd),
        volume_usdc_e6=_down(found.volume_24h_usd),
        sigma_bps_e2=_sigma(found),
        buys=None if is_old else _ladder(found.asks, is_buy=True),
        sells=None if is_old else _ladder(found.bids, is_buy=False),
        mid=None if is_old else _mid(found.mid),
        least_order_usdc_e6=_least(found),
    )


def _is_old(found: MarketLiquidity, now: datetime) -> bool:
    if found.sampled_at is None:
        return True
    allowed = LEAST_AGE
    if found.every_s is not None:
        allowed = max(allowed, LOOKS * timedelta(seconds=found.every_s))
    return now - found.sampled_at > allowed


def _ladder(within: tuple[float | None, ...], *, is_buy: bool) -> BookLadder | None:
    """`within`: dollars up to each edge, those before included."""
    totals = [_down(one) for one in within]
    rungs, before = list[Rung](), 0
    for edge, total in zip(EDGES_BPS_E2, totals, strict=True):
        if total is None or total < before:
            return None
        rungs.append(Rung(edge, total - before))
        before = total
    return BookLadder(is_buy, tuple(rungs))


def _sigma(found: MarketLiquidity) -> int | None:
    """Of a day: the root of the squared returns, for as many buckets as a day has."""
    if not found.buckets or found.squares is None or not 0 <= found.squares < math.inf:
        return None
    return math.ceil(math.sqrt(found.squares * BUCKETS_A_DAY / found.buckets) * BPS_E2_PER_ONE)


def _mid(value: float | None) -> Decimal | None:
    return Decimal(repr(value)) if value is not None and 0 < value < math.inf else None


def _least(found: MarketLiquidity) -> int | None:
    """0: the venue has none. None: it has one, of which it is not known how many dollars it is."""
    if found.min_size_quote is None:
        return 0
    per_quote = found.usd_per_quote
    return None if per_quote is None else _up(found.min_size_quote * per_quote)


def _down(usd: float | None) -> int | None:
    return math.floor(usd * USDC_E6_PER_USDC) if _is_amount(usd) else None


def _up(usd: float | None) -> int | None:
    return math.ceil(usd * USDC_E6_PER_USDC) if _is_amount(usd) else None


def _is_amount(usd: float | None) -> TypeGuard[float]:
    return usd is not None and 0 <= usd <= MOST_USD

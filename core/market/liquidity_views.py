"""How liquid a market is now, for plans of orders: one read (docs/fund.md#what-a-market-is-known-by).

All of it is statistics: float64, of which only gates and caps are made (docs/decisions/0034).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from sqlalchemy import Text, bindparam, func, select
from sqlalchemy.orm import Session

from core.db.base import Timestamp
from core.market.tables import MarketListingState, MarketRollup

DAY: Final = timedelta(hours=24)
BUCKETS_A_DAY: Final = 12  # of two hours


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketLiquidity:
    """`depth_usd`, `volume_24h_usd`: what the grade was made of. `squares`: the sum of the squared
    log returns of `buckets` roll-ups in the last 24 hours. `bids`, `asks`: what the last book held
    within 0.5, 1 and 2 % of its mid. None: unknown.
    """

    market: str
    grade: str | None
    is_provisional: bool | None
    depth_usd: float | None
    volume_24h_usd: float | None
    squares: float | None
    buckets: int
    mid: float | None
    usd_per_quote: float | None
    bids: tuple[float | None, float | None, float | None]
    asks: tuple[float | None, float | None, float | None]
    sampled_at: datetime | None
    every_s: int | None
    min_size_quote: float | None
    is_simulated: bool


_STATE = MarketListingState
_RETURNS = (
    select(
        func.sum(MarketRollup.rv * MarketRollup.rv).label("squares"),
        func.count(MarketRollup.rv).label("buckets"),
    )
    .where(
        MarketRollup.listing_id == _STATE.listing_id,
        MarketRollup.bucket >= bindparam("since", type_=Timestamp),
        MarketRollup.bucket < bindparam("now", type_=Timestamp),
    )
    .lateral("returns")
)
LIQUIDITY: Final = select(
    _STATE.grade,
    _STATE.is_provisional,
    _STATE.in_depth_usd,
    _STATE.in_volume_24h_usd,
    _RETURNS.c.squares,
    _RETURNS.c.buckets,
    _STATE.mid,
    _STATE.usd_per_quote,
    _STATE.bid_05_usd,
    _STATE.bid_1_usd,
    _STATE.bid_2_usd,
    _STATE.ask_05_usd,
    _STATE.ask_1_usd,
    _STATE.ask_2_usd,
    _STATE.sampled_at,
    _STATE.every_s,
    _STATE.min_size_quote,
    _STATE.is_simulated,
).join(_RETURNS, _RETURNS.c.buckets >= 0)
"""Of every market; with `liquidity_from` for a statement that joins it. It takes `since` and `now`."""

MARKET: Final = _STATE.token_id
_LIQUIDITY: Final = LIQUIDITY.where(bindparam("market", type_=Text) == MARKET)


def liquidity_of(session: Session, market: str, now: datetime) -> MarketLiquidity | None:
    """`market`: the listing's token_id. None: the market is not measured here."""
    row = session.execute(_LIQUIDITY, {"market": market, **day_before(now)}).first()
    return None if row is None else liquidity_from(market, row)


def day_before(now: datetime) -> dict[str, datetime]:
    """The times that LIQUIDITY takes."""
    return {"since": now - DAY, "now": now}


def liquidity_from(market: str, row: Sequence[Any]) -> MarketLiquidity:
    """`row`: the columns of LIQUIDITY."""
    grade, provisional, depth, volume, squares, buckets, mid, per_quote, *rest = row
    return MarketLiquidity(
        market=market,
        grade=grade,
        is_provisional=provisional,
        depth_usd=depth,
        volume_24h_usd=volume,
        squares=squares,
        buckets=buckets,
        mid=mid,
        usd_per_quote=per_quote,
        bids=(rest[0], rest[1], rest[2]),
        asks=(rest[3], rest[4], rest[5]),
        sampled_at=rest[6],
        every_s=rest[7],
        min_size_quote=rest[8],
        is_simulated=rest[9],
    )

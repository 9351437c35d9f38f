"""What ETH costs, as the exchanges that are watched have it (docs/market.md#the-price-of-eth)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import isfinite
from statistics import median
from typing import Final

from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from core.market.facts import MarketStatus
from core.market.tables import MarketListingState

FRESH: Final = timedelta(minutes=5)
AHEAD: Final = timedelta(minutes=1)  # the minute of a sample may begin before a reader's clock
LEAST_VENUES: Final = 3
SYMBOLS: Final = ("ETH/USD", "ETH/USDT")
_E6: Final = 1_000_000
_MOST_USD: Final = 1e9  # beyond it a figure is no price


@dataclass(frozen=True, slots=True)
class EthPrice:
    """`price_e6`: US dollars per ETH times 1e6, rounded to the nearest, a half to the even one.
    `venues`: how many it is the median of. `as_of`: the minute of the oldest of them.
    `is_simulated`: they are of the simulator.
    """

    price_e6: int
    venues: int
    as_of: datetime
    is_simulated: bool


def eth_usd_median(session: Session, now: datetime) -> EthPrice | None:
    """The median over exchanges of their newest measured mid of ETH in USD or USDT, each at most
    five minutes old; a dollar of USDT counts as one.

    None: fewer than three exchanges have one. Halted and delisted pairs do not count, nor do
    simulated ones beside live ones.
    """
    row = MarketListingState
    query = (
        select(row.exchange, row.price_usd, row.sampled_at, row.is_simulated)
        .where(
            row.symbol.in_(SYMBOLS),
            row.sampled_at >= now - FRESH,
            row.sampled_at <= now + AHEAD,
            or_(row.status.is_(None), row.status == MarketStatus.TRADING),
        )
        .order_by(row.sampled_at, row.symbol)
    )
    seen = [
        (exchange, price, at, simulated)
        for exchange, price, at, simulated in session.execute(query)
        if price is not None and at is not None and isfinite(price) and 0 < price < _MOST_USD
    ]
    live = [one for one in seen if not one[3]]
    return _median(live or seen, is_simulated=not live)


def _median(
    seen: Iterable[tuple[str, float, datetime, bool]], *, is_simulated: bool
) -> EthPrice | None:
    newest = {exchange: (price, at) for exchange, price, at, _ in seen}
    if len(newest) < LEAST_VENUES:
        return None
    return EthPrice(
        price_e6=round(median(price for price, _ in newest.values()) * _E6),
        venues=len(newest),
        as_of=min(at for _, at in newest.values()),
        is_simulated=is_simulated,
    )

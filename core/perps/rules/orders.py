"""Orders at the perpetuals venue: what a closing order asks for, what became of it, and what the
daily cap leaves for orders that open.

    sending --the venue's answer--> accepted | rejected
       '-----no answer-----> unknown --asked by cloid--> accepted | rejected

Laws
- A row with the cloid is committed before the order is sent, and a cloid is sent once. Whoever finds
  an order without an answer asks the venue by its cloid.
- The venue takes no order after `expires_at`. One that it does not know SKEW_S later never arrived
  and never will: it is rejected, and only then may another be sent.
- Sizes and prices are integers of 1e-8, the venue's own precision; no float.
Source: docs/perpetuals.md#closing.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from eth_utils.crypto import keccak

from core.hexes import hex_of
from core.money import UsdcE6
from core.times import start_of_day

DECIMALS = 8
E8: int = 10**DECIMALS
PRICE_DECIMALS = 6  # a price has 6 less the market's size decimals at most
SIGNIFICANT = 5  # and so many significant figures, unless it is a whole number
CLOID_BYTES = 16
LIFE = timedelta(seconds=10)
SKEW_S = 30  # the venue's clock and ours, and its answers about an order that it has just taken


class Side(StrEnum):
    BUY = "buy"
    SELL = "sell"


class OrderBy(StrEnum):
    """On whose behalf an order is sent; the keeper closes on the owner's."""

    AGENT = "agent"
    OWNER = "owner"


class OrderOutcome(StrEnum):
    """What became of an order; SENDING: nothing is known yet."""

    SENDING = "sending"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNKNOWN = "unknown"


class Why(StrEnum):
    """Why the leg is closed."""

    STOP_LINE = "stop_line"
    STOPPED = "stopped"
    ENDED = "ended"


OPEN = (OrderOutcome.SENDING, OrderOutcome.UNKNOWN)
_SECONDS = timedelta(seconds=SKEW_S)


class OverPerpsCapError(ValueError):
    """An opening order is larger than what the UTC day's cap leaves. USDC base units."""

    def __init__(self, notional_usdc_e6: int, left_usdc_e6: int) -> None:
        super().__init__(f"the order opens {notional_usdc_e6}, the UTC day leaves {left_usdc_e6}")
        self.notional_usdc_e6 = notional_usdc_e6
        self.left_usdc_e6 = left_usdc_e6


@dataclass(frozen=True, slots=True, kw_only=True)
class VenuePosition:
    """`size_e8` is signed: below 0 is short, and never 0."""

    coin: str
    size_e8: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueMarket:
    """`asset`: the venue's number of it. `mid_e8`: USDC for one unit."""

    asset: int
    size_decimals: int
    mid_e8: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VenueOrder:
    """A limit order that fills at once or not at all (IOC), or `rests` until it is cancelled (GTC).
    `size_e8` is above 0.
    """

    asset: int
    coin: str
    side: Side
    size_e8: int
    limit_px_e8: int
    reduce_only: bool
    rests: bool = False

    @property
    def notional_usdc_e6(self) -> UsdcE6:
        """Size times limit price, rounded up."""
        return UsdcE6(-(-self.size_e8 * self.limit_px_e8 // 10**10))


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderAnswer:
    """What the venue says of an order; None: it does not say. `venue_words`: why it was rejected, as
    the venue says it, printable.
    """

    outcome: OrderOutcome
    avg_px_e8: int | None = None
    total_sz_e8: int | None = None
    oid: int | None = None
    venue_words: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedOrder:
    """An order as the daily cap sees it. `notional_usdc_e6` is rounded up."""

    notional_usdc_e6: UsdcE6
    reduce_only: bool
    placed_at: datetime
    outcome: OrderOutcome


UNKNOWN = OrderAnswer(outcome=OrderOutcome.UNKNOWN)
REJECTED = OrderAnswer(outcome=OrderOutcome.REJECTED)


def cloid_of(mandate: str, seq: int) -> str:
    """The venue's client order id of a mandate's order `seq` (from 1), 0x and 32 hex digits."""
    return hex_of(keccak(text=f"hl order:{mandate}:{seq}")[:CLOID_BYTES])


def closing_order(position: VenuePosition, market: VenueMarket, allowance_bps: int) -> VenueOrder:
    """The reduce-only order that closes a position whole, at most `allowance_bps` from the mid.

    The limit price is rounded towards the mid to a price that the venue takes.
    """
    is_long = position.size_e8 > 0
    return VenueOrder(
        asset=market.asset,
        coin=position.coin,
        side=Side.SELL if is_long else Side.BUY,
        size_e8=abs(position.size_e8),
        limit_px_e8=worst_px_e8(market, allowance_bps, is_buy=not is_long),
        reduce_only=True,
    )


def worst_px_e8(market: VenueMarket, allowance_bps: int, *, is_buy: bool) -> int:
    """`allowance_bps` from the mid, rounded towards it to a price that the venue takes; 0 where a
    purchase has none, since the smallest step is above it.

    The step is that of the limit itself, which may have a figure more than the mid, or less.
    """
    if is_buy:
        worst = market.mid_e8 * (10_000 + allowance_bps) // 10_000
        return worst - worst % tick_e8(worst, market.size_decimals)
    worst = -(-market.mid_e8 * (10_000 - allowance_bps) // 10_000)
    return worst + -worst % tick_e8(worst, market.size_decimals)


def tick_e8(px_e8: int, size_decimals: int) -> int:
    """The step of prices near this one: a power of ten."""
    significant: int = 10 ** max(0, len(str(px_e8)) - SIGNIFICANT)
    smallest: int = 10 ** (DECIMALS - max(0, PRICE_DECIMALS - size_decimals))
    return max(min(significant, E8), smallest)


def has_never_arrived(expires_at: datetime, now: datetime) -> bool:
    """Whether an order that the venue does not know can no longer reach it."""
    return now >= expires_at + _SECONDS


def why_closed(stopped_by: str | None) -> Why:
    """`stopped_by`: whom the record names; chain and keeper stop at the stop line."""
    if stopped_by is None:
        return Why.ENDED
    return Why.STOP_LINE if stopped_by in ("chain", "keeper") else Why.STOPPED


def e8_text(value_e8: int) -> str:
    """As the venue writes it, without trailing zeros: 150_000_000 is `"1.5"`."""
    whole, fraction = divmod(value_e8, E8)
    return f"{whole}.{fraction:08d}".rstrip("0").rstrip(".")


def opened_today_usdc_e6(orders: Iterable[PlacedOrder], now: datetime) -> UsdcE6:
    """What opening orders of the UTC day of `now` count against the cap: all but rejected ones.

    Day: [00:00 UTC, next 00:00 UTC). An order whose outcome is unknown counts.
    """
    day = start_of_day(now)
    return UsdcE6(
        sum(
            order.notional_usdc_e6
            for order in orders
            if not order.reduce_only
            and order.outcome is not OrderOutcome.REJECTED
            and start_of_day(order.placed_at) == day
        )
    )


def left_to_open_usdc_e6(
    orders: Iterable[PlacedOrder], daily_cap_usdc_e6: int, now: datetime
) -> UsdcE6:
    """What opening orders may still add today; an exhausted cap is 0.

    `daily_cap_usdc_e6`: of the signed terms, where an empty cap is the budget.
    """
    return UsdcE6(max(0, daily_cap_usdc_e6 - opened_today_usdc_e6(orders, now)))


def require_room(
    order: VenueOrder, placed: Iterable[PlacedOrder], daily_cap_usdc_e6: int, now: datetime
) -> None:
    """Errors: OverPerpsCapError; never for an order that only reduces."""
    if order.reduce_only:
        return
    left = left_to_open_usdc_e6(placed, daily_cap_usdc_e6, now)
    if order.notional_usdc_e6 > left:
        raise OverPerpsCapError(order.notional_usdc_e6, left)

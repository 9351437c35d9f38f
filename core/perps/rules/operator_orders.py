"""Orders of the operator's own account: made here, signed by its key elsewhere, checked against caps
at the largest amount that they could fill.

    prepared --relayed, or sent by whoever signed--> accepted | rejected
       '---relayed, no answer--> unknown --asked by cloid--> accepted | rejected | never_arrived
       '---not at the venue SKEW_S after expires_at--> never_arrived
    rejected --asked by cloid--> accepted, where its signer sent it again

Laws
- The row is committed before there is anything to sign; what is signed covers its nonce, which
  the venue takes once. So it fills once at most, however often and by whomever it is sent.
- An order counts against the day's cap from the time it is prepared. What the venue rejected may be
  sent again by its signer: it is settled, and counts no more, once the venue was asked for it SKEW_S
  after expires_at.
- Orders that only reduce count nothing. They are marked so in what is signed, and the position is
  read before.
Source: docs/operator-orders.md.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from eth_utils.crypto import keccak

from core.errors import InvalidNumberError, InvalidParameterError
from core.hexes import hex_of
from core.money import UsdcE6
from core.perps.rules.orders import (
    CLOID_BYTES,
    DECIMALS,
    E8,
    OrderAnswer,
    OrderOutcome,
    Side,
    VenueMarket,
    VenueOrder,
    VenuePosition,
    e8_text,
    has_never_arrived,
    tick_e8,
    worst_px_e8,
)
from core.times import start_of_day

SIGN_S = 60  # for how long the venue takes a prepared order
LEAST_USDC_E6 = UsdcE6(10_000_000)  # the venue's own minimum; not of orders that only reduce
E8_PATTERN = r"^[0-9]{1,9}(\.[0-9]{1,8})?$"
_E8 = re.compile(E8_PATTERN.strip("^$"), re.ASCII)


class OrderType(StrEnum):
    MARKET = "market"
    LIMIT = "limit"
    STOP_MARKET = "stop_market"
    STOP_LIMIT = "stop_limit"
    POST_ONLY = "post_only"
    ENTRY_WITH_TPSL = "entry_with_tpsl"
    POSITION_TPSL = "position_tpsl"
    SCALE = "scale"
    TWAP = "twap"


LIVE_TYPES = (OrderType.MARKET, OrderType.LIMIT)


class OrderState(StrEnum):
    PREPARED = "prepared"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    UNKNOWN = "unknown"
    NEVER_ARRIVED = "never_arrived"


UNSETTLED = (OrderState.PREPARED, OrderState.UNKNOWN)


class ClaimedOutcome(StrEnum):
    """The outcome of an order as reported by its signer."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    NOT_SENT = "not_sent"


BEARS_OUT = {
    ClaimedOutcome.ACCEPTED: (OrderState.ACCEPTED,),
    ClaimedOutcome.REJECTED: (OrderState.REJECTED, OrderState.NEVER_ARRIVED),
    ClaimedOutcome.NOT_SENT: (OrderState.NEVER_ARRIVED,),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCaps:
    """What opening orders may fill: one, and those of a UTC day together; 0: none may open."""

    per_order_usdc_e6: UsdcE6
    per_day_usdc_e6: UsdcE6


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedOrder:
    """An order as the day's cap sees it. `asked_at`: when the venue last answered for it; None: it was
    not asked.
    """

    largest_usdc_e6: UsdcE6
    reduce_only: bool
    placed_at: datetime
    expires_at: datetime
    state: OrderState
    asked_at: datetime | None

    @property
    def is_settled(self) -> bool:
        """Whether nothing can become of it any more."""
        if self.state is OrderState.REJECTED:
            return self.asked_at is not None and has_never_arrived(self.expires_at, self.asked_at)
        return self.state not in UNSETTLED


class OverOrderCapError(ValueError):
    """The largest amount that an order could fill is over what a cap leaves. USDC base units."""

    def __init__(self, largest_usdc_e6: int, left_usdc_e6: int, *, is_day: bool) -> None:
        super().__init__(f"the order could fill {largest_usdc_e6}, the cap leaves {left_usdc_e6}")
        self.largest_usdc_e6 = largest_usdc_e6
        self.left_usdc_e6 = left_usdc_e6
        self.is_day = is_day


class NotReducingError(ValueError):
    """The position is not one that the order only reduces. `held_e8` is signed; 0: none is open."""

    def __init__(self, order: VenueOrder, held_e8: int) -> None:
        super().__init__(f"{order.side} {order.size_e8} does not reduce {held_e8}")
        self.held_e8 = held_e8


class OutcomeDisprovedError(ValueError):
    """The venue says otherwise."""

    def __init__(self, claimed: ClaimedOutcome, found: OrderState) -> None:
        super().__init__(f"{claimed} was claimed, the order is {found}")
        self.claimed = claimed
        self.found = found


class StrangeSignalError(ValueError):
    """The order is not one that follows the signal; `rule` says what one would be."""

    def __init__(self, rule: str) -> None:
        super().__init__(rule)
        self.rule = rule


def operator_cloid(account: str, nonce_ms: int) -> str:
    """0x and 32 hex digits: the venue's client order id, and the confirm_id of the routes."""
    return hex_of(keccak(text=f"operator order:{account.lower()}:{nonce_ms}")[:CLOID_BYTES])


def next_nonce_ms(last_ms: int | None, now: datetime) -> int:
    """The time in milliseconds, above the account's last one."""
    at = int(now.timestamp()) * 1_000 + now.microsecond // 1_000
    return at if last_ms is None else max(at, last_ms + 1)


def expiry_of(placed_at: datetime) -> datetime:
    return placed_at + timedelta(seconds=SIGN_S)


def e8_of(field: str, text: str) -> int:
    """`"1.5"` is 150_000_000. Errors: InvalidNumberError; also of 0."""
    found = _E8.fullmatch(text)
    whole, _, fraction = text.partition(".")
    value = int(whole) * E8 + int(fraction.ljust(DECIMALS, "0")) if found else 0
    if value <= 0:
        raise InvalidNumberError(field, text[:40], "write a decimal above 0, 8 decimals at most")
    return value


def operator_order(
    market: VenueMarket,
    *,
    coin: str,
    side: Side,
    kind: OrderType,
    size_e8: int,
    limit_px_e8: int | None,
    reduce_only: bool,
    allowance_bps: int,
) -> VenueOrder:
    """`kind` is one of LIVE_TYPES. A market order is an IOC order at most `allowance_bps` from the
    mid; a limit order rests.

    Errors: InvalidNumberError, InvalidParameterError.
    """
    step = 10 ** (DECIMALS - market.size_decimals)
    if size_e8 % step:
        rule = f"{coin} is traded in steps of {e8_text(step)}"
        raise InvalidNumberError("size", e8_text(size_e8), rule)
    if (limit_px_e8 is None) is (kind is OrderType.LIMIT):
        rule = "name it for a limit order, and leave it out for a market order"
        raise InvalidParameterError("limit_px", rule)
    if limit_px_e8 is not None:
        tick = tick_e8(limit_px_e8, market.size_decimals)
        if limit_px_e8 % tick:
            rule = f"near this price the venue takes steps of {e8_text(tick)}"
            raise InvalidNumberError("limit_px", e8_text(limit_px_e8), rule)
    px_e8 = limit_px_e8 or worst_px_e8(market, allowance_bps, is_buy=side is Side.BUY)
    if px_e8 == 0:
        rule = f"the venue has no price for {coin} within the allowance; write a limit order"
        raise InvalidParameterError("type", rule)
    order = VenueOrder(
        asset=market.asset,
        coin=coin,
        side=side,
        size_e8=size_e8,
        limit_px_e8=px_e8,
        reduce_only=reduce_only,
        rests=kind is OrderType.LIMIT,
    )
    if not reduce_only and size_e8 * px_e8 < LEAST_USDC_E6 * 10**10:
        raise InvalidNumberError(
            "size", e8_text(size_e8), "the venue takes orders of 10 USDC and more at their limit"
        )
    return order


def largest_fill_usdc_e6(order: VenueOrder, mid_e8: int, allowance_bps: int) -> UsdcE6:
    """The largest amount that an order could fill, rounded up.

    A purchase pays its limit at most. A sale takes its limit or better: the larger of its limit and
    `allowance_bps` above the mid.
    """
    px_e8 = order.limit_px_e8
    if order.side is Side.SELL:
        px_e8 = max(px_e8, -(-mid_e8 * (10_000 + allowance_bps) // 10_000))
    return UsdcE6(-(-order.size_e8 * px_e8 // 10**10))


def require_caps(
    largest_usdc_e6: UsdcE6, others: Iterable[CountedOrder], caps: OperatorCaps, now: datetime
) -> UsdcE6:
    """What the UTC day leaves after this opening order. Errors: OverOrderCapError."""
    if largest_usdc_e6 > caps.per_order_usdc_e6:
        raise OverOrderCapError(largest_usdc_e6, caps.per_order_usdc_e6, is_day=False)
    left = left_today_usdc_e6(others, caps, now)
    if largest_usdc_e6 > left:
        raise OverOrderCapError(largest_usdc_e6, left, is_day=True)
    return UsdcE6(left - largest_usdc_e6)


def left_today_usdc_e6(orders: Iterable[CountedOrder], caps: OperatorCaps, now: datetime) -> UsdcE6:
    """Of the day [00:00 UTC, next 00:00 UTC) of `now`; an exhausted cap is 0."""
    used = sum(order.largest_usdc_e6 for order in orders if _counts(order, now))
    return UsdcE6(max(0, caps.per_day_usdc_e6 - used))


def _counts(order: CountedOrder, now: datetime) -> bool:
    if order.reduce_only or start_of_day(order.placed_at) != start_of_day(now):
        return False
    return order.state is OrderState.ACCEPTED or not order.is_settled


def require_reducing(order: VenueOrder, positions: Iterable[VenuePosition]) -> None:
    """Whether the account holds at least the order's size on the other side.

    Errors: NotReducingError.
    """
    held = next((one.size_e8 for one in positions if one.coin == order.coin), 0)
    closes = held if order.side is Side.SELL else -held
    if closes < order.size_e8:
        raise NotReducingError(order, held)


def state_of(answer: OrderAnswer) -> OrderState:
    """`answer.outcome` is not SENDING."""
    return {
        OrderOutcome.ACCEPTED: OrderState.ACCEPTED,
        OrderOutcome.REJECTED: OrderState.REJECTED,
        OrderOutcome.UNKNOWN: OrderState.UNKNOWN,
    }[answer.outcome]


def found_state(
    answer: OrderAnswer | None, state: OrderState, expires_at: datetime, now: datetime
) -> OrderState | None:
    """What the venue's answer by cloid means for an order in `state`. None: it does not know the order,
    which may still arrive.
    """
    if answer is not None:
        return state_of(answer)
    if not has_never_arrived(expires_at, now):
        return None
    return state if state is OrderState.REJECTED else OrderState.NEVER_ARRIVED


def require_borne_out(claimed: ClaimedOutcome, found: OrderState) -> None:
    """Errors: OutcomeDisprovedError."""
    if found not in BEARS_OUT[claimed]:
        raise OutcomeDisprovedError(claimed, found)


def require_follows(order: VenueOrder, market: str, weight_e4: int) -> None:
    """Whether the order follows a signal: it trades the coin of the signal's market, and opens on the
    side of its weight. What only reduces is on either side. `market`: exchange_base_quote.

    Errors: StrangeSignalError.
    """
    parts = market.split("_")
    coin = order.coin[1:] if re.fullmatch("k[A-Z0-9]+", order.coin) else order.coin  # of a thousand
    if len(parts) != 3 or parts[1] != coin.lower():
        raise StrangeSignalError(f"the signal is of {market}, and the order of {order.coin}")
    if order.reduce_only:
        return
    side = Side.BUY if weight_e4 > 0 else Side.SELL
    if weight_e4 == 0:
        raise StrangeSignalError("the signal closes the position, and the order may open one")
    if order.side is not side:
        raise StrangeSignalError(f"the signal opens with {side}, and the order is {order.side}")

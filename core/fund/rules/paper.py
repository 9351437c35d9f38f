"""The paper follower of a vault: an account on paper that mirrors its signals, net of impact and fees
(docs/fund.md#the-paper-follower).

    signal --plan(core/fund/rules/plan.py)--> order --fill--> cash, positions
    each hour --mark--> NAV, highest NAV, drawdown

Laws
- Integers alone, and every division rounds against the follower: it buys fewer coins, gets less for
  them, pays more, is worth less.
- What is not known (a price, a book) is not guessed: the order or the mark waits.
- A purchase of a spot vault never makes its cash negative.
- NAV = cash + what the positions are worth at the mid. Fees of the fund go off the cash.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from core.fund.rules.impact import BPS_E2_ONE
from core.fund.rules.plan import PlannedOrder, PlanReason

START_USDC_E6: Final = 10_000_000_000
TAKER_BPS_E2: Final = 1_000  # 10 bps: what a taker pays on paper, on every market
MOST_ORDER_USDC_E6: Final = 10**15  # its consent bounds nothing
QUANTITY_E18: Final = 10**18
PRICE_E12: Final = 10**12
_SCALE: Final = QUANTITY_E18 * PRICE_E12 // 10**6  # quantity * price in USDC base units
_YEAR_S: Final = 365 * 86_400
_BPS_ONE: Final = 10_000

# It may be otherwise in a minute: the signal waits while it is live.
WAITS: Final = frozenset(
    {
        PlanReason.VAULT_PAUSED,
        PlanReason.SESSION_CLOSED,
        PlanReason.ACCOUNT_UNKNOWN,
        PlanReason.GRADE_UNKNOWN,
        PlanReason.MARKET_UNMEASURED,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperBook:
    """`positions`: by market the coins in 1e-18; negative: short. `peak_usdc_e6`: the highest NAV of
    all marks. `fund_fees`, `fees`, `impact`: what was paid so far, to the fund, to exchanges, and by
    prices against the mid. `accrued_at`: until when the fund's fee is paid.
    """

    cash_usdc_e6: int
    peak_usdc_e6: int
    accrued_at: datetime
    positions: Mapping[str, int] = field(default_factory=dict)
    max_drawdown_bps_e2: int = 0
    trades: int = 0
    fees_usdc_e6: int = 0
    impact_usdc_e6: int = 0
    fund_fees_usdc_e6: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PaperFill:
    """An order as it was filled on paper. `usdc_e6`: paid or got, without the fee; `impact_usdc_e6`:
    of it, what the mid would have spared.
    """

    side: str
    quantity_e18: int
    usdc_e6: int
    fee_usdc_e6: int
    impact_usdc_e6: int


def opened(at: datetime) -> PaperBook:
    return PaperBook(cash_usdc_e6=START_USDC_E6, peak_usdc_e6=START_USDC_E6, accrued_at=at)


def worth_usdc_e6(quantity_e18: int, price_e12: int) -> int:
    """Towards less: a long position is worth less, a short one costs more."""
    return quantity_e18 * price_e12 // _SCALE


def values(book: PaperBook, prices_e12: Mapping[str, int | None]) -> dict[str, int] | None:
    """By market what is held is worth; None: a price is not known."""
    found = dict[str, int]()
    for market, quantity in book.positions.items():
        price = prices_e12.get(market)
        if price is None:
            return None
        found[market] = worth_usdc_e6(quantity, price)
    return found


def nav_usdc_e6(book: PaperBook, prices_e12: Mapping[str, int | None]) -> int | None:
    """None: unknown."""
    found = values(book, prices_e12)
    return None if found is None else book.cash_usdc_e6 + sum(found.values())


def fill_of(
    book: PaperBook,
    market: str,
    order: PlannedOrder,
    mid_e12: int,
    *,
    is_spot: bool,
    least_usdc_e6: int,
) -> PaperFill | None:
    """The order at the mid and its impact; None: its impact is not known, or what a spot vault's
    cash pays for is below the least order.
    """
    if order.impact_bps_e2 is None or order.impact_bps_e2 >= BPS_E2_ONE:
        return None
    held = book.positions.get(market, 0)
    if order.side == "buy":
        notional = order.notional_usdc_e6
        if is_spot:
            notional = min(notional, book.cash_usdc_e6 * BPS_E2_ONE // (BPS_E2_ONE + TAKER_BPS_E2))
        is_too_small = notional < max(least_usdc_e6, 1) and not order.closes_whole
        return None if is_too_small else _bought(held, order, notional, mid_e12)
    return _sold(held, order, mid_e12)


def _bought(held: int, order: PlannedOrder, notional: int, mid_e12: int) -> PaperFill | None:
    assert order.impact_bps_e2 is not None, "its check came before"
    price = -(-mid_e12 * (BPS_E2_ONE + order.impact_bps_e2) // BPS_E2_ONE)
    quantity = notional * _SCALE // price
    paid = notional
    if held < 0 and order.closes_whole:
        quantity = -held
        paid = -worth_usdc_e6(held, price)
    if quantity == 0:
        return None
    at_mid = quantity * mid_e12 // _SCALE
    return PaperFill(
        side="buy",
        quantity_e18=quantity,
        usdc_e6=paid,
        fee_usdc_e6=_fee(paid),
        impact_usdc_e6=max(0, paid - at_mid),
    )


def _sold(held: int, order: PlannedOrder, mid_e12: int) -> PaperFill | None:
    assert order.impact_bps_e2 is not None, "its check came before"
    quantity = order.notional_usdc_e6 * _SCALE // mid_e12
    if held > 0 and order.closes_whole:
        quantity = held
    if quantity == 0:
        return None
    price = mid_e12 * (BPS_E2_ONE - order.impact_bps_e2) // BPS_E2_ONE
    got = quantity * price // _SCALE
    at_mid = -(-quantity * mid_e12 // _SCALE)
    return PaperFill(
        side="sell",
        quantity_e18=quantity,
        usdc_e6=got,
        fee_usdc_e6=_fee(got),
        impact_usdc_e6=max(0, at_mid - got),
    )


def filled(book: PaperBook, market: str, fill: PaperFill) -> PaperBook:
    sign = 1 if fill.side == "buy" else -1
    quantity = book.positions.get(market, 0) + sign * fill.quantity_e18
    positions = {**book.positions, market: quantity}
    return replace(
        book,
        cash_usdc_e6=book.cash_usdc_e6 - sign * fill.usdc_e6 - fill.fee_usdc_e6,
        positions={name: held for name, held in positions.items() if held},
        trades=book.trades + 1,
        fees_usdc_e6=book.fees_usdc_e6 + fill.fee_usdc_e6,
        impact_usdc_e6=book.impact_usdc_e6 + fill.impact_usdc_e6,
    )


def marked(book: PaperBook, nav_usdc_e6: int, fee_bps: int, at: datetime) -> tuple[PaperBook, int]:
    """The book with the fund's fee of the time since the last mark, its highest NAV and its largest
    drawdown; and the NAV after that fee. `fee_bps`: of the NAV, a year of 365 days.
    """
    fee = _fund_fee(nav_usdc_e6, fee_bps, at - book.accrued_at)
    nav = nav_usdc_e6 - fee
    peak = max(book.peak_usdc_e6, nav)
    return (
        replace(
            book,
            cash_usdc_e6=book.cash_usdc_e6 - fee,
            peak_usdc_e6=peak,
            accrued_at=at,
            max_drawdown_bps_e2=max(book.max_drawdown_bps_e2, drawdown_bps_e2(nav, peak)),
            fund_fees_usdc_e6=book.fund_fees_usdc_e6 + fee,
        ),
        nav,
    )


def drawdown_bps_e2(nav_usdc_e6: int, peak_usdc_e6: int) -> int:
    """Below the highest NAV, in hundredths of a basis point of it, rounded up."""
    return -(-(peak_usdc_e6 - nav_usdc_e6) * BPS_E2_ONE // peak_usdc_e6)


def return_bps_e2(nav_usdc_e6: int) -> int:
    """Since the start, rounded down."""
    return (nav_usdc_e6 - START_USDC_E6) * BPS_E2_ONE // START_USDC_E6


def _fee(usdc_e6: int) -> int:
    return -(-usdc_e6 * TAKER_BPS_E2 // BPS_E2_ONE)


def _fund_fee(nav_usdc_e6: int, fee_bps: int, passed: timedelta) -> int:
    if nav_usdc_e6 <= 0 or passed <= timedelta(0):
        return 0
    micros = passed // timedelta(microseconds=1)
    return -(-nav_usdc_e6 * fee_bps * micros // (_BPS_ONE * _YEAR_S * 10**6))

"""One signal, turned into an order of a follower's size (docs/fund.md#plans).

    paused -> superseded -> session -> leverage -> account -> grade -> minimum --> charge --> ready | capped
      refused    refused    deferred   refused     refused   refused   skipped

Laws
- The first check that fails decides, in this order, and its plan is free. A plan is charged last,
  and only for a live signal that its follower has not paid yet.
- Statistics of the market only gate and cap: what comes out is whole base units, rounded towards
  zero (docs/decisions/0034).
- An order that only reduces a position passes without a grade and without the caps that are made of
  one.
- What is free tells no market: of a live signal that is not paid a plan without an order says its
  reason, and nothing else of the market.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import Final

from core.fund.rules.frozen import LEVERAGE_E2_ONE, WEIGHT_E4_ONE
from core.fund.rules.impact import BookLadder, impact_bps_e2
from core.fund.rules.sessions import MarketSession, SessionState

DEPTH_SHARE: Final = 10  # an order takes a tenth of the depth within 2 % at most
VOLUME_SHARE: Final = 100  # and a hundredth of a day's volume
GRADE_PERCENT: Final[Mapping[str, int]] = {"A": 100, "B": 75, "C": 50, "D": 20, "F": 0}
PROVISIONAL_SHARE: Final = 2  # half of that while a grade is provisional


class Disposition(StrEnum):
    READY = "ready"
    CAPPED = "capped"
    SKIPPED = "skipped"
    DEFERRED = "deferred"
    REFUSED = "refused"


class PlanReason(StrEnum):
    """Why there is no order."""

    VAULT_PAUSED = "vault_paused"
    SIGNAL_SUPERSEDED = "signal_superseded"
    SESSION_CLOSED = "session_closed"
    SESSION_UNKNOWN = "session_unknown"
    LEVERAGE_ABOVE_CONSENT = "leverage_above_consent"
    ACCOUNT_UNKNOWN = "account_unknown"
    GRADE_UNKNOWN = "grade_unknown"
    GRADE_F = "grade_f"
    MARKET_UNMEASURED = "market_unmeasured"
    AT_TARGET = "at_target"
    ORDER_TOO_SMALL = "order_too_small"


class CapReason(StrEnum):
    """What bounds an order."""

    MAX_ORDER = "max_order"  # of the consent
    LEVERAGE = "leverage"  # of the consent, with what the account holds
    LIQUIDITY = "liquidity"  # of the market
    BOOK = "book"  # what its last book holds within 2 %


@dataclass(frozen=True, slots=True)
class FollowerAccount:
    """What an account is worth, and the notional of what it holds by market; negative: short."""

    nav_usdc_e6: int
    positions: Mapping[str, int]

    @property
    def gross_usdc_e6(self) -> int:
        return sum(map(abs, self.positions.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class MarketSnapshot:
    """What is known of a market, exact: rounded where floats ended (core/fund/snapshots.py). None:
    unknown. `mid`: in the quote currency. `least_order_usdc_e6`: the venue's, 0 where it has none.
    """

    grade: str | None = None
    is_provisional: bool = True
    depth_usdc_e6: int | None = None
    volume_usdc_e6: int | None = None
    sigma_bps_e2: int | None = None
    buys: BookLadder | None = None
    sells: BookLadder | None = None
    mid: Decimal | None = None
    least_order_usdc_e6: int | None = 0

    @property
    def is_measured(self) -> bool:
        known = (
            self.depth_usdc_e6,
            self.volume_usdc_e6,
            self.sigma_bps_e2,
            self.buys,
            self.sells,
            self.least_order_usdc_e6,
        )
        return None not in known and self.volume_usdc_e6 != 0

    @property
    def liquidity_cap_usdc_e6(self) -> int | None:
        """What one order may take; None: unknown."""
        if self.grade is None or self.depth_usdc_e6 is None or self.volume_usdc_e6 is None:
            return None
        most = min(self.depth_usdc_e6 // DEPTH_SHARE, self.volume_usdc_e6 // VOLUME_SHARE)
        most = most * GRADE_PERCENT[self.grade] // 100
        return most // PROVISIONAL_SHARE if self.is_provisional else most


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalFacts:
    """All that decides. `is_paid`: this follower paid for this signal before."""

    market: str
    weight_e4: int
    leverage_e2: int
    is_live: bool
    is_paid: bool
    is_paused: bool
    is_superseded: bool
    session: MarketSession
    max_order_usdc_e6: int
    max_leverage_e2: int
    least_order_usdc_e6: int
    account: FollowerAccount | None
    snapshot: MarketSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOrder:
    """`notional_usdc_e6`: above 0, what is to be traded; `wanted_usdc_e6`: before the caps."""

    side: str
    is_reduce_only: bool
    target_usdc_e6: int
    position_usdc_e6: int
    wanted_usdc_e6: int
    notional_usdc_e6: int
    capped_by: CapReason | None
    impact_bps_e2: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalPlan:
    """`order` None: nothing is to be done, `reason` says why. `is_charged`: it costs, if anything
    does.
    """

    disposition: Disposition
    reason: PlanReason | None = None
    retry_at: datetime | None = None
    order: PlannedOrder | None = None
    is_charged: bool = False


def plan(facts: SignalFacts) -> SignalPlan:
    return gate(facts) or _account(facts) or _order(facts, _delta(facts), _known(facts))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldMarket:
    """What a plan shows of its signal's market."""

    grade: str | None
    is_provisional: bool
    session: MarketSession


def told_market(facts: SignalFacts, made: SignalPlan) -> ToldMarket:
    """All that is known, where the signal is paid with the plan, or before, or free; else no more than
    the plan's reason says.
    """
    shown = facts.snapshot
    if made.order is not None or facts.is_paid or not facts.is_live:
        return ToldMarket(
            grade=shown.grade, is_provisional=shown.is_provisional, session=facts.session
        )
    is_f = made.reason is PlanReason.GRADE_F
    session = MarketSession(SessionState.OPEN)
    if made.reason in (PlanReason.VAULT_PAUSED, PlanReason.SIGNAL_SUPERSEDED):
        session = MarketSession(SessionState.UNKNOWN)
    elif facts.session.state is not SessionState.OPEN:
        session = facts.session
    return ToldMarket(grade="F" if is_f else None, is_provisional=True, session=session)


def target_usdc_e6(nav_usdc_e6: int, weight_e4: int, leverage_e2: int) -> int:
    """weight * leverage * NAV, towards zero. The weight is before leverage."""
    exact = nav_usdc_e6 * weight_e4 * leverage_e2
    whole = abs(exact) // (WEIGHT_E4_ONE * LEVERAGE_E2_ONE)
    return whole if exact >= 0 else -whole


@dataclass(frozen=True, slots=True)
class _Delta:
    target: int
    position: int

    @property
    def amount(self) -> int:
        return self.target - self.position

    @property
    def is_reduction(self) -> bool:
        """It brings a position closer to nothing, and not past it."""
        same_side = self.target == 0 or (self.target > 0) == (self.position > 0)
        return self.position != 0 and same_side and abs(self.target) < abs(self.position)


def _refused(reason: PlanReason) -> SignalPlan:
    return SignalPlan(disposition=Disposition.REFUSED, reason=reason)


def _skipped(reason: PlanReason) -> SignalPlan:
    return SignalPlan(disposition=Disposition.SKIPPED, reason=reason)


def gate(facts: SignalFacts) -> SignalPlan | None:
    """The checks that need neither the account nor the market; None: they pass."""
    if facts.is_paused:
        return _refused(PlanReason.VAULT_PAUSED)
    if facts.is_live and facts.is_superseded:
        return _refused(PlanReason.SIGNAL_SUPERSEDED)
    if facts.session.state is SessionState.CLOSED:
        return SignalPlan(
            disposition=Disposition.DEFERRED,
            reason=PlanReason.SESSION_CLOSED,
            retry_at=facts.session.next_open,
        )
    if facts.session.state is SessionState.UNKNOWN:
        return _refused(PlanReason.SESSION_UNKNOWN)
    if facts.leverage_e2 > facts.max_leverage_e2:
        return _refused(PlanReason.LEVERAGE_ABOVE_CONSENT)
    return None


def _account(facts: SignalFacts) -> SignalPlan | None:
    if facts.account is None:
        return _refused(PlanReason.ACCOUNT_UNKNOWN)
    delta, snapshot = _delta(facts), facts.snapshot
    if delta.is_reduction or delta.amount == 0:
        return _skipped(PlanReason.AT_TARGET) if delta.amount == 0 else None
    if snapshot.grade is None:
        return _refused(PlanReason.GRADE_UNKNOWN)
    if snapshot.grade == "F":
        return _refused(PlanReason.GRADE_F)
    return None if snapshot.is_measured else _refused(PlanReason.MARKET_UNMEASURED)


def _known(facts: SignalFacts) -> FollowerAccount:
    assert facts.account is not None, "its check came before"
    return facts.account


def _delta(facts: SignalFacts) -> _Delta:
    account = _known(facts)
    target = target_usdc_e6(account.nav_usdc_e6, facts.weight_e4, facts.leverage_e2)
    return _Delta(target, account.positions.get(facts.market, 0))


def _order(facts: SignalFacts, delta: _Delta, account: FollowerAccount) -> SignalPlan:
    wanted, side = abs(delta.amount), "buy" if delta.amount > 0 else "sell"
    ladder = facts.snapshot.buys if delta.amount > 0 else facts.snapshot.sells
    caps = _caps(facts, delta, account, ladder)
    bound = min(caps, key=lambda cap: caps[cap])
    notional = min(wanted, caps[bound])
    snapshot = facts.snapshot
    if notional < max(facts.least_order_usdc_e6, snapshot.least_order_usdc_e6 or 0, 1):
        return _skipped(PlanReason.ORDER_TOO_SMALL)
    order = PlannedOrder(
        side=side,
        is_reduce_only=delta.is_reduction,
        target_usdc_e6=delta.target,
        position_usdc_e6=delta.position,
        wanted_usdc_e6=wanted,
        notional_usdc_e6=notional,
        capped_by=bound if notional < wanted else None,
        impact_bps_e2=impact_bps_e2(
            ladder, notional, snapshot.volume_usdc_e6, snapshot.sigma_bps_e2
        ),
    )
    return SignalPlan(
        disposition=Disposition.CAPPED if notional < wanted else Disposition.READY,
        order=order,
        is_charged=facts.is_live and not facts.is_paid,
    )


def _caps(
    facts: SignalFacts, delta: _Delta, account: FollowerAccount, ladder: BookLadder | None
) -> dict[CapReason, int]:
    caps = {CapReason.MAX_ORDER: facts.max_order_usdc_e6}
    if delta.is_reduction:
        return caps
    liquidity = facts.snapshot.liquidity_cap_usdc_e6
    assert liquidity is not None, "its check came before"
    assert ladder is not None, "its check came before"
    return caps | {
        CapReason.LEVERAGE: _room(account, delta, facts.max_leverage_e2),
        CapReason.LIQUIDITY: liquidity,
        CapReason.BOOK: ladder.total_usdc_e6,
    }


def _room(account: FollowerAccount, delta: _Delta, max_leverage_e2: int) -> int:
    """What an order may be that increases: what other markets leave of the leverage, less what is held
    on its side; what is held on the other side is closed first, and takes nothing of it.
    """
    others = account.gross_usdc_e6 - abs(delta.position)
    free = max(account.nav_usdc_e6 * max_leverage_e2 // LEVERAGE_E2_ONE - others, 0)
    held = delta.position if delta.amount > 0 else -delta.position
    return max(free - held, 0)

"""One signal, turned into an order of a follower's size (docs/fund.md#plans).

    paused -> superseded -> session -> account -> grade --> charge --> leverage -> at target -> minimum --> ready | capped
      refused    refused    deferred   refused    refused              refused     skipped      skipped

Laws
- The first check that fails decides, in this order. Before the charge a plan is free; it is charged
  once, for a live signal that its follower has not paid yet, whatever comes after.
- What is free is the same for every weight and leverage of the signal, so that nobody reads them by
  asking again with other consents and positions (docs/decisions/0057). So a grade refuses free only
  where the account holds nothing of the market: whether an order opens is paid for.
- Statistics of the market only gate and cap: what comes out is whole base units, rounded towards
  zero (docs/decisions/0034).
- There is a way out of every position: what only reduces one passes without a grade, at any leverage
  and without caps but the consent's largest order, also as the closing half of an order through
  nothing; and the close of what is left passes below the minimum, as venues take it (reduce-only).
- What is free leaks no market: it says its reason, and nothing else of the market.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    """Why there is no order, or only one that closes."""

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
    """What limits the size of an order."""

    MAX_ORDER = "max_order"  # of the consent
    LEVERAGE = "leverage"  # of the consent, with what the account holds
    LIQUIDITY = "liquidity"  # of the market
    BOOK = "book"  # what its last book holds within 2 %
    OPENING_REFUSED = "opening_refused"  # the order only closes


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
    """All that decides. `is_paid`: this follower paid for this signal before. `account` None: unknown,
    or not asked yet.
    """

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

    @property
    def is_due(self) -> bool:
        """What is not free costs this follower something."""
        return self.is_live and not self.is_paid


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedOrder:
    """`notional_usdc_e6`: above 0, what is to be traded; `wanted_usdc_e6`: before the caps.
    `opening_refused`: why only the closing half of an order through nothing is planned.
    """

    side: str
    is_reduce_only: bool
    target_usdc_e6: int
    position_usdc_e6: int
    wanted_usdc_e6: int
    notional_usdc_e6: int
    capped_by: CapReason | None
    impact_bps_e2: int | None
    opening_refused: PlanReason | None = None

    @property
    def closes_whole(self) -> bool:
        """Nothing is left of the position, not even what roundings leave."""
        return self.is_reduce_only and self.notional_usdc_e6 == abs(self.position_usdc_e6)


@dataclass(frozen=True, slots=True, kw_only=True)
class SignalPlan:
    """`order` None: nothing is to be done, `reason` says why. `is_charged`: the signal is paid with
    it.
    """

    disposition: Disposition
    reason: PlanReason | None = None
    retry_at: datetime | None = None
    order: PlannedOrder | None = None
    is_charged: bool = False


def plan(facts: SignalFacts) -> SignalPlan:
    return free_plan(facts) or paid_plan(facts)


def free_plan(facts: SignalFacts) -> SignalPlan | None:
    """What is shown without a charge; None: the rest depends on the signal's weight and leverage."""
    free = gate(facts)
    if free is not None or facts.account is None:
        return free or _refused(PlanReason.ACCOUNT_UNKNOWN)
    ungraded = _grade_refused(facts)  # looked at in any case: its time leaks no market that is held
    if ungraded and facts.is_due and not facts.account.positions.get(facts.market, 0):
        return _refused(ungraded)
    return None


def paid_plan(facts: SignalFacts) -> SignalPlan:
    """The plan where `free_plan` has none. Whoever cannot pay for it is refused before it is made: how
    long that takes would leak it.
    """
    assert facts.account is not None, "its check came before"
    return replace(_of_account(facts, facts.account), is_charged=facts.is_due)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownMarket:
    """What a plan shows of its signal's market."""

    grade: str | None
    is_provisional: bool
    session: MarketSession


def shown_market(facts: SignalFacts, made: SignalPlan) -> ShownMarket:
    """All that is known, where the signal is paid with the plan, or before, or free; else no more than
    the plan's reason says.
    """
    shown = facts.snapshot
    if made.is_charged or facts.is_paid or not facts.is_live:
        return ShownMarket(
            grade=shown.grade, is_provisional=shown.is_provisional, session=facts.session
        )
    is_f = made.reason is PlanReason.GRADE_F
    session = MarketSession(SessionState.OPEN)
    if made.reason in (PlanReason.VAULT_PAUSED, PlanReason.SIGNAL_SUPERSEDED):
        session = MarketSession(SessionState.UNKNOWN)
    elif facts.session.state is not SessionState.OPEN:
        session = facts.session
    return ShownMarket(grade="F" if is_f else None, is_provisional=True, session=session)


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
    def closing(self) -> int:
        """How much of the amount brings the position closer to nothing."""
        is_opposite = (self.amount > 0) is (self.position < 0)
        return min(abs(self.amount), abs(self.position)) if is_opposite else 0


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
    return None


def _of_account(facts: SignalFacts, account: FollowerAccount) -> SignalPlan:
    target = target_usdc_e6(account.nav_usdc_e6, facts.weight_e4, facts.leverage_e2)
    delta = _Delta(target, account.positions.get(facts.market, 0))
    if delta.amount == 0:
        above = _above_consent(facts)
        return _refused(above) if above else _skipped(PlanReason.AT_TARGET)
    opens = delta.closing < abs(delta.amount)
    refused = _opening_refused(facts) if opens else None
    if refused is not None and delta.closing == 0:
        return _refused(refused)
    return _order(facts, delta, account, refused)


def _above_consent(facts: SignalFacts) -> PlanReason | None:
    is_above = facts.leverage_e2 > facts.max_leverage_e2
    return PlanReason.LEVERAGE_ABOVE_CONSENT if is_above else None


def _opening_refused(facts: SignalFacts) -> PlanReason | None:
    """Why an order may open nothing; None: it may."""
    return _above_consent(facts) or _grade_refused(facts)


def _grade_refused(facts: SignalFacts) -> PlanReason | None:
    snapshot = facts.snapshot
    if snapshot.grade is None:
        return PlanReason.GRADE_UNKNOWN
    if snapshot.grade == "F":
        return PlanReason.GRADE_F
    return None if snapshot.is_measured else PlanReason.MARKET_UNMEASURED


def _order(
    facts: SignalFacts, delta: _Delta, account: FollowerAccount, refused: PlanReason | None
) -> SignalPlan:
    wanted, snapshot = abs(delta.amount), facts.snapshot
    ladder = snapshot.buys if delta.amount > 0 else snapshot.sells
    caps = {CapReason.MAX_ORDER: facts.max_order_usdc_e6}
    if refused is not None:
        caps[CapReason.OPENING_REFUSED] = delta.closing
    elif delta.closing < wanted:
        caps |= _opening_caps(facts, delta, account, ladder)
    bound = min(caps, key=lambda cap: caps[cap])
    notional = min(wanted, caps[bound])
    order = PlannedOrder(
        side="buy" if delta.amount > 0 else "sell",
        is_reduce_only=0 < notional <= delta.closing,
        target_usdc_e6=delta.target,
        position_usdc_e6=delta.position,
        wanted_usdc_e6=wanted,
        notional_usdc_e6=notional,
        capped_by=bound if notional < wanted else None,
        impact_bps_e2=impact_bps_e2(
            ladder, notional, snapshot.volume_usdc_e6, snapshot.sigma_bps_e2
        ),
        opening_refused=refused,
    )
    least = max(facts.least_order_usdc_e6, snapshot.least_order_usdc_e6 or 0, 1)
    if notional < least and not order.closes_whole:
        return _skipped(PlanReason.ORDER_TOO_SMALL)
    return SignalPlan(
        disposition=Disposition.CAPPED if notional < wanted else Disposition.READY,
        order=order,
    )


def _opening_caps(
    facts: SignalFacts, delta: _Delta, account: FollowerAccount, ladder: BookLadder | None
) -> dict[CapReason, int]:
    """None of them is below what only closes."""
    liquidity = facts.snapshot.liquidity_cap_usdc_e6
    assert liquidity is not None, "its check came before"
    assert ladder is not None, "its check came before"
    caps = {
        CapReason.LEVERAGE: _room(account, delta, facts.max_leverage_e2),
        CapReason.LIQUIDITY: liquidity,
        CapReason.BOOK: ladder.total_usdc_e6,
    }
    return {cap: max(most, delta.closing) for cap, most in caps.items()}


def _room(account: FollowerAccount, delta: _Delta, max_leverage_e2: int) -> int:
    """What an order may be that increases: what other markets leave of the leverage, less what is held
    on its side; what is held on the other side is closed first, and takes nothing of it.
    """
    others = account.gross_usdc_e6 - abs(delta.position)
    free = max(account.nav_usdc_e6 * max_leverage_e2 // LEVERAGE_E2_ONE - others, 0)
    held = delta.position if delta.amount > 0 else -delta.position
    return max(free - held, 0)

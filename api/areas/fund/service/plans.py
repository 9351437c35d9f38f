"""A plan: one signal as an order of the follower's size. Nothing is ever placed.

consent, its rules --> what is free --> can it be paid? --> plan (core/fund/rules/plan.py) --> paid, last --> kept

Law: whoever cannot pay is refused before the plan is made. Its refusal takes as long whatever the
signal says.
"""

from dataclasses import replace
from typing import Any, Final

from api.areas.fund.schemas import OrderShown, PlanShown, PlanSignal
from api.areas.fund.service import signals
from api.areas.fund.service.mirrors import consent_missing, require_address, rules_changed
from api.areas.fund.service.shown import no_signal, session_of, shown_session
from api.kernel.caller import AgentCaller
from api.kernel.operation import Answer, NextCall, Refusal, WriteCall
from api.kernel.refusals import next_items
from api.payments.metering import not_enough, require_spend
from api.payments.offer import CREDITS
from core.credits.ledger import writer as credit_ledger
from core.credits.rules.buckets import NotEnoughCreditsError
from core.credits.rules.prices import PRICES
from core.errors import InvalidParameterError
from core.fund import planning
from core.fund import queries as fund
from core.fund.accounts import FundSetup
from core.fund.planning import PlanRow, SignalPlace, StandingConsent
from core.fund.rules.frozen import bps_text
from core.fund.rules.plan import (
    MarketSnapshot,
    PlannedOrder,
    PlanReason,
    SignalFacts,
    SignalPlan,
    free_plan,
    gate,
    paid_plan,
    shown_market,
)
from core.fund.rules.signals import decimal_text, is_live
from core.fund.snapshots import known
from core.hexes import hex_of
from core.money import usdc_text
from core.times import instant_text_or_none

PRICE: Final = "live_signal_plan"
DUE: Final = PRICES[PRICE].credits or 0

# What each reason is about: the field, its rule, who can fix it, the call that helps.
SAYS: Final[dict[PlanReason, tuple[str, str, str, str]]] = {
    PlanReason.VAULT_PAUSED: (
        "vault_id",
        "mirroring is paused by the service's operators",
        "service",
        "fund.vault",
    ),
    PlanReason.SIGNAL_SUPERSEDED: (
        "signal_id",
        "a later signal of this vault and market is there; plan that one",
        "caller",
        "fund.live",
    ),
    PlanReason.SESSION_CLOSED: (
        "market",
        "it trades in sessions, and none is open; plan again from retry_at on",
        "caller",
        "fund.liquidity",
    ),
    PlanReason.SESSION_UNKNOWN: (
        "market",
        "its calendar does not reach this time, and sessions are not guessed",
        "service",
        "fund.liquidity",
    ),
    PlanReason.LEVERAGE_ABOVE_CONSENT: (
        "max_leverage",
        "the signal's leverage is above that of your consent",
        "caller",
        "fund.vault",
    ),
    PlanReason.ACCOUNT_UNKNOWN: (
        "account_address",
        "what this account holds is not known here",
        "service",
        "fund.vault",
    ),
    PlanReason.GRADE_UNKNOWN: (
        "grade",
        "an order that increases needs a market with a grade",
        "service",
        "fund.liquidity",
    ),
    PlanReason.GRADE_F: (
        "grade",
        "an order that increases needs a market of grade D or better",
        "service",
        "fund.liquidity",
    ),
    PlanReason.MARKET_UNMEASURED: (
        "market",
        "its book, volume or volatility is not known now",
        "service",
        "fund.liquidity",
    ),
    PlanReason.AT_TARGET: (
        "account_address",
        "the account holds what the signal says",
        "caller",
        "fund.vault",
    ),
    PlanReason.ORDER_TOO_SMALL: (
        "capped_notional_usd",
        "the order is below the market's minimum, and does not close the whole position",
        "caller",
        "fund.liquidity",
    ),
}


def make(call: WriteCall, caller: AgentCaller, command: PlanSignal) -> Answer[PlanShown]:
    """Errors: InvalidParameterError; Refusal not_found, consent_missing, rules_changed,
    credit_insufficient, agent_key_scope; OutsideError.
    """
    with call.runs() as db:
        found = planning.place_of(db, call.db, caller.account_id, command.id, call.now)
    place = found or no_signal(command.id)
    consent = _consent(place, command.account_address)
    facts = _facts(call, place, consent, known(place.liquidity, call.now))
    made = gate(facts)
    if made is None:
        account = call.deps.parts.of(FundSetup).accounts.read(command.account_address)
        facts = replace(facts, account=account)
        made = free_plan(facts)
    if made is None:
        if facts.is_due:
            _require_funds(call, caller, place)
        made = paid_plan(facts)
    row = PlanRow(
        account_id=caller.account_id,
        place=place,
        consent=consent,
        made=made,
        mid=facts.snapshot.mid,
        now=call.now,
    )
    shown = _shown(call, place, facts, made, DUE if made.is_charged else 0)
    if made.is_charged:
        charged = _charge(call, caller, row)
        return Answer(shown if charged == DUE else _shown(call, place, facts, made, charged))
    with call.runs() as db:
        planning.record_plan(db, row)
    return Answer(shown)


def _consent(place: SignalPlace, address: str) -> StandingConsent:
    """It names this very account. Errors: InvalidParameterError; Refusal consent_missing,
    rules_changed.
    """
    consent = place.consent
    if consent is None:
        raise consent_missing(place.vault_id)
    if consent.rules_hash != place.rules_hash:
        raise rules_changed(place.vault_id, place.rules_hash)
    require_address(consent.address, address)
    return consent


def _facts(
    call: WriteCall,
    place: SignalPlace,
    consent: StandingConsent,
    snapshot: MarketSnapshot,
) -> SignalFacts:
    """Without the account, which is asked last. Errors: InvalidParameterError for a market that the
    rules have no more.
    """
    market = place.rules.market(place.market)
    if market is None:
        raise InvalidParameterError(
            "signal_id", "the vault's rules have this signal's market no more; plan a later signal"
        )
    return SignalFacts(
        market=place.market,
        weight_e4=place.weight_e4,
        leverage_e2=place.leverage_e2,
        is_live=is_live(place.at, call.now),
        is_paid=place.is_paid,
        is_paused=place.is_paused,
        is_superseded=place.is_superseded,
        session=session_of(market.session, call),
        max_order_usdc_e6=consent.max_order_usdc_e6,
        max_leverage_e2=consent.max_leverage_e2,
        least_order_usdc_e6=market.least_order_usdc_e6,
        account=None,
        snapshot=snapshot,
    )


def _require_funds(call: WriteCall, caller: AgentCaller, place: SignalPlace) -> None:
    """Errors: Refusal credit_insufficient, agent_key_scope."""
    require_spend(caller)
    if place.credits < DUE:
        raise _cannot_pay(call, caller, place.seq, NotEnoughCreditsError(DUE, place.credits))


def _charge(call: WriteCall, caller: AgentCaller, row: PlanRow) -> int:
    """The plan is recorded with the credits that it took: none where the signal was paid meanwhile.

    Errors: Refusal credit_insufficient, where they were spent meanwhile; it undoes it.
    """
    seq = row.place.seq
    said, key = {"price": PRICE, "signal": seq}, fund.sale_key(seq)
    if not planning.sell_plan(call.db, row, CREDITS, PRICE):
        return 0
    try:
        credit_ledger.spend(call.db, caller.account_id, DUE, key, said, call.now)
    except NotEnoughCreditsError as error:
        raise _cannot_pay(call, caller, seq, error) from error
    return DUE


def _cannot_pay(
    call: WriteCall, caller: AgentCaller, seq: int, error: NotEnoughCreditsError
) -> Refusal:
    """The 402 of the signal's read, which USDC pays for too; its plan is free then."""
    refusal = not_enough(signals.metered(call, caller, seq), error.needed, error.available)
    refusal.next_calls = (
        NextCall(signals.READ, {"signal_id": str(seq)}),
        "tasks.browse",
        "credits.balance",
    )
    return refusal


def _shown(
    call: WriteCall, place: SignalPlace, facts: SignalFacts, made: SignalPlan, charged: int
) -> PlanShown:
    order, account, market = made.order, facts.account, shown_market(facts, made)
    impact = None if order is None else order.impact_bps_e2
    reason = made.reason if order is None else order.opening_refused
    block = {} if reason is None else {"service": _block(call, place, made, reason)}
    return PlanShown(
        signal_id=place.seq,
        vault_id=place.vault_id,
        disposition=made.disposition,
        reason=reason,
        retry_at=instant_text_or_none(made.retry_at),
        grade=market.grade,
        provisional=market.is_provisional,
        session=shown_session(market.session),
        capped_notional_usd=None if order is None else usdc_text(order.notional_usdc_e6),
        impact_bps=None if impact is None else bps_text(impact),
        charged=charged > 0,
        charged_credits=charged,
        historical=not facts.is_live,
        order=None if order is None else _order(order, facts.snapshot),
        nav_usd=None if account is None else usdc_text(account.nav_usdc_e6),
        rules_hash=hex_of(place.rules_hash),
        **block,
    )


def _order(order: PlannedOrder, snapshot: MarketSnapshot) -> OrderShown:
    return OrderShown(
        side=order.side,
        reduce_only=order.is_reduce_only,
        target_notional_usd=usdc_text(order.target_usdc_e6),
        position_notional_usd=usdc_text(order.position_usdc_e6),
        wanted_notional_usd=usdc_text(order.wanted_usdc_e6),
        capped_notional_usd=usdc_text(order.notional_usdc_e6),
        capped_by=order.capped_by,
        reference_price=None if snapshot.mid is None else decimal_text(snapshot.mid),
    )


def _block(
    call: WriteCall, place: SignalPlace, made: SignalPlan, reason: PlanReason
) -> dict[str, Any]:
    field, rule, who_fixes, helps = SAYS[reason]
    calls = (NextCall(helps, {"id": str(place.vault_id)}),)
    return {
        "reason": reason.value,
        "field": field,
        "rule": rule,
        "retry_safe": made.retry_at is not None,
        "who_fixes": who_fixes,
        "retry_at": instant_text_or_none(made.retry_at),
        "next": next_items(calls, {}, call.deps.catalogue),
    }

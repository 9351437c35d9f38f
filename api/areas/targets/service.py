"""Subscribers choose pairs that are scanned each minute (docs/subscriptions.md#targets)."""

from typing import Any

from api.areas.safety.checks import require_unlocked
from api.areas.targets.schemas import (
    AddedTarget,
    AddTarget,
    RemovedTarget,
    TargetEntry,
    TargetList,
    TargetPair,
    TargetScanned,
)
from api.kernel.caller import AgentCaller
from api.kernel.operation import Answer, Call, NextCall, NoInput, Refusal, WriteCall
from api.kernel.refusals import call_items
from api.shared.pairs import listing_of
from api.shared.tiers import require_tier
from core.listings.rules import Symbol, symbol_in_body
from core.listings.tables import ExchangeListing
from core.subscriptions.queries import tier_of
from core.subscriptions.rules import Tier
from core.targets import queries, views
from core.targets.limits import target_limits
from core.targets.rules import TargetState
from core.targets.views import ShownTarget

WHAT, CAPTURES = "A priority target", "microburst_hf_captures above 0"


def add(call: WriteCall, caller: AgentCaller, command: AddTarget) -> Answer[AddedTarget]:
    """Errors: InvalidParameterError; Refusal not_found, account_locked, tier_required,
    target_limit.
    """
    listing = listing_of(call, command.exchange, symbol_in_body("symbol", command.symbol))
    require_unlocked(call, caller.account_id)  # and its targets are added one after the other
    tier = require_tier(call, caller, Tier.TIER_1, WHAT)
    if command.microburst_hf_captures:
        tier = require_tier(call, caller, Tier.TIER_2, CAPTURES)
    captures = _put(call, caller, listing, command.microburst_hf_captures, tier)
    symbol = Symbol(listing.base, listing.quote)
    limits = target_limits(call.deps.limits)
    is_active = listing.id in views.active_of(call.db, caller.account_id, call.now, limits)
    return Answer(
        AddedTarget(
            ok=True,
            exchange=listing.exchange,
            symbol=symbol.in_body,
            token_id=listing.token_id,
            priority_pool=is_active,
            microburst_hf_captures=captures,
            message=_message(listing, symbol, is_active),
            next_steps=_next_steps(call, listing.exchange, symbol),
            **_simulated(listing.is_simulated),
        )
    )


def _put(
    call: WriteCall, caller: AgentCaller, listing: ExchangeListing, captures: int | None, tier: Tier
) -> int:
    """The captures a day that the target has now. Errors: Refusal target_limit."""
    found = queries.find_target(call.db, caller.account_id, listing.id)
    if found is not None:
        if captures is None:
            return found.microburst_hf_captures
        queries.set_captures(call.db, found.id, captures)
        return captures
    most = target_limits(call.deps.limits).most(tier)
    if queries.count_targets(call.db, caller.account_id) >= most:
        raise Refusal(
            "target_limit",
            f"You already have {most} priority targets, the limit on {tier.says}; remove one "
            "first" + ("." if tier is Tier.TIER_2 else ", or upgrade."),
            remaining={"targets": 0},
            next_calls=("targets.list", "subscriptions.preview"),
        )
    queries.add_target(call.db, caller.account_id, listing.id, captures or 0, call.now)
    return captures or 0


def remove(call: WriteCall, caller: AgentCaller, command: TargetPair) -> Answer[RemovedTarget]:
    """Errors: InvalidParameterError; Refusal not_found."""
    listing = listing_of(call, command.exchange, symbol_in_body("symbol", command.symbol))
    symbol = Symbol(listing.base, listing.quote).in_body
    if not queries.remove_target(call.db, caller.account_id, listing.id):
        raise Refusal(
            "not_found",
            f"{symbol} at {listing.exchange} is not a priority target of yours.",
            next_calls=("targets.list",),
        )
    return Answer(
        RemovedTarget(
            ok=True,
            exchange=listing.exchange,
            symbol=symbol,
            message=f"{symbol} at {listing.exchange} is no longer a priority target of yours.",
        )
    )


def own(call: Call, caller: AgentCaller, command: NoInput) -> Answer[TargetList]:
    limits = target_limits(call.deps.limits)
    found = views.targets_of(call.db, caller.account_id, call.now, limits)
    return Answer(
        TargetList(
            targets=[_entry(one) for one in found],
            active=sum(one.state is TargetState.ACTIVE for one in found),
            limit=limits.most(tier_of(call.db, caller.account_id, call.now)),
        )
    )


def _entry(one: ShownTarget) -> TargetEntry:
    outlook = "clear" if one.outlook is None else one.outlook.value
    return TargetEntry.of(
        one,
        symbol=Symbol(one.base, one.quote).in_body,
        captures_used_today=one.captures_used,
        scan=None if one.scanned is None else TargetScanned.of(one.scanned, outlook=outlook),
        **_simulated(one.is_simulated),
    )


def _message(listing: ExchangeListing, symbol: Symbol, is_active: bool) -> str:
    if is_active:
        return f"{symbol.in_body} at {listing.exchange} is scanned each minute from now on."
    return (
        f"{symbol.in_body} at {listing.exchange} is paused: your tier has room for fewer targets."
    )


def _next_steps(call: Call, exchange: str, symbol: Symbol) -> list[dict[str, Any]]:
    """The research read, the report's order, the list."""
    steps = (
        NextCall("research.read", ids={"exchange": exchange, "symbol": symbol.in_path}),
        NextCall("reports.order", body={"exchange": exchange, "symbol": symbol.in_body}),
        "targets.list",
    )
    return call_items(steps, {}, call.deps.catalogue)


def _simulated(is_simulated: bool) -> dict[str, Any]:
    return {"simulated": True} if is_simulated else {}

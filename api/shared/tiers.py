"""What a subscription is needed for (docs/subscriptions.md#what-needs-a-tier)."""

from api.kernel.caller import AgentCaller
from api.kernel.limits import Limits
from api.kernel.operation import Call, NextCall, Refusal
from core.subscriptions.queries import held_of
from core.subscriptions.rules import Tier, quote


def most_reports(tier: Tier, limits: Limits) -> int:
    """PDF reports of a UTC day."""
    most = {Tier.FREE: 0, Tier.TIER_1: limits.reports_tier_1, Tier.TIER_2: limits.reports_tier_2}
    return most[tier]


def require_tier(call: Call, caller: AgentCaller, needed: Tier, what: str) -> Tier:
    """The account's tier. `what`: the subject of the refused sentence, such as `A priority target`.

    Errors: Refusal tier_required below `needed`, with what a month of it costs this account.
    """
    held = held_of(call.db, caller.account_id)
    has = held.tier_at(call.now)
    if has >= needed:
        return has
    order = {"tier": needed.value, "months": 1}
    cost = quote(held, needed, 1, call.now).price_credits
    raise Refusal(
        "tier_required",
        f"{what} needs a {needed.says} subscription; you have {has.says}.",
        missing=needed.word,
        next_calls=(
            NextCall("subscriptions.preview", body=order),
            NextCall("subscriptions.subscribe", body=order, cost=cost),
            "subscriptions.account",
        ),
    )

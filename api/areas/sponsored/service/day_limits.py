"""What an account may have the sponsor pay for in a UTC day."""

from datetime import timedelta

from api.areas.sponsored.service.next_calls import OWN_GAS, quoted_again, state_of_buy
from api.kernel.caller import AgentCaller
from api.kernel.operation import Call, Refusal
from core.keeper import gas
from core.sponsored import queries, sending
from core.sponsored.queries import SponsoredBuy
from core.sponsored.rules import BUYS_A_DAY, FAILURES_A_DAY
from core.times import instant_text, next_day, start_of_day

SOON = timedelta(minutes=1)  # by then gas that is kept for other buys may be given back


def require_place_today(call: Call, caller: AgentCaller, found: SponsoredBuy) -> None:
    """Errors: Refusal rate_limited."""
    today, tomorrow = start_of_day(call.now), next_day(call.now)
    taken = queries.accepted_since(call.db, caller.account_id, today)
    if taken >= BUYS_A_DAY:
        raise Refusal(
            "rate_limited",
            f"id: this account has handed in {BUYS_A_DAY} sponsored buys today, the most of a UTC day. "
            f"Prepare another from {instant_text(tomorrow)} on, or buy with your own gas. Nothing was "
            "sent.",
            retry_at=tomorrow,
            next_calls=(quoted_again(found), OWN_GAS),
        )
    failed = sending.failed_since(call.db, caller.account_id, today)
    if failed >= FAILURES_A_DAY:
        raise Refusal(
            "rate_limited",
            f"id: {failed} transactions for this account's sponsored buys failed on chain today, which "
            f"the service paid for; {FAILURES_A_DAY} are the most of a UTC day. Cancel no authorization "
            f"and spend no pledged money. Prepare another from {instant_text(tomorrow)} on, or buy with "
            "your own gas. Nothing was sent.",
            retry_at=tomorrow,
            next_calls=(quoted_again(found), OWN_GAS),
        )
    _require_gas_today(call, caller, found)


def _require_gas_today(call: Call, caller: AgentCaller, found: SponsoredBuy) -> None:
    """Gas that is kept for buys under way is given back within minutes, what is spent is not."""
    wei, budget = found.covers_wei, call.deps.limits.sponsor_gas_wei_per_account_per_day
    scope = gas.sponsor_scope(caller.account_id)
    spent, reserved = gas.used_wei(call.db, gas.day_of(call.now), scope)
    if spent + reserved + wei <= budget:
        return
    is_used_up = spent + wei > budget
    retry_at = next_day(call.now) if is_used_up else call.now + SOON
    is_good_then = retry_at < found.expires_at
    step = "Hand it in again" if is_good_then else "Prepare another"
    raise Refusal(
        "rate_limited",
        f"id: the gas that the service pays for an account's sponsored buys in a UTC day is used up: of "
        f"{budget} wei {spent} are spent and {reserved} kept for buys under way, and this one may "
        f"cost {wei}. {step} from {instant_text(retry_at)} on, or buy with your own gas. Nothing was "
        "sent.",
        retry_at=retry_at,
        next_calls=(state_of_buy(found) if is_good_then else quoted_again(found), OWN_GAS),
    )

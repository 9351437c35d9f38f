"""What sponsored buys of a UTC day may be: of an account, its owner, the buyer's wallet, the network
address that they come from, all wallets that are new, and all.

    counted before anything is written          buys that were handed in, and transactions that failed
    kept with the buy, in the same transaction  the most gas that it may cost, of each of these budgets: two that
                                                come at once never take more than there is
"""

from collections.abc import Sequence
from typing import NoReturn

from api.areas.sponsored.service.next_calls import OWN_GAS, quoted_again, state_of_buy
from api.kernel.caller import AgentCaller
from api.kernel.operation import Call, Refusal, WriteCall
from core.keeper import gas
from core.keeper import queue as outbox_queue
from core.keeper.gas import NEW_BUYERS, SPONSORS, NoGas, kind_of
from core.sponsored import days
from core.sponsored.rules import MOST_BUYS, MOST_FAILURES
from core.sponsored.tables import SponsoredBuy
from core.times import instant_text, next_day, start_of_day

WHOSE = {
    "account": "this account",
    "address": "the accounts that come from your network address",
    "buyer": "the wallet {buyer}",
    "new": "wallets that have not paid for a sponsored buy before",
    "owner": "your owner's agents",
    "total": "everybody",
}
BUYS_USED_UP = "{whose} already handed in {most} sponsored buys today, the limit per UTC day."
FAILURES_USED_UP = (
    "{most} transactions for sponsored buys of {whose} failed on chain today, and the "
    "service paid for them; {most} is the limit per UTC day. Do not cancel "
    "authorizations or spend pledged money."
)


def scopes_of(call: Call, caller: AgentCaller, buyer: str) -> tuple[str, ...]:
    """In what a buy of this wallet counts today."""
    return gas.sponsored_scopes(
        account_id=caller.account_id,
        owner_id=caller.owner_id,
        came_from=caller.came_from,
        buyer=buyer,
        is_new=not days.has_paid_before(call.db, call.deps.chain_id, buyer),
    )


def require_place_today(call: Call, found: SponsoredBuy, scopes: Sequence[str]) -> None:
    """Errors: Refusal rate_limited."""
    today, tomorrow = start_of_day(call.now), next_day(call.now)
    for counted, each_most, words in (
        (days.accepted_since, MOST_BUYS, BUYS_USED_UP),
        (days.failed_since, MOST_FAILURES, FAILURES_USED_UP),
    ):
        full = days.one_too_many(counted(call.db, scopes, today), each_most)
        if full is not None:
            why = words.format(whose=_whose(full, found), most=each_most[kind_of(full)])
            raise Refusal(
                "rate_limited",
                f"id: {why} Prepare another from {instant_text(tomorrow)} on, or buy with your own gas. "
                "Nothing was sent.",
                retry_at=tomorrow,
                next_calls=(quoted_again(found), OWN_GAS),
            )


def require_gas_today(call: Call, scopes: Sequence[str], wei: int) -> None:
    """Before anybody signs: whether the day has so much, of all and of new wallets.

    Errors: Refusal sponsor_unavailable.
    """
    for scope in filter(scopes.__contains__, (NEW_BUYERS, SPONSORS)):
        no_gas = days.without_room(call.db, call.deps.limits, scope, wei, call.now)
        if no_gas is not None:
            retry_at = days.free_again_at(no_gas, call.now)
            raise Refusal(
                "sponsor_unavailable",
                f"usd: {_used_up(no_gas, WHOSE[kind_of(scope)])} Prepare it from "
                f"{instant_text(retry_at)} on, or buy with your own gas. Nothing was sent.",
                retry_at=retry_at,
                next_calls=(OWN_GAS,),
            )


def keep_gas(call: WriteCall, found: SponsoredBuy, outbox_id: int, scopes: Sequence[str]) -> None:
    """The most that the request of this id may cost, of each budget; a refusal takes all back with its
    call.

    Errors: Refusal rate_limited, sponsor_unavailable.
    """
    day, budgets = gas.day_of(call.now), days.sponsor_budgets(call.deps.limits)
    no_gas = gas.reserve(call.db, day, budgets.of_sponsored(scopes), found.covers_wei)
    if no_gas is not None:
        _refuse_gas(call, found, no_gas)
    outbox_queue.keep_gas(call.db, outbox_id, day, found.covers_wei)


def _refuse_gas(call: Call, found: SponsoredBuy, no_gas: NoGas) -> NoReturn:
    retry_at = days.free_again_at(no_gas, call.now)
    is_good_then = retry_at < found.expires_at
    step = "Hand it in again" if is_good_then else "Prepare another"
    is_ours = no_gas.scope in (NEW_BUYERS, SPONSORS)
    raise Refusal(
        "sponsor_unavailable" if is_ours else "rate_limited",
        f"id: {_used_up(no_gas, _whose(no_gas.scope, found))} {step} from {instant_text(retry_at)} on, or "
        "buy with your own gas. Nothing was sent.",
        retry_at=retry_at,
        next_calls=(state_of_buy(found) if is_good_then else quoted_again(found), OWN_GAS),
    )


def _used_up(no_gas: NoGas, whose: str) -> str:
    return (
        f"the gas that the service pays for sponsored buys of {whose} in a UTC day is used "
        f"up: {no_gas.spent_wei} of {no_gas.budget_wei} wei are spent, {no_gas.reserved_wei} "
        f"are reserved for buys under way, and this one may cost {no_gas.needed_wei}."
    )


def _whose(scope: str, found: SponsoredBuy) -> str:
    return WHOSE[kind_of(scope)].format(buyer=found.buyer)

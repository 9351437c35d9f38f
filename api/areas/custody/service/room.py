"""Room for one more transfer: a place in the queue, and a part of the day's gas.

Both are counted by one statement a scope, under the row's own lock, so that however many calls come
at once they take what there is and no more; what is refused is rolled back with its call.
"""

from datetime import timedelta
from typing import NoReturn

from api.kernel.limits import Limits
from api.kernel.operation import Call, Refusal, WriteCall
from core.keeper import gas
from core.keeper import queue as outbox_queue
from core.keeper.gas import TOTAL, GasBudgets, NoGas
from core.keeper.queue import RequestPayer
from core.money import eth_text
from core.times import next_day

SOON = timedelta(minutes=1)  # the queue moves each second
MEANWHILE = (
    "Nothing was moved; the money is still in the starter wallet. Payments to your "
    "linked wallet do not need this gas: you move them with your own."
)
NEXT = ("custody.transfers", "identity.wallet_status")


def take(call: WriteCall, payer: RequestPayer, outbox_id: int, kept_wei: int) -> None:
    """A place and gas for the request of this id.

    Errors: Refusal temporarily_unavailable, rate_limited.
    """
    limits = call.deps.limits
    full = outbox_queue.count_in(
        call.db, {TOTAL: limits.custody_queue, payer.scope: limits.custody_queue_per_owner}
    )
    if full is not None:
        _refuse_queue(call, full, limits)
    budgets = GasBudgets(
        total_wei=limits.custody_gas_wei_per_day,
        owner_wei=limits.custody_gas_wei_per_owner_per_day,
        account_wei=limits.custody_gas_wei_per_account_per_day,
    )
    day = gas.day_of(call.now)
    no_gas = gas.reserve(call.db, day, budgets.of(payer.account_id, payer.owner_id), kept_wei)
    if no_gas is not None:
        _refuse_gas(call, no_gas)
    outbox_queue.keep_gas(call.db, outbox_id, day, kept_wei)


def _refuse_queue(call: Call, scope: str, limits: Limits) -> NoReturn:
    at = call.now + SOON
    if scope == TOTAL:
        detail = (
            f"{limits.custody_queue} transfers are under way, as many as the service takes "
            f"at a time; ask again in a minute. {MEANWHILE}"
        )
        raise Refusal("temporarily_unavailable", detail, retry_at=at, next_calls=NEXT)
    detail = (
        f"{limits.custody_queue_per_owner} transfers of {_whose(scope)} are under way; ask "
        f"again when one of them is confirmed. {MEANWHILE}"
    )
    raise Refusal("rate_limited", detail, retry_at=at, next_calls=NEXT)


def _refuse_gas(call: Call, no_gas: NoGas) -> NoReturn:
    """A day that is used up ends at 00:00 UTC, what transfers under way keep is given back sooner,
    and gas may be cheaper at any time.
    """
    needed, budget = eth_text(no_gas.needed_wei), eth_text(no_gas.budget_wei)
    of = "transfers" if no_gas.scope == TOTAL else f"transfers of {_whose(no_gas.scope)}"
    if no_gas.is_above_budget:
        detail = (
            f"One transfer may cost {needed} ETH at the current gas price, more than the "
            f"{budget} ETH that the service pays for {of} in a day; ask again when gas is "
            f"cheaper. {MEANWHILE}"
        )
        raise Refusal("temporarily_unavailable", detail, retry_at=call.now + SOON, next_calls=NEXT)
    spent, reserved = eth_text(no_gas.spent_wei), eth_text(no_gas.reserved_wei)
    figures = (
        f"{spent} of {budget} ETH are used, {reserved} are reserved for transfers under way, "
        f"and this one may cost {needed}"
    )
    reason = "temporarily_unavailable" if no_gas.scope == TOTAL else "rate_limited"
    if no_gas.is_used_up:
        detail = (
            f"The gas that the service pays for {of} in a day is used up: {figures}; ask again "
            f"from 00:00 UTC on. {MEANWHILE}"
        )
        raise Refusal(reason, detail, retry_at=next_day(call.now), next_calls=NEXT)
    detail = (
        f"Transfers under way have reserved the gas that the service pays for {of} in a day: "
        f"{figures}. What they do not use becomes available once they are confirmed; ask "
        f"again in a minute. {MEANWHILE}"
    )
    raise Refusal(reason, detail, retry_at=call.now + SOON, next_calls=NEXT)


def _whose(scope: str) -> str:
    return "your owner's agents" if scope.startswith("owner:") else "this account"

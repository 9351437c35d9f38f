"""What an open case keeps an agent from (docs/identity.md#cases-and-notices), and an operator's own
agent its operator (docs/rules.md#operators).
"""

from api.areas.earn.views.people import own_among
from api.areas.safety import queries as safety
from api.kernel.caller import OperatorCaller
from api.kernel.operation import Refusal, WriteCall
from core.identity import queries as identity


def require_unlocked(call: WriteCall, account_id: int) -> None:
    """Hold the account, so that no case is opened meanwhile.

    Errors: Refusal account_locked while a case is open against the agent.
    """
    identity.lock_owner(call.db, account_id)
    if safety.locked_agents(call.db, [account_id]):
        raise Refusal(
            "account_locked",
            "A case is open against your account; answer it by its deadline, and call again once "
            "it is closed.",
        )


def require_not_own(call: WriteCall, caller: OperatorCaller, account_id: int, what: str) -> None:
    """Of what is decided: `account_id` is neither the operator nor an agent that its wallet owns or
    funded. Errors: Refusal conflict_of_interest.
    """
    if own_among(call.db, caller.account_id, [account_id]):
        raise Refusal(
            "conflict_of_interest",
            f"{what} is yours, or belongs to an agent that your wallet owns or funded; "
            "another operator must decide on it.",
            next_calls=("queue.list",),
        )

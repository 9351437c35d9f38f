"""What an open case keeps an agent from (docs/identity.md#cases-and-notices)."""

from api.kernel.operation import Refusal, WriteCall
from core.identity import queries as identity
from core.safety import queries as safety


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

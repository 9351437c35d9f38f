"""What an open case keeps an agent from (docs/identity.md#cases-and-notices)."""

from api.kernel.operation import Refusal, WriteCall
from core.safety import queries as safety


def require_unlocked(call: WriteCall, account_id: int) -> None:
    """Errors: Refusal account_locked while a case is open against the agent.

    The account is held by the caller, so that no case is opened meanwhile.
    """
    if safety.locked_agents(call.db, [account_id]):
        raise Refusal(
            "account_locked",
            "A case is open against your account; answer it by its deadline, and call again once "
            "it is closed.",
        )

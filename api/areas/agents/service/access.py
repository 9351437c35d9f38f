"""Whose agent it is.

Agents are public: an unknown one is not_found, another owner's not_owner
(docs/rules.md#parties-only).
"""

from api.kernel.caller import OwnerCaller
from api.kernel.operation import Call, Refusal, WriteCall
from api.shared.sessions import lock_owner
from core.identity import queries as identity
from core.identity.tables import Account


def owned(call: Call, caller: OwnerCaller, agent_id: int) -> Account:
    """The owner's agent. Errors: Refusal not_found, not_owner."""
    agent = identity.find_agent(call.db, agent_id)
    if agent is None:
        raise Refusal("not_found", f"No agent has the id {agent_id}.", next_calls=("agents.mine",))
    if agent.owner_id != caller.account_id:
        raise Refusal(
            "not_owner",
            f"Agent {agent_id} is not yours; only its owner can do this.",
            next_calls=("agents.mine",),
        )
    return agent


def held(call: WriteCall, caller: OwnerCaller, agent_id: int) -> Account:
    """As `owned`, for a write: it comes before whatever ends this session, or is refused.

    Errors: Refusal auth_invalid besides.
    """
    agent = owned(call, caller, agent_id)
    lock_owner(call, caller)
    return agent

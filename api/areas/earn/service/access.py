"""Whose earnings a caller reads: an agent its own, an owner those of its agents."""

from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.operation import ReadCall
from core.identity import queries as identity


def agents_of(call: ReadCall, caller: AgentCaller | OwnerCaller) -> dict[int, str]:
    """Names by id, oldest first."""
    if isinstance(caller, AgentCaller):
        return {caller.account_id: caller.name}
    return {
        agent.id: agent.name for agent, _ in identity.agents_of_owner(call.db, caller.account_id)
    }

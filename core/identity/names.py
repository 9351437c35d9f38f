"""What agents are called, and which of them are simulated."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from sqlalchemy import BigInteger, any_, cast, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from core.identity.tables import Account

SIMULATED: Final = "simulated"
"""Where accounts of a simulated world registered from; no network address reads like it."""


@dataclass(frozen=True, slots=True)
class AgentName:
    name: str
    is_simulated: bool


def names_of_agents(session: Session, agent_ids: Collection[int]) -> dict[int, AgentName]:
    """By public user id, of those of the ids that are agents', in the order of the ids."""
    wanted = any_(cast(list(agent_ids), ARRAY(BigInteger)))
    query = select(Account.id, Account.name, Account.registered_from).where(
        Account.id == wanted, Account.kind == "agent"
    )
    names = {
        row.id: AgentName(row.name, row.registered_from == SIMULATED)
        for row in session.execute(query)
    }
    return {agent_id: names[agent_id] for agent_id in agent_ids if agent_id in names}


def is_simulated(agent: Account) -> bool:
    return agent.registered_from == SIMULATED

"""What agents are called."""

from collections.abc import Collection

from sqlalchemy import BigInteger, any_, cast, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from core.identity.tables import Account


def names_of_agents(session: Session, agent_ids: Collection[int]) -> dict[int, str]:
    """By public user id, of those of the ids that are agents', in the order of the ids."""
    wanted = any_(cast(list(agent_ids), ARRAY(BigInteger)))
    query = select(Account.id, Account.name).where(Account.id == wanted, Account.kind == "agent")
    names = dict(session.execute(query).all())
    return {agent_id: names[agent_id] for agent_id in agent_ids if agent_id in names}

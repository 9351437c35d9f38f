"""Agent policies: one row an agent, replaced whole, each change logged (docs/rules.md#policy)."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from sqlalchemy import BigInteger, bindparam, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.identity.tables import AgentPolicy, AgentPolicyChange


def find_policy(session: Session, agent_id: int) -> AgentPolicy | None:
    return session.get(AgentPolicy, agent_id)


def accepts_mandates(session: Session, agent_id: int) -> bool:
    """False until the owner says otherwise (docs/rules.md#policy)."""
    return bool(session.scalar(_ACCEPTS, {"agent_id": agent_id}))


_ACCEPTS: Final = select(AgentPolicy.accepts_mandates).where(
    AgentPolicy.agent_id == bindparam("agent_id", type_=BigInteger)
)


def replace_policy(
    session: WriteSession, agent_id: int, policy: Mapping[str, Any], now: datetime
) -> None:
    values = {
        "accepts_mandates": bool(policy["accepts_mandates"]),
        "policy": dict(policy),
        "updated_at": now,
    }
    session.execute(
        insert(AgentPolicy)
        .values(agent_id=agent_id, **values)
        .on_conflict_do_update(index_elements=["agent_id"], set_=values)
    )
    session.expire_all()


def log_change(
    session: WriteSession, agent_id: int, changes: Mapping[str, Any], now: datetime
) -> None:
    session.add(AgentPolicyChange(agent_id=agent_id, at=now, changes=dict(changes)))


def newest_changes(session: Session, agent_id: int, limit: int) -> list[AgentPolicyChange]:
    query = (
        select(AgentPolicyChange)
        .where(AgentPolicyChange.agent_id == agent_id)
        .order_by(AgentPolicyChange.id.desc())
        .limit(limit)
    )
    return list(session.scalars(query))

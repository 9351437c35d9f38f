"""All SQL of violation cases, notices and the defense level.

Nothing here commits, and nothing is deleted.

Lists are newest first and paged by the last id seen (exclusive).
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from sqlalchemy import BigInteger, Select, any_, bindparam, select
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from api.areas.safety.tables import DefenseChange, Notice, ViolationCase
from core.db import locks
from core.db.engine import WriteSession
from core.identity.queries import ids_with_agents

# Cases and their notices


def open_case(session: WriteSession, case: ViolationCase) -> ViolationCase:
    """Lock the account: the case, and the one notice of it in the agent's inbox."""
    session.add(case)
    session.flush()
    session.add(Notice(account_id=case.agent_id, case_id=case.id, created_at=case.opened_at))
    session.flush()
    return case


def find_open_case(session: Session, agent_id: int, rule: str) -> ViolationCase | None:
    query = select(ViolationCase).where(
        ViolationCase.agent_id == agent_id,
        ViolationCase.rule == rule,
        ViolationCase.closed_at.is_(None),
    )
    return session.scalar(query)


def lock_case(session: WriteSession, reference: str) -> ViolationCase | None:
    """The case, held until the transaction ends."""
    query = select(ViolationCase).where(ViolationCase.reference == reference)
    return session.scalar(query.with_for_update().execution_options(populate_existing=True))


def close_case(session: WriteSession, case: ViolationCase, operator_id: int, now: datetime) -> None:
    case.closed_at, case.closed_by = now, operator_id
    session.flush()


def locked_agents(session: Session, agent_ids: Iterable[int]) -> set[int]:
    """Those of the agents that have an open case."""
    return set(session.scalars(_LOCKED, {"agent_ids": list(agent_ids)}))


_LOCKED: Final = select(ViolationCase.agent_id).where(
    ViolationCase.agent_id == any_(bindparam("agent_ids", type_=ARRAY(BigInteger))),
    ViolationCase.closed_at.is_(None),
)


def cases(session: Session, before_id: int | None, limit: int) -> list[ViolationCase]:
    """Everybody's, open and closed."""
    return list(session.scalars(_page(select(ViolationCase), before_id, limit)))


def cases_of(
    session: Session, account_id: int, before_id: int | None, limit: int
) -> list[ViolationCase]:
    """An agent's own, or those of all agents of an owner."""
    query = select(ViolationCase).where(ViolationCase.agent_id.in_(ids_with_agents(account_id)))
    return list(session.scalars(_page(query, before_id, limit)))


def notices_of(
    session: Session, account_id: int, before_id: int | None, limit: int
) -> list[tuple[Notice, ViolationCase]]:
    """An agent's inbox, or the inboxes of all agents of an owner."""
    query = select(Notice, ViolationCase).join(ViolationCase, ViolationCase.id == Notice.case_id)
    query = query.where(Notice.account_id.in_(ids_with_agents(account_id)))
    if before_id is not None:
        query = query.where(Notice.id < before_id)
    return [
        (notice, case)
        for notice, case in session.execute(query.order_by(Notice.id.desc()).limit(limit))
    ]


def _page(query: Select[ViolationCase], before_id: int | None, limit: int) -> Select[ViolationCase]:
    if before_id is not None:
        query = query.where(ViolationCase.id < before_id)
    return query.order_by(ViolationCase.id.desc()).limit(limit)


# The defense level


def newest_defense_change(session: Session) -> DefenseChange | None:
    """None before the first change: level 0."""
    return session.scalar(select(DefenseChange).order_by(DefenseChange.id.desc()).limit(1))


def defense_level(session: Session) -> int:
    newest = newest_defense_change(session)
    return 0 if newest is None else newest.level


def lock_defense(session: WriteSession) -> None:
    """Changes of the level come one after the other, until the transaction ends."""
    locks.own("defense").wait(session)


def change_defense(session: WriteSession, level: int, operator_id: int, now: datetime) -> None:
    """Log the change, unless the level is that already."""
    before = defense_level(session)
    if before != level:
        session.add(
            DefenseChange(level=level, previous_level=before, changed_by=operator_id, at=now)
        )
        session.flush()

"""All SQL of pledges. Nothing here commits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from api.areas.pledges.rules import PledgeState
from api.areas.pledges.tables import Pledge
from sqlalchemy import select, update
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.money import UsdcE6


@dataclass(frozen=True, slots=True, kw_only=True)
class PledgeRow:
    id: int
    agent_id: int
    cause: str
    amount_usdc_e6: UsdcE6
    state: PledgeState
    made_at: datetime


def add(
    session: WriteSession, agent_id: int, cause: str, amount_usdc_e6: UsdcE6, now: datetime
) -> PledgeRow:
    row = Pledge(
        agent_id=agent_id,
        cause=cause,
        amount_usdc_e6=amount_usdc_e6,
        state=PledgeState.OPEN.value,
        made_at=now,
    )
    session.add(row)
    session.flush()
    return _row(row)


def find(session: Session, agent_id: int, pledge_id: int) -> PledgeRow | None:
    row = session.scalar(select(Pledge).where(Pledge.id == pledge_id, Pledge.agent_id == agent_id))
    return None if row is None else _row(row)


def newest(session: Session, agent_id: int | None, limit: int) -> Sequence[PledgeRow]:
    """The newest first; `agent_id` None: open ones of everybody."""
    query = select(Pledge).order_by(Pledge.id.desc()).limit(limit)
    mine = (
        Pledge.state == PledgeState.OPEN.value if agent_id is None else Pledge.agent_id == agent_id
    )
    return [_row(row) for row in session.scalars(query.where(mine))]


def withdraw(session: WriteSession, pledge_id: int) -> bool:
    """False: it is not open."""
    statement = update(Pledge).where(Pledge.id == pledge_id, Pledge.state == PledgeState.OPEN.value)
    return (
        session.scalar(statement.values(state=PledgeState.WITHDRAWN.value).returning(Pledge.id))
        is not None
    )


def lapse(session: WriteSession, before: datetime, limit: int) -> int:
    """At most `limit` open pledges that were made before then have lapsed. How many did."""
    old = (
        select(Pledge.id)
        .where(Pledge.state == PledgeState.OPEN.value, Pledge.made_at < before)
        .limit(limit)
    )
    statement = update(Pledge).where(Pledge.id.in_(old)).values(state=PledgeState.LAPSED.value)
    return len(session.scalars(statement.returning(Pledge.id)).all())


def _row(row: Pledge) -> PledgeRow:
    return PledgeRow(
        id=row.id,
        agent_id=row.agent_id,
        cause=row.cause,
        amount_usdc_e6=UsdcE6(row.amount_usdc_e6),
        state=PledgeState(row.state),
        made_at=row.made_at,
    )

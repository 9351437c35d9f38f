"""All SQL of legs. Nothing here commits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.hexes import address_of, bytes_of
from core.money import UsdcE6
from core.perps.rules.leg import (
    READ_S,
    Degraded,
    LegState,
    LegStatus,
    next_read_at,
)
from core.perps.tables import LIVE, PerpsLeg


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """A binding. Addresses are checksummed; `source` None: never read."""

    id: int
    mandate_id: int
    status: LegStatus
    owner_address: str
    agent_address: str
    dex: str
    bound_at: datetime
    unbound_at: datetime | None
    state: LegState
    source: str | None

    @property
    def parties(self) -> dict[str, str]:
        """What its notes name."""
        return {
            "owner_address": self.owner_address,
            "agent_address": self.agent_address,
            "dex": self.dex,
        }


def newest_leg(session: Session, mandate_id: int) -> Leg | None:
    """The live one, or the one that was unbound last."""
    query = select(PerpsLeg).where(PerpsLeg.mandate_id == mandate_id)
    row = session.scalar(query.order_by(PerpsLeg.id.desc()).limit(1))
    return None if row is None else leg_of(row)


def bind(
    session: WriteSession,
    mandate_id: int,
    *,
    owner_address: str,
    agent_address: str,
    dex: str,
    now: datetime,
) -> Leg | None:
    """None: the owner's address or the mandate has a live leg already."""
    values = {
        "mandate_id": mandate_id,
        "status": LegStatus.BOUND.value,
        "owner_address": bytes_of(owner_address),
        "agent_address": bytes_of(agent_address),
        "dex": dex,
        "bound_at": now,
        "degraded_ticks": 0,
        "next_read_at": now,
    }
    statement = insert(PerpsLeg).values(values).on_conflict_do_nothing().returning(PerpsLeg)
    row = session.scalar(statement)
    return None if row is None else leg_of(row)


def unbind(session: WriteSession, mandate_id: int, now: datetime) -> Leg | None:
    """The leg that this ended; None: none is live."""
    mine = (PerpsLeg.mandate_id == mandate_id, text(LIVE))
    statement = update(PerpsLeg).where(*mine).values(status=LegStatus.UNBOUND.value, unbound_at=now)
    statement = statement.returning(PerpsLeg).execution_options(populate_existing=True)
    row = session.scalar(statement)
    return None if row is None else leg_of(row)


def claim_due(session: WriteSession, now: datetime, limit: int) -> Sequence[Leg]:
    """Live legs whose reading is due, the longest waiting first; put off by READ_S, so that one
    whose reader dies is read by the next.
    """
    due = select(PerpsLeg.id).where(text(LIVE), PerpsLeg.next_read_at <= now)
    due = due.order_by(PerpsLeg.next_read_at).limit(limit).with_for_update(skip_locked=True)
    statement = update(PerpsLeg).where(PerpsLeg.id.in_(due.scalar_subquery()))
    later = now + timedelta(seconds=READ_S)
    statement = statement.values(next_read_at=later).returning(PerpsLeg)
    rows = session.scalars(statement.execution_options(populate_existing=True))
    return sorted(map(leg_of, rows), key=lambda leg: leg.id)


def lock_live(session: WriteSession, leg_id: int) -> Leg | None:
    """The leg, held until the transaction ends; None: it was unbound."""
    query = select(PerpsLeg).where(PerpsLeg.id == leg_id, text(LIVE)).with_for_update()
    row = session.scalar(query.execution_options(populate_existing=True))
    return None if row is None else leg_of(row)


def save_reading(
    session: WriteSession, leg_id: int, state: LegState, source: str, now: datetime
) -> None:
    values = {
        "last_worth_usdc_e6": state.last_worth_usdc_e6,
        "last_read_at": state.last_read_at,
        "last_reason": state.last_reason,
        "degraded_ticks": state.degraded_ticks,
        "source": source,
        "next_read_at": next_read_at(state, now),
    }
    session.execute(update(PerpsLeg).where(PerpsLeg.id == leg_id).values(values))


def leg_of(row: PerpsLeg) -> Leg:
    worth = row.last_worth_usdc_e6
    return Leg(
        id=row.id,
        mandate_id=row.mandate_id,
        status=LegStatus(row.status),
        owner_address=address_of(row.owner_address),
        agent_address=address_of(row.agent_address),
        dex=row.dex,
        bound_at=row.bound_at,
        unbound_at=row.unbound_at,
        state=LegState(
            last_worth_usdc_e6=None if worth is None else UsdcE6(worth),
            last_read_at=row.last_read_at,
            last_reason=None if row.last_reason is None else Degraded(row.last_reason),
            degraded_ticks=row.degraded_ticks,
        ),
        source=row.source,
    )

"""Whose a mandate is, for alerts to owners about its leg; which mandate has the leg of an address,
and which legs' mandates have ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, or_, select, text
from sqlalchemy.orm import Session

from core.hexes import bytes_of
from core.mandate.rules.lifecycle import ENDED
from core.mandate.tables import Mandate
from core.perps.tables import LIVE, PerpsClosing, PerpsLeg


@dataclass(frozen=True, slots=True, kw_only=True)
class OfMandate:
    """`agent_id` None: it has no agent. `cap_usdc_e6`: for a UTC day's opening orders; an empty cap
    is the budget.
    """

    owner_id: int
    public_id: str
    agent_id: int | None
    cap_usdc_e6: int


def of_mandate(session: Session, mandate_id: int) -> OfMandate:
    """Errors: NoResultFound."""
    mandate = session.scalars(select(Mandate).where(Mandate.id == mandate_id)).one()
    cap = mandate.daily_cap_usdc_e6
    return OfMandate(
        owner_id=mandate.owner_id,
        public_id=mandate.public_id,
        agent_id=mandate.agent_id,
        cap_usdc_e6=mandate.budget_usdc_e6 if cap is None else cap,
    )


def bound_mandate(session: Session, owner_address: str) -> str | None:
    """The public id of the mandate whose live leg has this address."""
    query = (
        select(Mandate.public_id)
        .join(PerpsLeg)
        .where(text(f"perps_leg.{LIVE}"), PerpsLeg.owner_address == bytes_of(owner_address))
    )
    return session.scalar(query)


def ended_legs(session: Session, now: datetime, limit: int) -> Sequence[int]:
    """Live legs whose mandate has ended, or is past its end, and that nobody closes yet."""
    live = legs_of_ended(now).where(text(f"perps_leg.{LIVE}"))
    begun = select(PerpsClosing.leg_id).where(PerpsClosing.leg_id == PerpsLeg.id).exists()
    return list(session.scalars(live.where(~begun).order_by(PerpsLeg.id).limit(limit)))


def legs_of_ended(now: datetime) -> Select[int]:
    """Of mandates that have ended, or are past their end: a stop that a rollback took back is none."""
    return select(PerpsLeg.id).join(Mandate).where(_is_over(now))


def _is_over(now: datetime) -> ColumnElement[bool]:
    return or_(Mandate.status.in_(ENDED), Mandate.ends_at <= now)

"""All SQL of priority targets but the joins of views. Nothing here commits."""

from collections.abc import Collection
from datetime import date, datetime

from sqlalchemy import and_, case, delete, func, or_, select, update
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.targets.tables import PriorityTarget


def find_target(session: Session, account_id: int, listing_id: int) -> PriorityTarget | None:
    return session.scalar(
        select(PriorityTarget).where(
            PriorityTarget.account_id == account_id, PriorityTarget.listing_id == listing_id
        )
    )


def count_targets(session: Session, account_id: int) -> int:
    """Active and paused ones."""
    mine = select(func.count()).where(PriorityTarget.account_id == account_id)
    return session.scalar(mine) or 0


def add_target(
    session: WriteSession, account_id: int, listing_id: int, captures: int, now: datetime
) -> None:
    """The account is held by the caller."""
    session.add(
        PriorityTarget(
            account_id=account_id,
            listing_id=listing_id,
            microburst_hf_captures=captures,
            captures_used=0,
            added_at=now,
        )
    )
    session.flush()


def set_captures(session: WriteSession, target_id: int, captures: int) -> None:
    session.execute(
        update(PriorityTarget)
        .where(PriorityTarget.id == target_id)
        .values(microburst_hf_captures=captures)
    )


def remove_target(session: WriteSession, account_id: int, listing_id: int) -> bool:
    """False: there is no such target."""
    removed = session.execute(
        delete(PriorityTarget)
        .where(PriorityTarget.account_id == account_id, PriorityTarget.listing_id == listing_id)
        .returning(PriorityTarget.id)
    )
    return removed.scalar_one_or_none() is not None


def take_captures(session: WriteSession, target_ids: Collection[int], day: date) -> int:
    """Count one capture on each of these targets that has one left that day; how many had."""
    is_today = PriorityTarget.captures_day == day
    has_left = and_(
        PriorityTarget.microburst_hf_captures > 0,
        or_(
            PriorityTarget.captures_day.is_(None),
            PriorityTarget.captures_day != day,
            PriorityTarget.captures_used < PriorityTarget.microburst_hf_captures,
        ),
    )
    used = case((is_today, PriorityTarget.captures_used + 1), else_=1)
    taken = session.execute(
        update(PriorityTarget)
        .where(PriorityTarget.id.in_(target_ids), has_left)
        .values(captures_day=day, captures_used=used)
        .returning(PriorityTarget.id)
    )
    return len(taken.all())

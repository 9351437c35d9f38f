"""Bonds of posts: locked with a post, returned after seven days, kept while an open case names the
post. Nothing here commits.

    held --due, and no open case names the post--> returned
"""

from datetime import datetime

from sqlalchemy import select, update

from api.areas.earn.ledger import awards
from api.areas.rooms.rules import BOND_KEPT
from api.areas.rooms.tables import RoomBond
from core.credits.ledger import writer as credit_ledger
from core.db.engine import WriteSession


def hold_bond(session: WriteSession, account_id: int, amount: int, now: datetime) -> int:
    """Lock a bond for one post, of earned or converted credit. Errors: NotEnoughCreditsError."""
    bond = RoomBond(account_id=account_id, credits=amount, held_at=now, due_at=now + BOND_KEPT)
    session.add(bond)
    session.flush()
    credit_ledger.hold(session, account_id, amount, _bond_key(bond.id), {"for": "room_post"}, now)
    return bond.id


def return_bonds(session: WriteSession, now: datetime, limit: int) -> int:
    """Return at most `limit` bonds that are due and that no open case names. How many were.

    It takes the turn of payouts (api/areas/earn/ledger/awards.py), since it holds heads of several
    accounts, as those do who are in their turn.
    """
    awards.take_turn(session)
    due = (
        select(RoomBond)
        .where(RoomBond.returned_at.is_(None), RoomBond.case_id.is_(None), RoomBond.due_at <= now)
        .order_by(RoomBond.due_at, RoomBond.id)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    bonds = session.scalars(due).all()
    for bond in sorted(bonds, key=lambda one: (one.account_id, one.id)):
        credit_ledger.release(session, bond.account_id, _bond_key(bond.id), now)
        bond.returned_at = now
    session.flush()
    return len(bonds)


def name_in_case(session: WriteSession, bond_id: int, case_id: int) -> bool:
    """Keep a bond until the case is closed; False: it was returned, or another case names it."""
    statement = update(RoomBond).where(
        RoomBond.id == bond_id, RoomBond.returned_at.is_(None), RoomBond.case_id.is_(None)
    )
    kept = session.execute(statement.values(case_id=case_id).returning(RoomBond.id))
    return kept.scalar_one_or_none() is not None


def free_of_case(session: WriteSession, case_id: int) -> None:
    """The case is closed: what it kept is returned when it is due."""
    session.execute(update(RoomBond).where(RoomBond.case_id == case_id).values(case_id=None))


def _bond_key(bond_id: int) -> str:
    return f"room_bond:{bond_id}"

"""Whose a mandate is, for what owners are told of its leg."""

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.mandate.tables import Mandate


def owner_and_public_id(session: Session, mandate_id: int) -> tuple[int, str]:
    """Errors: NoResultFound."""
    query = select(Mandate.owner_id, Mandate.public_id).where(Mandate.id == mandate_id)
    owner_id, public_id = session.execute(query).one()
    return owner_id, public_id

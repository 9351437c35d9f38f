"""Counts that cost no more than what is asked of them."""

from typing import Any

from sqlalchemy import Select, func, select
from sqlalchemy.orm import Session


def count_up_to(session: Session, rows: Select[Any], most: int) -> int:
    """How many rows there are; beyond `most` it does not count on."""
    some = rows.limit(most).subquery()
    return session.scalar(select(func.count()).select_from(some)) or 0

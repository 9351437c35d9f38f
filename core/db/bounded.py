"""Statements that do no more than is asked of them, however many rows there are."""

from datetime import date
from typing import Any

from sqlalchemy import Select, delete, func, select, tuple_
from sqlalchemy.orm import Session, class_mapper

from core.db.engine import WriteSession


def count_up_to(session: Session, rows: Select[Any], most: int) -> int:
    """How many rows there are; beyond `most` it does not count on."""
    some = rows.limit(most).subquery()
    return session.scalar(select(func.count()).select_from(some)) or 0


def drop_days(session: WriteSession, figure: type[Any], before: date, limit: int) -> int:
    """Drop at most `limit` rows of days before that one, from a table whose figures count in their UTC
    `day` alone. How many went.
    """
    key = class_mapper(figure).primary_key
    old = select(*key).where(figure.day < before).limit(limit)
    return len(
        session.execute(delete(figure).where(tuple_(*key).in_(old)).returning(figure.day)).all()
    )

"""Figures that count in one UTC day alone: rows of any table with a column `day`, dropped when
nobody asks for the day any more.
"""

from datetime import date
from typing import Any

from sqlalchemy import delete, select, tuple_
from sqlalchemy.orm import class_mapper

from core.db.engine import WriteSession


def drop_days(session: WriteSession, figure: type[Any], before: date, limit: int) -> int:
    """Drop at most `limit` figures of days before that one. How many went."""
    key = class_mapper(figure).primary_key
    old = select(*key).where(figure.day < before).limit(limit)
    return len(
        session.execute(delete(figure).where(tuple_(*key).in_(old)).returning(figure.day)).all()
    )

"""Whether an error says that the data itself is refused, or that something else is wrong with the
database.

22xxx, 23xxx     the value or a constraint: the same row is refused whenever it is written
anything else    a lost connection, a full disk, a time-out of a lock: nothing is known of the row, and it is tried again
"""

import psycopg
from sqlalchemy.exc import DBAPIError

DATA_CLASSES = ("22", "23")
TIME_OUTS = ("57014", "55P03", "40P01")  # query_canceled, lock_not_available, deadlock_detected
# data_exception: psycopg refuses a value before it is sent (text with NUL) and names no state
UNSENT = "22000"


def refused_state(error: BaseException) -> str | None:
    """The SQLSTATE by which the database refuses the data; None for every other error.

    Takes SQLAlchemy's errors and psycopg's own.
    """
    raised = _raised(error)
    if raised is None:
        return None
    if raised.sqlstate is None:
        return UNSENT if isinstance(raised, psycopg.DataError) else None
    return raised.sqlstate if raised.sqlstate.startswith(DATA_CLASSES) else None


def is_time_out(error: BaseException) -> bool:
    """Whether the database gave this one transaction up: a statement's or a lock's time-out, or a
    deadlock. Others may go on meanwhile.
    """
    raised = _raised(error)
    return raised is not None and raised.sqlstate in TIME_OUTS


def constraint_of(error: BaseException) -> str | None:
    """The constraint that refuses the data, as the schema calls it."""
    raised = _raised(error)
    return None if raised is None else raised.diag.constraint_name


def _raised(error: BaseException) -> psycopg.Error | None:
    raised = error.orig if isinstance(error, DBAPIError) else error
    return raised if isinstance(raised, psycopg.Error) else None

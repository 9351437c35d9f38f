"""Parts of a read that the rest is shown without when the database does not answer them.

    SAVEPOINT   part   part fails -> ROLLBACK TO   part   ...   COMMIT

Laws
- A read sets one savepoint, before the first of its parts: it has nothing to lose but its snapshot,
  so that whichever part fails, the next goes on from there.
- Nothing of SQLAlchemy's stands in the way: to it the transaction is the one that began.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from psycopg import Error as PsycopgError
from sqlalchemy.exc import DBAPIError

from core.db.engine import ReadSession, as_sqlalchemys, driver_of

_SAVED = "transaction with a savepoint"


@contextmanager
def part_of(session: ReadSession) -> Iterator[None]:
    """What the block reads is a part. Errors: what the block raises, after which the session reads on
    in its snapshot; DBAPIError with `connection_invalidated` when it cannot.
    """
    _save(session)
    try:
        yield
    except DBAPIError as error:
        if not error.connection_invalidated:
            _run(session, "rollback to savepoint part")
        raise


def _save(session: ReadSession) -> None:
    transaction = session.get_transaction()
    if transaction is None or session.info.get(_SAVED) is not transaction:
        _run(session, "savepoint part")
        session.info[_SAVED] = session.get_transaction()


def _run(session: ReadSession, statement: str) -> None:
    try:
        driver_of(session).execute(statement)
    except PsycopgError as error:
        gone = as_sqlalchemys(error)
        assert isinstance(gone, DBAPIError)
        gone.connection_invalidated = True
        raise gone from error

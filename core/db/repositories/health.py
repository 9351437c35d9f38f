"""What /health/ready asks the database about the database itself."""

from sqlalchemy import text
from sqlalchemy.orm import Session


def revision(session: Session) -> str | None:
    """The migration that the database is at; None when it was never migrated. Errors: OperationalError when it is down."""
    if session.scalar(text("select to_regclass('alembic_version')")) is None:
        return None
    found = session.scalar(text("select version_num from alembic_version"))
    return None if found is None else str(found)

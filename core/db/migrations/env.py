"""Alembic's environment.

The connection is handed in by core.db.migrate; there is no alembic.ini.
"""

from typing import Any, Literal

from alembic import context
from sqlalchemy import Connection

from core.db import locks
from core.db.base import Base, Uint256
from core.db.migrations import grants


def render_item(kind: str, item: Any, _: Any) -> str | Literal[False]:
    """Write our own types into a drafted migration as what they are in the database."""
    return "sa.Numeric(78, 0)" if kind == "type" and isinstance(item, Uint256) else False


def migrate(connection: Connection) -> None:
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_item=render_item,
        compare_server_default=True,
    )
    with context.begin_transaction():
        locks.MIGRATION.wait(connection)
        context.run_migrations()
        grants.apply(connection)


migrate(context.config.attributes["connection"])

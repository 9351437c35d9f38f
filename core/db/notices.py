"""What one process notifies all others of through Postgres: the topics that a transaction touched,
sent when it commits (NOTIFY), and heard on one connection of its own (LISTEN).

    notify(session, ["m12", "o3"]) ... commit -> NOTIFY topics, 'm12 o3' -> Listener.heard() -> {"m12", "o3"}

Laws
- One notice a transaction, however many rows it wrote; none where it is rolled back.
- A notice says where something changed, never what: whoever hears it reads. So a notice that is
  lost costs time, and no row.
- A listener that was away hears None when it is back: anything may have changed.
- A payload is below Postgres's 8,000 bytes; one that would be longer says that anything may have
  changed.
Source: docs/decisions/0029.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Iterable
from typing import Any, Final

import structlog
from psycopg import AsyncConnection
from psycopg import Error as PsycopgError
from sqlalchemy import event, func, select

from core.db.engine import Database, WriteSession

CHANNEL: Final = "topics"
EVERYTHING: Final = "*"
MOST_BYTES: Final = 7_900
_TOPICS: Final = "topics_to_notify"

ASK_S: Final = 10.0  # how often the connection is asked whether it still lives
ANSWER_S: Final = 5.0
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 5.0
CONNECTING: Final[dict[str, Any]] = {
    "application_name": "api events",
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 2,
}

log = structlog.get_logger("notices")


def notify(session: WriteSession, topics: Iterable[str]) -> None:
    """Notify these topics when the session's transaction commits. A topic has no spaces."""
    session.info.setdefault(_TOPICS, set()).update(topics)


@event.listens_for(WriteSession, "before_commit")
def _notify(session: WriteSession) -> None:
    if session.in_nested_transaction():  # a savepoint: its transaction notifies
        return
    topics = session.info.pop(_TOPICS, None)
    if topics:
        session.execute(select(func.pg_notify(CHANNEL, payload_of(topics))))


@event.listens_for(WriteSession, "after_rollback")
def _forget(session: WriteSession) -> None:
    session.info.pop(_TOPICS, None)


def payload_of(topics: Iterable[str]) -> str:
    payload = " ".join(sorted(topics))
    return payload if len(payload.encode()) <= MOST_BYTES else EVERYTHING


def topics_of(payload: str) -> frozenset[str] | None:
    """None: anything may have changed."""
    return None if payload == EVERYTHING else frozenset(payload.split())


class Listener:
    """One direct connection, outside the pool; it belongs to one event loop."""

    def __init__(self, database: Database) -> None:
        url = database.direct.url
        _, self._parameters = database.direct.dialect.create_connect_args(url)

    async def heard(self) -> AsyncIterator[frozenset[str] | None]:
        """Topics as they arrive, for ever; None at each (re)connection.

        Errors: none of the database's; it is asked again until it answers.
        """
        wait_s = FIRST_WAIT_S
        while True:
            try:
                async for topics in self._connected():
                    wait_s = FIRST_WAIT_S
                    yield topics
            except (PsycopgError, OSError, TimeoutError) as error:
                log.warning("not listening", error=type(error).__name__)
            await asyncio.sleep(wait_s * random.uniform(0.5, 1))  # noqa: S311 (spreads processes)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)

    async def _connected(self) -> AsyncIterator[frozenset[str] | None]:
        connection = await AsyncConnection.connect(
            **self._parameters, **CONNECTING, autocommit=True
        )
        async with connection:
            await connection.execute(f"listen {CHANNEL}")
            yield None
            while True:
                async for notice in connection.notifies(timeout=ASK_S):
                    yield topics_of(notice.payload)
                async with asyncio.timeout(ANSWER_S):
                    await connection.execute("select 1")

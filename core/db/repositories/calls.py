"""All SQL of what the kernel counts and keeps of calls: daily counts of a key, first answers to idempotency keys."""

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.db.tables.identity import IdempotencyRecord, RequestCount


def calls_of_day(session: Session, key_id: int, day: date) -> int:
    query = select(RequestCount.n).where(RequestCount.key_id == key_id, RequestCount.day == day)
    return session.scalar(query) or 0


def count_call(session: WriteSession, key_id: int, now: datetime) -> int:
    """Count one call of the UTC day and return the day's number with it. Holds the row until the transaction ends: do it last."""
    statement = insert(RequestCount).values(key_id=key_id, day=now.date(), n=1, last_at=now)
    statement = statement.on_conflict_do_update(
        index_elements=["key_id", "day"], set_={"n": RequestCount.n + 1, "last_at": statement.excluded.last_at}
    )
    return session.execute(statement.returning(RequestCount.n)).scalar_one()


def try_lock_idempotency(session: WriteSession, scope: str, key: str) -> bool:
    """Take (scope, key) until the transaction ends, or answer False at once: another call with it is in flight."""
    name = f"idempotency:{scope}:{key}"
    return bool(session.scalar(select(func.pg_try_advisory_xact_lock(func.hashtextextended(name, 0)))))


def find_idempotency(session: Session, scope: str, key: str) -> IdempotencyRecord | None:
    return session.get(IdempotencyRecord, (scope, key))


def keep_idempotency(
    session: WriteSession, scope: str, key: str, body_hash: bytes, status: int, body: Mapping[str, Any], now: datetime
) -> None:
    record = IdempotencyRecord(scope=scope, key=key, body_hash=body_hash, status=status, body=dict(body), created_at=now)
    session.add(record)
    session.flush()

"""SQL of the `leader` table: who runs a single-writer loop, and the fence that its writes carry.

Law: an epoch only rises. A write that calls `require_epoch` in its own transaction cannot commit after another
process took over, even when the old leader's process was paused and does not know it yet.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.tables.chain import Leader
from core.domain.errors import OutsideError

Executor = Connection | Session


class LeadershipLostError(OutsideError):
    """Another process leads, or the connection that held the lock is gone. The loop must end."""

    def __init__(self, name: str, epoch: int) -> None:
        super().__init__(f"{name}: epoch {epoch} no longer leads")
        self.name = name
        self.epoch = epoch


@dataclass(frozen=True, slots=True)
class LeaderRow:
    """`status` is what the loop last said of itself. Times are aware UTC."""

    name: str
    epoch: int
    holder: str
    backend_pid: int
    since: datetime
    beat_at: datetime
    status: dict[str, Any]


def try_lock(db: Executor, name: str) -> bool:
    """Take the session's advisory lock of this name, or answer False at once. It goes with the connection."""
    return bool(db.execute(select(func.pg_try_advisory_lock(func.hashtextextended(f"leader:{name}", 0)))).scalar_one())


def raise_epoch(db: Executor, name: str, holder: str, now: datetime) -> int:
    """Write the new leader down and return its epoch, one above the last. Call it with the lock held."""
    fresh = {"holder": holder, "backend_pid": func.pg_backend_pid(), "since": now, "beat_at": now, "status": {}}
    statement = insert(Leader).values(name=name, epoch=1, **fresh)
    statement = statement.on_conflict_do_update(index_elements=[Leader.name], set_={"epoch": Leader.epoch + 1, **fresh})
    return db.execute(statement.returning(Leader.epoch)).scalar_one()


def beat(db: Executor, name: str, epoch: int, status: Mapping[str, Any], now: datetime) -> None:
    """Say that the loop lives. Errors: LeadershipLostError when the epoch is not the newest."""
    statement = update(Leader).where(Leader.name == name, Leader.epoch == epoch).values(beat_at=now, status=dict(status))
    if db.execute(statement.returning(Leader.epoch)).scalar_one_or_none() is None:
        raise LeadershipLostError(name, epoch)


def require_epoch(db: Executor, name: str, epoch: int) -> None:
    """Fence this transaction: the epoch cannot rise before it ends. Errors: LeadershipLostError."""
    statement = select(Leader.epoch).where(Leader.name == name, Leader.epoch == epoch).with_for_update(read=True)
    if db.execute(statement).scalar_one_or_none() is None:
        raise LeadershipLostError(name, epoch)


def leader_row(db: Executor, name: str) -> LeaderRow | None:
    """The newest leader of this name, or None when there never was one."""
    columns = (Leader.name, Leader.epoch, Leader.holder, Leader.backend_pid, Leader.since, Leader.beat_at, Leader.status)
    row = db.execute(select(*columns).where(Leader.name == name)).one_or_none()
    return None if row is None else LeaderRow(*row)

"""SQL of the `leader` table: who runs a single-writer loop, and the fence that its writes carry.

Laws
- An epoch only rises. A write that calls `require_epoch` in its own transaction cannot commit after
  another process took over, even when the old leader's process was paused and does not know it yet.
- Silence is measured by the database's clock alone; `since` is the leader's own, for people.
- Row locks: the fence takes FOR KEY SHARE, a new epoch FOR UPDATE, a beat neither: a beat never
  waits for a write under way, a new epoch does. So that it need not wait for a frozen one, a fenced
  transaction is also marked by an advisory lock, by which `end_fenced` finds it.
"""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Integer,
    Select,
    Text,
    bindparam,
    func,
    literal_column,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Mapped, Session, mapped_column
from sqlalchemy.sql.dml import ReturningUpdate

from core.db import locks
from core.db.base import Base
from core.db.locks import Executor
from core.errors import OutsideError

# key of the status: whole seconds since the loop itself gave a sign, as the beat saw it
NO_PROGRESS = "no_progress_s"


class LeadershipLostError(OutsideError):
    """Another process leads, or the connection that held the lock is gone. The loop must end."""

    def __init__(self, name: str, epoch: int) -> None:
        super().__init__(f"{name}: epoch {epoch} no longer leads")
        self.name = name
        self.epoch = epoch


class LeaderRow(Base):
    """Who runs a single-writer loop.

    Every write of the loop carries the epoch; `beat_at` is its heartbeat; `status` is what it last said
    of itself, for /health/ready.
    """

    __tablename__ = "leader"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    epoch: Mapped[int]
    holder: Mapped[str] = mapped_column(Text)
    backend_pid: Mapped[int] = mapped_column(Integer)
    since: Mapped[datetime]
    beat_at: Mapped[datetime]
    status: Mapped[dict[str, Any]]

    def silent_s(self, now: datetime) -> int:
        """Whole seconds since the loop itself gave a sign: the age of the beat and what the beat
        says of the loop.
        """
        age_s = max(0, int((now - self.beat_at).total_seconds()))
        return age_s + int(self.status.get(NO_PROGRESS, 0))


def try_lock(db: Executor, name: str) -> bool:
    """Take the session's advisory lock of this name, or answer False at once.

    It goes with the connection.
    """
    return locks.own(_leadership(name)).try_hold(db)


def end_silent_holder(db: Executor, name: str, silent_s: float) -> bool:
    """Terminate the backend that holds the lock, if there was no beat for `silent_s` (inclusive);
    True when it is gone.

    Who holds it is asked of the lock as it is terminated, not of the row: a process id is used
    again. A leader takes the lock on a fresh connection, so a younger backend has had no time to
    beat yet and is left alone.
    """
    since = func.clock_timestamp() - func.make_interval(0, 0, 0, 0, 0, 0, silent_s)
    if (
        db.execute(
            select(LeaderRow.epoch).where(LeaderRow.name == name, LeaderRow.beat_at > since)
        ).first()
        is not None
    ):
        return False
    return locks.end_holders_of_own(db, _leadership(name), silent_s)


def end_fenced(db: Executor, name: str) -> None:
    """Terminate the backends whose transactions are fenced by an earlier epoch.

    Call it with the lock held.
    """
    locks.end_holders_of_own(db, _fence(name), 0)


def raise_epoch(db: Executor, name: str, holder: str, now: datetime) -> int:
    """Write the new leader down and return its epoch, one above the last.

    Call it with the lock held.
    """
    beat_at = func.clock_timestamp()
    fresh = {
        "holder": holder,
        "backend_pid": func.pg_backend_pid(),
        "since": now,
        "beat_at": beat_at,
        "status": {},
    }
    # The update below would only lock FOR NO KEY UPDATE, which a fence does not wait for. The first
    # epoch is 1.
    held = select(LeaderRow.name).where(LeaderRow.name == name).with_for_update().subquery()
    first = select(literal_column("1") + 0 * func.count()).select_from(held).scalar_subquery()
    statement = insert(LeaderRow).values(name=name, epoch=first, **fresh)
    statement = statement.on_conflict_do_update(
        index_elements=[LeaderRow.name], set_={"epoch": LeaderRow.epoch + 1, **fresh}
    )
    return db.execute(statement.returning(LeaderRow.epoch)).scalar_one()


def beat(db: Executor, name: str, epoch: int, status: Mapping[str, Any]) -> None:
    """Say that the loop lives. Errors: LeadershipLostError when the epoch is not the newest."""
    values = {"of": name, "by": epoch, "said": dict(status)}
    if db.execute(_beat(), values).scalar_one_or_none() is None:
        raise LeadershipLostError(name, epoch)


def require_epoch(db: Executor, name: str, epoch: int) -> None:
    """Fence this transaction: the epoch cannot rise before it ends. Errors: LeadershipLostError."""
    locks.own(_fence(name)).wait_shared(db)
    if db.execute(_led(), {"of": name, "by": epoch}).scalar_one_or_none() is None:
        raise LeadershipLostError(name, epoch)


def keep_out_writes(db: Executor, name: str) -> None:
    """Wait for the fenced transactions under way and keep new ones out until this one ends: for
    short work beside a leader.

    By the mark of the fence, not by the leader's row: its beats go on. A new leader ends this work
    like a fenced transaction.
    Errors: OperationalError when it takes longer than a lock is waited for.
    """
    locks.own(_fence(name)).wait(db)


def leader_row(session: Session, name: str) -> LeaderRow | None:
    """The newest leader of this name, or None when there never was one."""
    return session.get(LeaderRow, name, populate_existing=True)


# Every leader beats twice a second, and each writing transaction is fenced: these are built once.


@cache
def _beat() -> ReturningUpdate[int]:
    fresh = {"beat_at": func.clock_timestamp(), "status": bindparam("said")}
    return update(LeaderRow).where(*_is_led()).values(**fresh).returning(LeaderRow.epoch)


@cache
def _led() -> Select[int]:
    return select(LeaderRow.epoch).where(*_is_led()).with_for_update(read=True, key_share=True)


def _is_led() -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return LeaderRow.name == bindparam("of"), LeaderRow.epoch == bindparam("by")


def _leadership(name: str) -> str:
    return f"leader:{name}"


def _fence(name: str) -> str:
    return f"fence:{name}"

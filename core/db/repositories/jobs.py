"""All SQL of the runs of slow jobs.

Laws
- A run's end is written once, from "under way"; who comes too late changes nothing.
- Whoever writes fences the transaction by the leader's epoch first; nothing here does.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, insert, select, true, update
from sqlalchemy.orm import Session, aliased

from core.db.engine import WriteSession
from core.db.tables.jobs import JobRun
from core.domain.jobs import LastRun

FAILED = "failed"
ENDED_WITH_ITS_PROCESS = "ended with its process"


def begin(session: WriteSession, name: str, every_s: int, epoch: int, holder: str, now: datetime) -> int:
    """Write that a run starts; its id. An earlier run of the job whose end was never written is ended first."""
    end_abandoned(session, now, name)
    values = {"name": name, "every_s": every_s, "started_at": now, "did": {}, "epoch": epoch, "holder": holder}
    return session.execute(insert(JobRun).values(**values).returning(JobRun.id)).scalar_one()


def end(session: WriteSession, run_id: int, outcome: str, error: str | None, did: Mapping[str, Any], now: datetime) -> bool:
    """Write a run's end; False when it has one already."""
    statement = update(JobRun).where(JobRun.id == run_id, JobRun.outcome.is_(None))
    written = statement.values(ended_at=now, outcome=outcome, error=error, did=dict(did)).returning(JobRun.id)
    return session.execute(written).one_or_none() is not None


def end_abandoned(session: WriteSession, now: datetime, name: str | None = None) -> list[str]:
    """Runs under way (of one job, or of all) whose process is gone failed; the names of their jobs."""
    statement = update(JobRun).where(JobRun.outcome.is_(None))
    if name is not None:
        statement = statement.where(JobRun.name == name)
    return list(session.scalars(statement.values(ended_at=now, outcome=FAILED, error=ENDED_WITH_ITS_PROCESS).returning(JobRun.name)))


def forget_others(session: WriteSession, names: Collection[str]) -> None:
    """Drop the runs of jobs that exist no more: nobody waits for their next one."""
    session.execute(delete(JobRun).where(JobRun.name.not_in(names)))


def drop_old_runs(session: WriteSession, before: datetime, limit: int) -> int:
    """Drop at most `limit` runs that started before then; the newest of each job stays. How many were dropped."""
    newer = aliased(JobRun)
    has_newer = select(newer.id).where(newer.name == JobRun.name, newer.id > JobRun.id).exists()
    old = select(JobRun.id).where(JobRun.started_at < before, has_newer).order_by(JobRun.id).limit(limit)
    return len(session.scalars(delete(JobRun).where(JobRun.id.in_(old)).returning(JobRun.id)).all())


def last_runs(session: Session) -> list[LastRun]:
    """The newest run of each job, by name."""
    ended = _newest_ended()
    newest = select(func.max(JobRun.id)).group_by(JobRun.name)
    query = select(JobRun, _failures(), ended.c.did, ended.c.error).outerjoin(ended, true()).where(JobRun.id.in_(newest))
    return [
        LastRun(
            name=row.name,
            every_s=row.every_s,
            started_at=row.started_at,
            ended_at=row.ended_at,
            outcome=row.outcome,
            error=error,
            failures=failures,
            did=did or {},
        )
        for row, failures, did, error in session.execute(query.order_by(JobRun.name))
    ]


def last_done(session: Session, name: str) -> Mapping[str, Any]:
    """What the job's newest good run did; empty when there was none."""
    query = select(JobRun.did).where(JobRun.name == name, JobRun.outcome == "ok").order_by(JobRun.id.desc()).limit(1)
    return session.scalar(query) or {}


def _newest_ended() -> Any:
    past = aliased(JobRun)
    query = select(past.did, past.error).where(past.name == JobRun.name, past.outcome.is_not(None)).order_by(past.id.desc()).limit(1)
    return query.lateral("ended")


def _failures() -> Any:
    """Failed runs since the last one that did not fail."""
    failed, good = aliased(JobRun), aliased(JobRun)
    last_good = select(func.max(good.id)).where(good.name == JobRun.name, good.outcome.in_(("ok", "skipped"))).scalar_subquery()
    is_since = failed.id > func.coalesce(last_good, 0)
    return select(func.count(failed.id)).where(failed.name == JobRun.name, failed.outcome == FAILED, is_since).scalar_subquery()

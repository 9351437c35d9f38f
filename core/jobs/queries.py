"""All SQL of the runs of slow jobs.

Laws
- A run's end is written once, from "under way"; who comes too late changes nothing.
- Whoever writes holds the job's lock (core.jobs.schedule); nothing here takes it.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, delete, func, insert, select, update
from sqlalchemy.orm import Session, aliased

from core.db.engine import WriteSession
from core.jobs.rules import LastRun
from core.jobs.tables import JobRun

FAILED = "failed"
ENDED_WITH_ITS_PROCESS = "ended with its process"


def begin(session: WriteSession, name: str, every_s: int, holder: str, now: datetime) -> int:
    """Write that a run starts; its id."""
    values = {"name": name, "every_s": every_s, "started_at": now, "did": {}, "holder": holder}
    return session.execute(insert(JobRun).values(**values).returning(JobRun.id)).scalar_one()


def end(
    session: WriteSession,
    run_id: int,
    outcome: str,
    error: str | None,
    did: Mapping[str, Any],
    now: datetime,
) -> bool:
    """Write a run's end; False when it has one already."""
    statement = update(JobRun).where(JobRun.id == run_id, JobRun.outcome.is_(None))
    written = statement.values(ended_at=now, outcome=outcome, error=error, did=dict(did)).returning(
        JobRun.id
    )
    return session.execute(written).one_or_none() is not None


def end_abandoned(session: WriteSession, now: datetime, name: str) -> list[str]:
    """Runs under way of a job whose process is gone failed; the job's name for each."""
    statement = update(JobRun).where(JobRun.outcome.is_(None), JobRun.name == name)
    return list(
        session.scalars(
            statement.values(ended_at=now, outcome=FAILED, error=ENDED_WITH_ITS_PROCESS).returning(
                JobRun.name
            )
        )
    )


def last_start(session: Session, name: str) -> datetime | None:
    """When the job's newest run was started; None: it never ran."""
    newest = select(JobRun.started_at).where(JobRun.name == name).order_by(JobRun.id.desc())
    return session.scalar(newest.limit(1))


def forget_others(session: WriteSession, names: Collection[str]) -> None:
    """Drop the runs of jobs that exist no more: nobody waits for their next one."""
    session.execute(delete(JobRun).where(JobRun.name.not_in(names)))


def drop_old_runs(session: WriteSession, before: datetime, limit: int) -> int:
    """Drop at most `limit` runs that started before then; the newest of each job stays.

    How many were dropped.
    """
    newer = aliased(JobRun)
    has_newer = select(newer.id).where(newer.name == JobRun.name, newer.id > JobRun.id).exists()
    old = (
        select(JobRun.id)
        .where(JobRun.started_at < before, has_newer)
        .order_by(JobRun.id)
        .limit(limit)
    )
    return len(session.scalars(delete(JobRun).where(JobRun.id.in_(old)).returning(JobRun.id)).all())


def last_runs(session: Session) -> list[LastRun]:
    """The newest run of each job, by name.

    A few queries for each job: one for all is planned as a walk over all runs.
    """
    newest = select(func.max(JobRun.id)).group_by(JobRun.name)
    query = select(JobRun).where(JobRun.id.in_(newest)).order_by(JobRun.name)
    return [_last_run(session, run) for run in session.scalars(query).all()]


def _last_run(session: Session, run: JobRun) -> LastRun:
    ended = (
        run
        if run.outcome is not None
        else session.scalar(_newest(run.name, JobRun.outcome.is_not(None)))
    )
    return LastRun(
        name=run.name,
        every_s=run.every_s,
        started_at=run.started_at,
        ended_at=run.ended_at,
        outcome=run.outcome,
        error=None if ended is None else ended.error,
        failures=_failures(session, run.name),
        did={} if ended is None else ended.did,
    )


def _failures(session: Session, name: str) -> int:
    """Failed runs since the last one that did not fail."""
    good = session.scalar(_newest(name, JobRun.outcome.in_(("ok", "skipped"))))
    since = 0 if good is None else good.id
    query = select(func.count(JobRun.id)).where(
        JobRun.name == name, JobRun.outcome == FAILED, JobRun.id > since
    )
    return session.scalars(query).one()


def _newest(name: str, is_wanted: ColumnElement[bool]) -> Select[JobRun]:
    return select(JobRun).where(JobRun.name == name, is_wanted).order_by(JobRun.id.desc()).limit(1)


def last_done(session: Session, name: str) -> Mapping[str, Any]:
    """What the job's newest good run did; empty when there was none."""
    good = session.scalar(_newest(name, JobRun.outcome == "ok"))
    return {} if good is None else good.did

"""Days as they were published: read, and published again. Nothing here commits."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict
from datetime import UTC, date, datetime

from sqlalchemy import ARRAY, Text, func, literal, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from core.db.engine import WriteSession
from core.published import rules
from core.published.rules import Figures, PublishCause, PublishedSeries, PublishedVersion
from core.published.tables import PublishedDay


def published(
    session: Session, subject: str, day: date | None = None, version: int | None = None
) -> PublishedVersion | None:
    """That version of that day; without them the newest. None: there is none."""
    query = select(PublishedDay).where(PublishedDay.subject == subject)
    if day is not None:
        query = query.where(PublishedDay.day == day)
    else:
        newest = select(func.max(PublishedDay.day)).where(PublishedDay.subject == subject)
        query = query.where(PublishedDay.day == newest.scalar_subquery())
    if version is not None:
        query = query.where(PublishedDay.version == version)
    found = session.scalar(query.order_by(PublishedDay.version.desc()).limit(1))
    return None if found is None else _version(found)


def newest_of(session: Session, subjects: Collection[str]) -> Mapping[str, PublishedVersion]:
    """The newest version of the newest day of each subject that has one."""
    asked = select(func.unnest(literal(sorted(subjects), ARRAY(Text))).label("subject")).subquery()
    newest = (
        select(PublishedDay)
        .where(PublishedDay.subject == asked.c.subject)
        .order_by(PublishedDay.day.desc(), PublishedDay.version.desc())
        .limit(1)
        .lateral()
    )
    found = session.scalars(select(aliased(PublishedDay, newest)).select_from(asked, newest))
    return {one.subject: _version(one) for one in found}


def as_of(session: Session, series: PublishedSeries, now: datetime, fresh: datetime) -> datetime:
    """The moment for which the UTC day of `now` is to be computed, now or again."""
    return rules.as_of(series, published(session, series.subject, _day(now)), fresh)


def publish(
    session: WriteSession, series: PublishedSeries, found: Figures, at: datetime, now: datetime
) -> PublishedVersion | None:
    """The figures of the UTC day of `now`, computed as of `at`. None: the day has these, or another
    process published it meanwhile.
    """
    before = published(session, series.subject, _day(now))
    figures = json.loads(json.dumps(found))
    cause = rules.cause_of(series, before, at, figures)
    if cause is None:
        return None
    made = PublishedVersion(
        subject=series.subject,
        day=_day(now),
        version=1 if before is None else before.version + 1,
        as_of=at,
        computed_at=now,
        cause=cause,
        rules=series.rules,
        figures=figures,
    )
    added = insert(PublishedDay).values(asdict(made)).on_conflict_do_nothing()
    is_added = session.scalar(added.returning(PublishedDay.version)) is not None
    return made if is_added else None


def _day(now: datetime) -> date:
    return now.astimezone(UTC).date()


def _version(row: PublishedDay) -> PublishedVersion:
    return PublishedVersion(
        subject=row.subject,
        day=row.day,
        version=row.version,
        as_of=row.as_of,
        computed_at=row.computed_at,
        cause=PublishCause(row.cause),
        rules=row.rules,
        figures=row.figures,
    )

"""All SQL of reports but what they print. Nothing here commits."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import Select, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, defer

from api.areas.reports.rules import (
    BUCKET,
    KEPT_FOR,
    MOST_ATTEMPTS,
    RENDERING_FOR,
    ReportFailure,
    ReportState,
    is_spent,
)
from api.areas.reports.tables import ReportHolder, StoredReport
from core.db.engine import WriteSession


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOrder:
    listing_id: int
    version: str
    lang: str
    bucket: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PrintedReport:
    """A PDF, and the figures that it prints."""

    pdf: bytes
    sha256: bytes
    grade: str | None
    score: int | None
    probability: float | None
    coverage: float
    is_simulated: bool


def find_report(session: Session, order: ReportOrder) -> StoredReport | None:
    """The report of this pair, version, language and two hours, without its file."""
    return session.scalar(_of(order))


def request(session: WriteSession, account_id: int, order: ReportOrder, now: datetime) -> int:
    """The report's id: made if there is none, queued again if it failed and is not spent; the account
    has it now. Attempts that ended its process stay counted.
    """
    made = insert(StoredReport).values(
        listing_id=order.listing_id,
        version=order.version,
        lang=order.lang,
        bucket=order.bucket,
        state=ReportState.QUEUED.value,
        state_at=now,
        attempts=0,
        requested_at=now,
    )
    session.execute(made.on_conflict_do_nothing())
    # a statement of its own: it sees the report that another transaction made meanwhile
    report = session.scalars(_of(order)).one()
    is_failed = report.state == ReportState.FAILED.value
    if is_failed and not is_spent(report.failure, report.attempts):
        given_up = report.attempts - report.attempts % MOST_ATTEMPTS
        _move(session, report.id, ReportState.QUEUED, now, failure=None, attempts=given_up)
    holder = insert(ReportHolder).values(
        account_id=account_id, report_id=report.id, requested_at=now
    )
    session.execute(holder.on_conflict_do_nothing())
    return report.id


def has_report(session: Session, account_id: int, report_id: int) -> bool:
    return session.get(ReportHolder, (account_id, report_id)) is not None


def report_of(session: Session, account_id: int, report_id: int) -> StoredReport | None:
    """A report that the account asked for, with its file; None: it did not."""
    if not has_report(session, account_id, report_id):
        return None
    return session.get(StoredReport, report_id)


def reports_before(
    session: Session, account_id: int, listing_id: int, before: int | None, limit: int
) -> Sequence[StoredReport]:
    """What the account asked for of a pair, the newest first, without the files."""
    query = (
        select(StoredReport)
        .join(ReportHolder, ReportHolder.report_id == StoredReport.id)
        .where(ReportHolder.account_id == account_id, StoredReport.listing_id == listing_id)
        .options(defer(StoredReport.pdf))
        .order_by(StoredReport.id.desc())
        .limit(limit)
    )
    return session.scalars(query if before is None else query.where(StoredReport.id < before)).all()


def asked_since(session: Session, account_id: int, since: datetime) -> int:
    """Reports that the account asked for from then on."""
    mine = (ReportHolder.account_id == account_id, ReportHolder.requested_at >= since)
    return session.scalar(select(func.count()).where(*mine)) or 0


# The worker


def requeue_abandoned(session: WriteSession, now: datetime) -> int:
    """Reports whose process died while it rendered them: queued again, or given up. How many."""
    died = (
        StoredReport.state == ReportState.RENDERING.value,
        StoredReport.state_at < now - RENDERING_FOR,
    )
    gave_up = session.execute(
        update(StoredReport)
        .where(*died, StoredReport.attempts % MOST_ATTEMPTS == 0)
        .values(state=ReportState.FAILED.value, failure=ReportFailure.GAVE_UP.value, state_at=now)
        .returning(StoredReport.id)
    )
    count = len(gave_up.all())
    again = session.execute(
        update(StoredReport)
        .where(*died)
        .values(state=ReportState.QUEUED.value, state_at=now)
        .returning(StoredReport.id)
    )
    return count + len(again.all())


def take_queued(session: WriteSession, now: datetime) -> StoredReport | None:
    """The oldest queued report, rendering from now on; None: there is none."""
    query = (
        select(StoredReport)
        .where(StoredReport.state == ReportState.QUEUED.value)
        .order_by(StoredReport.id)
        .limit(1)
        .with_for_update(skip_locked=True)
    )
    report = session.scalar(query)
    if report is not None:
        report.state, report.state_at = ReportState.RENDERING.value, now
        report.attempts += 1
        session.flush()
    return report


def keep_printed(
    session: WriteSession, report_id: int, printed: PrintedReport, now: datetime
) -> None:
    _move(
        session,
        report_id,
        ReportState.READY,
        now,
        pdf=printed.pdf,
        sha256=printed.sha256,
        grade=printed.grade,
        score=printed.score,
        probability=printed.probability,
        coverage=printed.coverage,
        is_simulated=printed.is_simulated,
    )


def keep_failed(
    session: WriteSession, report_id: int, failure: ReportFailure, now: datetime
) -> None:
    _move(session, report_id, ReportState.FAILED, now, failure=failure.value)


def drop_past(session: WriteSession, now: datetime, limit: int) -> int:
    """Drop at most `limit` reports, the oldest first, whose two hours ended 90 days ago or earlier,
    with who has them; how many.
    """
    past = session.scalars(
        select(StoredReport.id)
        .where(StoredReport.bucket <= now - KEPT_FOR - BUCKET)
        .order_by(StoredReport.bucket, StoredReport.id)
        .limit(limit)
    ).all()
    if past:
        session.execute(delete(ReportHolder).where(ReportHolder.report_id.in_(past)))
        session.execute(delete(StoredReport).where(StoredReport.id.in_(past)))
    return len(past)


def _of(order: ReportOrder) -> Select[StoredReport]:
    return (
        select(StoredReport)
        .where(
            StoredReport.listing_id == order.listing_id,
            StoredReport.version == order.version,
            StoredReport.lang == order.lang,
            StoredReport.bucket == order.bucket,
        )
        .options(defer(StoredReport.pdf))
    )


def _move(
    session: WriteSession, report_id: int, state: ReportState, now: datetime, **values: object
) -> None:
    session.execute(
        update(StoredReport)
        .where(StoredReport.id == report_id)
        .values(state=state.value, state_at=now, **values)
        .execution_options(synchronize_session="fetch")
    )

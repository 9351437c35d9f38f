"""Warnings, what they foresaw, and what happened to an asset, in the order of time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Final

from sqlalchemy import ColumnElement, Select, literal_column, select
from sqlalchemy.orm import Session

from core.market.rules.wci import SUBJECT
from core.market.tables import (
    MarketAsset,
    MarketListingState,
    MarketNotice,
    MarketOutcome,
    MarketTransferEvent,
    MarketWarning,
    MarketWarningStanding,
)
from core.published import queries as published
from core.published.rules import PublishedVersion


class TimelineKind(StrEnum):
    WARNING_ISSUED = "warning_issued"
    WARNING_CLEARED = "warning_cleared"
    WARNING_REOPENED = "warning_reopened"
    OUTCOME = "outcome"
    TRANSFER = "transfer"
    LISTED = "listed"
    DELISTED = "delisted"


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """`type`: of a warning or outcome; `direction`, `chain`, `is_open`: of a transfer."""

    at: datetime
    kind: TimelineKind
    exchange: str
    id: int
    type: str | None = None
    severity: str | None = None
    evidence: Any = None
    direction: str | None = None
    chain: str | None = None
    is_open: bool | None = None
    symbol: str | None = None
    title: str | None = None
    url: str | None = None


ORDER: Final = tuple(TimelineKind)
_IS_ISSUED: Final = MarketWarning.action == literal_column("'issued'")  # as indexes say it


@dataclass(frozen=True, slots=True)
class WarningFilter:
    """None: any."""

    exchange: str | None = None
    token: str | None = None
    type: str | None = None
    severity: str | None = None


def open_warnings(
    session: Session, chosen: WarningFilter, before: int | None, limit: int
) -> Sequence[MarketWarningStanding]:
    """The newest first; `before`: a seq, exclusive."""
    query = _chosen(select(MarketWarningStanding), chosen)
    if before is not None:
        query = query.where(MarketWarningStanding.seq < before)
    return session.scalars(query.order_by(MarketWarningStanding.seq.desc()).limit(limit)).all()


def issued_warnings(
    session: Session, chosen: WarningFilter, before: int | None, limit: int
) -> Sequence[tuple[MarketWarning, datetime | None]]:
    """All that were ever issued, the newest first, each with the time at which it was over."""
    query = _chosen(select(MarketWarning), chosen).where(_IS_ISSUED)
    if before is not None:
        query = query.where(MarketWarning.seq < before)
    rows = session.scalars(query.order_by(MarketWarning.seq.desc()).limit(limit)).all()
    seqs = [row.seq for row in rows]
    cleared = (
        select(MarketWarning.clears_seq, MarketWarning.at)
        .where(MarketWarning.clears_seq.in_(seqs))
        .order_by(MarketWarning.seq)
    )
    ended = {row.clears_seq: row.at for row in session.execute(cleared)}
    standing = select(MarketWarningStanding.seq).where(MarketWarningStanding.seq.in_(seqs))
    is_open = set(session.scalars(standing))
    return [(row, None if row.seq in is_open else ended.get(row.seq)) for row in rows]


def statistics_of(
    session: Session, day: date | None = None, version: int | None = None
) -> PublishedVersion | None:
    """That version of that day; without them the newest. None: there is none."""
    return published.published(session, SUBJECT, day, version)


def timeline(
    session: Session, asset_id: int, exchange: str | None, until: datetime | None, limit: int
) -> list[TimelineRow]:
    """What happened to an asset, the newest first; `until`: inclusive."""

    def asked(
        query: Select[Any], columns: Any, at: ColumnElement[Any] | None = None
    ) -> Select[Any]:
        """`columns`: of the table that is asked."""
        query = query.where(columns.asset_id == asset_id)
        if exchange is not None:
            query = query.where(columns.exchange == exchange)
        return query if until is None or at is None else query.where(at <= until)

    of_warnings, of_outcomes = MarketWarning.__table__.c, MarketOutcome.__table__.c
    of_transfers, of_listings = MarketTransferEvent.__table__.c, MarketListingState.__table__.c
    warnings = asked(select(MarketWarning), of_warnings, of_warnings.at)
    selected: tuple[Any, ...] = (MarketOutcome, MarketNotice.title, MarketNotice.url)
    declared = (
        select(*selected)
        .outerjoin(MarketNotice, MarketNotice.id == MarketOutcome.notice_id)
        .where(MarketOutcome.kind.is_not(None))
    )
    outcomes = asked(declared, of_outcomes, of_outcomes.at).order_by(
        MarketOutcome.at.desc(), MarketOutcome.id.desc()
    )
    transfers = asked(select(MarketTransferEvent), of_transfers, of_transfers.at).order_by(
        MarketTransferEvent.at.desc(), MarketTransferEvent.id.desc()
    )
    by_seq = warnings.order_by(MarketWarning.seq.desc())  # of their times too
    found = [
        *map(_warning, session.scalars(by_seq.limit(limit))),
        *(_outcome(*row) for row in session.execute(outcomes.limit(limit))),
        *map(_transfer, session.scalars(transfers.limit(limit))),
    ]
    for row in session.scalars(asked(select(MarketListingState), of_listings)):
        times = {TimelineKind.LISTED: row.first_seen_at, TimelineKind.DELISTED: row.delisted_at}
        found += [
            TimelineRow(at, kind, row.exchange, row.listing_id, symbol=row.symbol)
            for kind, at in times.items()
            if at is not None and (until is None or at <= until)
        ]
    found.sort(key=lambda row: (row.at, ORDER.index(row.kind), row.id), reverse=True)
    return found[:limit]


def _warning(row: MarketWarning) -> TimelineRow:
    return TimelineRow(
        at=row.at,
        kind=TimelineKind(f"warning_{row.action}"),
        exchange=row.exchange,
        id=row.seq,
        type=row.type,
        severity=row.severity,
        evidence=row.evidence,
    )


def _outcome(row: MarketOutcome, title: str | None, url: str | None) -> TimelineRow:
    return TimelineRow(
        at=row.at,
        kind=TimelineKind.OUTCOME,
        exchange=row.exchange,
        id=row.id,
        type=row.kind,
        title=title,
        url=url,
    )


def _transfer(row: MarketTransferEvent) -> TimelineRow:
    return TimelineRow(
        at=row.at,
        kind=TimelineKind.TRANSFER,
        exchange=row.exchange,
        id=row.id,
        direction=row.direction,
        chain=row.chain,
        is_open=row.is_open,
    )


def _chosen(query: Select[Any], chosen: WarningFilter) -> Select[Any]:
    wanted = {name: getattr(chosen, name) for name in ("exchange", "type", "severity")}
    query = query.filter_by(**{name: value for name, value in wanted.items() if value is not None})
    if chosen.token is None:
        return query
    asset = select(MarketAsset.id).where(MarketAsset.ticker == chosen.token).scalar_subquery()
    return query.filter_by(asset_id=asset)

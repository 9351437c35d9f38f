"""Notices and what they declare, kept once and decided once. Nothing here commits."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db import locks
from core.db.engine import WriteSession
from core.market import queries
from core.market.facts import MarketStatus, VenueNotice
from core.market.rules import notices as rules
from core.market.rules.notices import NoticeReading, OutcomeKind, TagSighting
from core.market.tables import MarketListingState, MarketNotice, MarketOutcome, MarketTag

# Held from before an id is given until its transaction ends: ids are committed in their order, so
# whoever reads on from an id misses no row (docs/feeds.md#reading-on).
IN_ORDER: Final = "market_outcome"


@dataclass(frozen=True, slots=True)
class NewOutcome:
    """`kind` None: `exclusion` says why it declares nothing. `notice_id`: a row of notices."""

    exchange: str
    asset_id: int
    reading: NoticeReading
    at: datetime
    notice_id: int | None


@dataclass(frozen=True, slots=True)
class _Base:
    """A base of a notice at its exchange."""

    asset_id: int
    asset_class: str | None
    is_trading: bool


SightingsOf: TypeAlias = Callable[[str, datetime], tuple[TagSighting, ...]]


def learn_notices(
    session: WriteSession,
    found: Sequence[VenueNotice],
    now: datetime,
    sightings_of: SightingsOf | None = None,
) -> int:
    """Those that are new, with what they declare of the coins that they name; how many outcomes.

    `sightings_of`: of tags, by native base and time; None: those that scans have kept.
    """
    if not found:
        return 0
    rows = [asdict(one) | {"notice_id": one.id, "received_at": now} for one in found]
    for row in rows:
        del row["id"]
    locks.own(IN_ORDER).wait(session)
    added = session.execute(
        insert(MarketNotice)
        .values(rows)
        .on_conflict_do_nothing()
        .returning(MarketNotice.id, MarketNotice.exchange, MarketNotice.notice_id)
    ).all()
    by_key = {(one.exchange, one.id): one for one in found}
    outcomes = [
        outcome
        for row_id, exchange, notice_id in added
        for outcome in _declared(session, by_key[exchange, notice_id], row_id, now, sightings_of)
    ]
    return add_outcomes(session, outcomes)


def add_outcomes(session: WriteSession, found: Iterable[NewOutcome]) -> int:
    """Those that are new; how many."""
    rows = [asdict(one) | asdict(one.reading) for one in found]
    for row in rows:
        del row["reading"]
    if not rows:
        return 0
    locks.own(IN_ORDER).wait(session)
    add = insert(MarketOutcome).values(rows).on_conflict_do_nothing()
    return len(session.execute(add.returning(MarketOutcome.id)).all())


def learn_tags(session: WriteSession, exchange: str, now: datetime) -> int:
    """Tags that a venue's list of markets shows and no notice declared, in this scan for the first
    time; call before the sightings of this scan are written. How many.
    """
    shown = session.execute(
        select(MarketListingState.native_base, MarketListingState.asset_id)
        .where(MarketListingState.exchange == exchange, MarketListingState.has_st_tag.is_(True))
        .distinct()
    ).all()
    known = set(
        session.scalars(
            select(MarketOutcome.asset_id).where(
                MarketOutcome.exchange == exchange, MarketOutcome.kind == OutcomeKind.ST_TAG
            )
        )
    )
    is_first_scan = not session.scalar(
        select(func.count()).select_from(MarketTag).where(MarketTag.exchange == exchange)
    )
    found = []
    for base, asset_id in shown:
        if asset_id in known:
            continue
        earlier = queries.tag_sightings(session, exchange, base, now)
        reading = rules.tag_in_scan(TagSighting(now, True, is_first_scan), earlier)
        if reading is not None:
            found.append(NewOutcome(exchange, asset_id, reading, now, None))
    return add_outcomes(session, found)


def _declared(
    session: Session,
    notice: VenueNotice,
    row_id: int,
    now: datetime,
    sightings_of: SightingsOf | None,
) -> Iterable[NewOutcome]:
    for base in notice.native_bases:
        here = _base(session, notice.exchange, base)
        if here is None:
            continue
        sightings = (
            queries.tag_sightings(session, notice.exchange, base, now)
            if sightings_of is None
            else sightings_of(base, notice.published_at)
        )
        reading = rules.read(notice, here.asset_class, here.is_trading, sightings)
        yield NewOutcome(notice.exchange, here.asset_id, reading, notice.published_at, row_id)


def _base(session: Session, exchange: str, native_base: str) -> _Base | None:
    """None: the exchange lists no such coin."""
    rows: Sequence[Any] = session.execute(
        select(
            MarketListingState.asset_id, MarketListingState.asset_class, MarketListingState.status
        )
        .where(
            MarketListingState.exchange == exchange, MarketListingState.native_base == native_base
        )
        .order_by(MarketListingState.listing_id)
    ).all()
    if not rows:
        return None
    return _Base(
        rows[0].asset_id,
        next((row.asset_class for row in rows if row.asset_class), None),
        any(row.status == MarketStatus.TRADING for row in rows),
    )

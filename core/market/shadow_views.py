"""What is read of the shadow fund and of insights: sums and cards, never the trades.

Law: `open_exposures` alone reads trades, those that are open, over their own index.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from sqlalchemy import func, select, union_all
from sqlalchemy.orm import Session, aliased

from core.listings.rules import EXCHANGES
from core.market.rules.quartermaster import WON, PaperVenue, decayed
from core.market.rules.shadow import STAKE_USD_E6, UNKNOWN, Dimension, PaperSlice, ShadowState
from core.market.shadow_tables import (
    MarketInsight,
    ShadowBin,
    ShadowBook,
    ShadowMove,
    ShadowSlice,
    ShadowTrade,
    ShadowVenue,
)

_DIMENSIONS = {one: ShadowSlice.__table__.c[one.value] for one in Dimension}
OPEN_LOOKED_AT = 10_000
MOST_OF_ONE = 50


@dataclass(frozen=True, slots=True)
class Logistics:
    """Paper moves since then."""

    moves: int
    usd_e6: int
    fees_usd_e6: int
    takes_s: int


def book(session: Session) -> ShadowBook | None:
    """None: the fund did not run yet."""
    return session.get(ShadowBook, 1)


def venues(session: Session) -> Sequence[ShadowVenue]:
    return session.scalars(select(ShadowVenue).order_by(ShadowVenue.exchange)).all()


def paper_venues(rows: Iterable[ShadowVenue], now: datetime) -> list[PaperVenue]:
    """What the quartermaster decides by, as of now."""
    return [
        PaperVenue(
            one.exchange,
            one.usd_e6,
            decayed(one.opportunity_usd, one.opportunity_at, now),
            one.quote == WON,
        )
        for one in rows
    ]


def bins(session: Session) -> list[tuple[int, int]]:
    rows = session.execute(select(ShadowBin.pnl_bps, ShadowBin.n).order_by(ShadowBin.pnl_bps))
    return [(row.pnl_bps, row.n) for row in rows]


def slices(session: Session, dims: Sequence[Dimension]) -> list[PaperSlice]:
    """Closed trades by these dimensions, one at least."""
    columns = [_DIMENSIONS[one] for one in dims]
    sums = (
        func.sum(ShadowSlice.n),
        func.sum(ShadowSlice.hits),
        func.sum(ShadowSlice.pnl_usd_e6),
    )
    rows = session.execute(select(*columns, *sums).select_from(ShadowSlice).group_by(*columns))
    return [
        PaperSlice(
            {one.value: value for one, value in zip(dims, key, strict=True)},
            int(n),
            int(hits),
            int(pnl),
        )
        for *key, n, hits, pnl in rows
    ]


def covered(session: Session) -> int:
    """Closed trades whose every dimension is known."""
    known = [column != UNKNOWN for column in _DIMENSIONS.values()]
    return int(session.scalar(select(func.sum(ShadowSlice.n)).where(*known)) or 0)


def open_exposures(session: Session) -> list[tuple[int, float | None]]:
    """The stake and volatility of what is in transit, at most OPEN_LOOKED_AT."""
    query = (
        select(ShadowTrade.sigma_24h)
        .where(ShadowTrade.state == ShadowState.OPEN.value)
        .order_by(ShadowTrade.due_at, ShadowTrade.episode_id)
        .limit(OPEN_LOOKED_AT)
    )
    return [(STAKE_USD_E6, sigma) for sigma in session.scalars(query)]


def logistics(session: Session, since: datetime) -> Logistics:
    row = session.execute(
        select(
            func.count(),
            func.coalesce(func.sum(ShadowMove.usd_e6), 0),
            func.coalesce(func.sum(ShadowMove.fee_usd_e6), 0),
            func.coalesce(func.sum(ShadowMove.takes_s), 0),
        ).where(ShadowMove.at >= since)
    ).one()
    return Logistics(*(int(value) for value in row))


def insights(session: Session, since: date, limit: int) -> Sequence[MarketInsight]:
    """Cards of that UTC day and later that no card of their venue covers, the newest first; of
    each exchange the newest MOST_OF_ONE, so that none hides what the others do.
    """
    of = MarketInsight
    newest = [
        select(of)
        .where(of.exchange == exchange, of.day >= since, of.is_suppressed.is_(False))
        .order_by(of.day.desc(), of.id.desc())
        .limit(MOST_OF_ONE)
        .subquery()
        for exchange in EXCHANGES
    ]
    found = union_all(*(select(one) for one in newest)).subquery()
    query = select(aliased(of, found)).order_by(found.c.day.desc(), found.c.id.desc())
    return session.scalars(query.limit(limit)).all()


def first_day(now: datetime, days: int) -> date:
    """Of the last `days` UTC days, today included."""
    return (now - timedelta(days=days - 1)).date()

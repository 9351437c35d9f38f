"""What buying at one venue and selling at another would make: gaps, spreads of three venues and
more, and the reel of their changes.
"""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.market.scan_tables import MarketGap, MarketGapChange, MarketSpread


def gaps(session: Session, *, is_actionable: bool, limit: int) -> Sequence[MarketGap]:
    """The best first, unknown ones last; `is_actionable`: those alone that are."""
    query = select(MarketGap)
    if is_actionable:
        query = query.where(MarketGap.is_actionable)
    ordered = query.order_by(
        MarketGap.net_1k_bps.desc().nulls_last(), MarketGap.buy_id, MarketGap.sell_id
    )
    return session.scalars(ordered.limit(limit)).all()


def gaps_of(session: Session, asset_id: int, limit: int) -> Sequence[MarketGap]:
    """An asset's, the best first."""
    query = select(MarketGap).where(MarketGap.asset_id == asset_id)
    ordered = query.order_by(
        MarketGap.net_1k_bps.desc().nulls_last(), MarketGap.buy_id, MarketGap.sell_id
    )
    return session.scalars(ordered.limit(limit)).all()


def spreads(session: Session, limit: int) -> Sequence[MarketSpread]:
    """The most profitable first, unknown ones last."""
    query = select(MarketSpread).order_by(
        MarketSpread.profit_usd.desc().nulls_last(), MarketSpread.asset_id
    )
    return session.scalars(query.limit(limit)).all()


def reel(session: Session, before: int | None, limit: int) -> Sequence[MarketGapChange]:
    """Changes, the newest first; `before`: an id, exclusive."""
    query = select(MarketGapChange)
    if before is not None:
        query = query.where(MarketGapChange.id < before)
    return session.scalars(query.order_by(MarketGapChange.id.desc()).limit(limit)).all()

"""What chains say of coins, once a UTC day (docs/market-store.md#on-chain-figures). Nothing here
commits.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import date

from sqlalchemy import exists, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market.facts import OnchainFigures
from core.market.tables import MarketAsset, MarketOnchain


@dataclass(frozen=True, slots=True)
class CoinFigures:
    ticker: str
    figures: OnchainFigures


def has_day(session: Session, day: date) -> bool:
    return bool(session.scalar(select(exists().where(MarketOnchain.day == day))))


def write(session: WriteSession, figures: Sequence[CoinFigures], day: date) -> int:
    """Add them as those of the day; how many. A chain of an asset has one row a day, the first
    given; tickers that no venue lists are left out.
    """
    tickers = {one.ticker for one in figures}
    query = select(MarketAsset.ticker, MarketAsset.id).where(MarketAsset.ticker.in_(tickers))
    ids = {row.ticker: row.id for row in session.execute(query)}
    rows = {
        (ids[one.ticker], one.figures.chain): asdict(one.figures)
        | {"asset_id": ids[one.ticker], "day": day}
        for one in reversed(figures)
        if one.ticker in ids
    }
    if not rows:
        return 0
    added = insert(MarketOnchain).values(list(rows.values())).on_conflict_do_nothing()
    return len(session.execute(added.returning(MarketOnchain.asset_id)).all())

"""Indices: registered from their files, published once a day, read. Nothing here commits."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.fund.rules.indices import (
    RULES,
    Category,
    IndexDefinition,
    MemberFacts,
    MemberMarket,
    compared,
    definition_of,
    has_constituents,
    rows_of,
)
from core.fund.tables import FundIndex, FundVault
from core.market.index_views import CoinMarket, coin_markets, coins_deliverable
from core.money import USDC_E6_PER_USDC
from core.published import queries as published
from core.published.rules import PublishedSeries, PublishedVersion

FOLDER: Final = Path(__file__).parent / "index_files"
MOST_USD: Final = 1e12
MOST_FUNDS: Final = 100  # that an index names
SETTLES_IN: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownIndex:
    """`newest` None: no day yet. `vault_ids`: of its `funds` the oldest MOST_FUNDS."""

    id: int
    key: str
    name: str
    delivery_chain: str
    newest: PublishedVersion | None
    funds: int
    vault_ids: tuple[int, ...]

    @property
    def has_constituents(self) -> bool:
        return self.newest is not None and has_constituents(self.newest.figures)

    @property
    def is_simulated(self) -> bool:
        return self.newest is not None and bool(self.newest.figures["is_simulated"])


@cache
def kept() -> Mapping[str, IndexDefinition]:
    """By key, which is the file's name."""
    return {
        file.stem: definition_of(file.stem, file.read_text())
        for file in sorted(FOLDER.glob("*.toml"))
    }


def categories_of(key: str) -> tuple[Category, ...]:
    """Those that its members have; none of an index whose file is gone."""
    found = kept().get(key)
    return () if found is None else found.categories


def register(session: WriteSession, now: datetime) -> Mapping[str, int]:
    """The ids of all indices that files define, by key; new ones are added, others brought in line."""
    for one in kept().values():
        stated = {"name": one.name, "delivery_chain": one.delivery_chain}
        statement = insert(FundIndex).values(key=one.key, registered_at=now, **stated)
        session.execute(statement.on_conflict_do_update(index_elements=["key"], set_=stated))
    rows = session.execute(select(FundIndex.key, FundIndex.id).where(FundIndex.key.in_(kept())))
    return dict(rows.all())


def write_days(session: WriteSession, now: datetime) -> Mapping[str, int]:
    """Every index's constituents of this UTC day; how many each has, of those that were written."""
    ids = register(session, now)
    written = {key: write_day(session, ids[key], key, now) for key in sorted(ids)}
    return {key: count for key, count in written.items() if count is not None}


def write_day(session: WriteSession, index_id: int, key: str, now: datetime) -> int | None:
    """The index's constituents of this UTC day; how many there are.

    None: the day has these, or no listing of a member is graded yet, so that nothing is known.
    """
    series, index = series_of(index_id), kept()[key]
    at = published.as_of(session, series, now, settled(now))
    markets = coin_markets(session, index.members, at)
    if not any(one.grade for one in markets):
        return None
    rows = rows_of(index, _facts(session, index, markets))
    figures = {
        "delivery_chain": index.delivery_chain,
        "is_simulated": any(one.is_simulated for one in markets),
        "members": [asdict(row) for row in rows],
    }
    if published.publish(session, series, figures, at, now) is None:
        return None
    return sum(row.exclusion is None for row in rows)


def series_of(index_id: int) -> PublishedSeries:
    return PublishedSeries(f"fund_index:{index_id}", RULES, has_constituents, compared)


def settled(now: datetime) -> datetime:
    """The newest hour of which grades and roll-ups are in: the one that is over for an hour."""
    return now.replace(minute=0, second=0, microsecond=0) - SETTLES_IN


def all_indices(session: Session) -> list[ShownIndex]:
    found = session.scalars(select(FundIndex).order_by(FundIndex.id)).all()
    return _shown(session, found)


def find_index(session: Session, index_id: int) -> ShownIndex | None:
    found = session.get(FundIndex, index_id)
    return None if found is None else _shown(session, [found])[0]


def version_of(
    session: Session, index_id: int, day: date | None = None, version: int | None = None
) -> PublishedVersion | None:
    """That version of that day; without them the newest. None: there is none."""
    return published.published(session, series_of(index_id).subject, day, version)


def _shown(session: Session, found: Sequence[FundIndex]) -> list[ShownIndex]:
    ids = [one.id for one in found]
    newest = published.newest_of(session, [series_of(one).subject for one in ids])
    funds = select(FundVault.index_id, func.count()).where(FundVault.index_id.in_(ids))
    counted = dict(session.execute(funds.group_by(FundVault.index_id)).all())
    return [
        ShownIndex(
            id=one.id,
            key=one.key,
            name=one.name,
            delivery_chain=one.delivery_chain,
            newest=newest.get(series_of(one.id).subject),
            funds=counted.get(one.id, 0),
            vault_ids=_oldest_funds(session, one.id),
        )
        for one in found
    ]


def _oldest_funds(session: Session, index_id: int) -> tuple[int, ...]:
    query = select(FundVault.id).where(FundVault.index_id == index_id)
    return tuple(session.scalars(query.order_by(FundVault.id).limit(MOST_FUNDS)))


def _facts(
    session: Session, index: IndexDefinition, markets: Sequence[CoinMarket]
) -> dict[str, MemberFacts]:
    deliverable = coins_deliverable(session, index.members, index.delivery_chain)
    by_ticker: dict[str, list[MemberMarket]] = {}
    for one in markets:
        by_ticker.setdefault(one.ticker, []).append(
            MemberMarket(
                market=one.market,
                exchange=one.exchange,
                contract_groups=one.contract_groups,
                grade=one.grade,
                depth_usdc_e6=_down(one.depth_usd),
            )
        )
    return {
        ticker: MemberFacts(
            ticker=ticker,
            markets=tuple(found),
            is_deliverable=deliverable.get(ticker),
        )
        for ticker, found in by_ticker.items()
    }


def _down(usd: float | None) -> int | None:
    """Where the float ends; what is no amount is unknown."""
    if usd is None or not 0 <= usd <= MOST_USD:
        return None
    return math.floor(usd * USDC_E6_PER_USDC)

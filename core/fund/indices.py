"""Indices: registered from their files, written once a day, read. Nothing here commits."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy import func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.fund.rules.indices import (
    Category,
    IndexDefinition,
    IndexRow,
    MemberExclusion,
    MemberFacts,
    MemberMarket,
    definition_of,
    rows_of,
)
from core.fund.tables import FundIndex, FundIndexDay, FundIndexMember, FundVault
from core.market.index_views import CoinMarket, coin_markets, coins_deliverable
from core.money import USDC_E6_PER_USDC

FOLDER: Final = Path(__file__).parent / "index_files"
MOST_USD: Final = 1e12
MOST_FUNDS: Final = 100  # that an index names


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownIndex:
    """`day` None: no constituents yet. `vault_ids`: of its `funds` the oldest MOST_FUNDS."""

    id: int
    key: str
    name: str
    delivery_chain: str
    day: date | None
    is_simulated: bool
    constituents: int
    deliverables: int
    funds: int
    vault_ids: tuple[int, ...]


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
        said = {"name": one.name, "delivery_chain": one.delivery_chain}
        statement = insert(FundIndex).values(key=one.key, registered_at=now, **said)
        session.execute(statement.on_conflict_do_update(index_elements=["key"], set_=said))
    rows = session.execute(select(FundIndex.key, FundIndex.id).where(FundIndex.key.in_(kept())))
    return dict(rows.all())


def write_days(session: WriteSession, now: datetime) -> Mapping[str, int]:
    """Every index's constituents of this UTC day; how many each has, of those that were written."""
    ids = register(session, now)
    written = {key: write_day(session, ids[key], key, now) for key in sorted(ids)}
    return {key: count for key, count in written.items() if count is not None}


def write_day(session: WriteSession, index_id: int, key: str, now: datetime) -> int | None:
    """The index's constituents of this UTC day; how many there are.

    None: the day is written, or no listing of a member is graded yet, so that nothing is known.
    """
    day = now.astimezone(UTC).date()
    if session.get(FundIndexDay, (index_id, day)) is not None:
        return None
    index = kept()[key]
    markets = coin_markets(session, index.members, now)
    if not any(one.grade for one in markets):
        return None
    made = session.scalar(
        insert(FundIndexDay)
        .values(
            index_id=index_id,
            day=day,
            delivery_chain=index.delivery_chain,
            is_simulated=any(one.is_simulated for one in markets),
            at=now,
        )
        .on_conflict_do_nothing()
        .returning(FundIndexDay.index_id)
    )
    if made is None:
        return None
    rows = rows_of(index, _facts(session, index, markets))
    session.execute(insert(FundIndexMember), [_values(index_id, day, row) for row in rows])
    session.execute(update(FundIndex).where(FundIndex.id == index_id).values(day=day))
    return sum(row.exclusion is None for row in rows)


def all_indices(session: Session) -> list[ShownIndex]:
    found = session.scalars(select(FundIndex).order_by(FundIndex.id)).all()
    return _shown(session, found)


def find_index(session: Session, index_id: int) -> ShownIndex | None:
    found = session.get(FundIndex, index_id)
    return None if found is None else _shown(session, [found])[0]


def rows_on(session: Session, index_id: int, day: date) -> list[IndexRow]:
    """All members of that day, in the order of tickers; empty: the day was not written."""
    query = select(FundIndexMember).where(
        FundIndexMember.index_id == index_id, FundIndexMember.day == day
    )
    return [_row(one) for one in session.scalars(query.order_by(FundIndexMember.ticker))]


def _shown(session: Session, found: Sequence[FundIndex]) -> list[ShownIndex]:
    ids = [one.id for one in found]
    counts = session.execute(
        select(
            FundIndex.id,
            FundIndexDay.is_simulated,
            func.count(FundIndexMember.weight_e4).label("constituents"),
            func.count()
            .filter(
                FundIndexMember.weight_e4.is_not(None), FundIndexMember.is_deliverable.is_(True)
            )
            .label("deliverables"),
        )
        .join(
            FundIndexDay,
            (FundIndexDay.index_id == FundIndex.id) & (FundIndexDay.day == FundIndex.day),
        )
        .join(
            FundIndexMember,
            (FundIndexMember.index_id == FundIndexDay.index_id)
            & (FundIndexMember.day == FundIndexDay.day),
        )
        .where(FundIndex.id.in_(ids))
        .group_by(FundIndex.id, FundIndexDay.is_simulated)
    )
    of_day = {row.id: row for row in counts}
    funds = select(FundVault.index_id, func.count()).where(FundVault.index_id.in_(ids))
    counted = dict(session.execute(funds.group_by(FundVault.index_id)).all())
    return [
        ShownIndex(
            id=one.id,
            key=one.key,
            name=one.name,
            delivery_chain=one.delivery_chain,
            day=one.day,
            is_simulated=one.id in of_day and of_day[one.id].is_simulated,
            constituents=of_day[one.id].constituents if one.id in of_day else 0,
            deliverables=of_day[one.id].deliverables if one.id in of_day else 0,
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


def _values(index_id: int, day: date, row: IndexRow) -> dict[str, object]:
    return {
        "index_id": index_id,
        "day": day,
        "ticker": row.ticker,
        "categories": [one.value for one in row.categories],
        "exclusion": None if row.exclusion is None else row.exclusion.value,
        "market": row.market,
        "weight_e4": row.weight_e4,
        "depth_usdc_e6": row.depth_usdc_e6,
        "venues": row.venues,
        "is_deliverable": row.is_deliverable,
    }


def _row(one: FundIndexMember) -> IndexRow:
    return IndexRow(
        ticker=one.ticker,
        categories=tuple(Category(name) for name in one.categories),
        exclusion=None if one.exclusion is None else MemberExclusion(one.exclusion),
        market=one.market,
        weight_e4=one.weight_e4,
        depth_usdc_e6=one.depth_usdc_e6,
        venues=one.venues,
        is_deliverable=one.is_deliverable,
    )

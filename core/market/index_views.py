"""What is known of coins that an index may hold: who lists them at which grade, how deep, by which
contracts, and whether they can be delivered on a chain (docs/fund.md#indices).

All of it is statistics: float64.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from core.market.rollups import BUCKET
from core.market.tables import (
    MarketAssetState,
    MarketGrade,
    MarketListingState,
    MarketNetwork,
    MarketRollup,
)

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)


@dataclass(frozen=True, slots=True, kw_only=True)
class CoinMarket:
    """`contract_groups`: ids of those that list the coin (core.market.rules.identity); none: its
    exchange gives no contract. `depth_usd`: the median of the two-hour depths within 2 % in seven
    days; None: unknown.
    """

    ticker: str
    market: str
    exchange: str
    contract_groups: tuple[str, ...]
    grade: str | None
    depth_usd: float | None
    is_simulated: bool


def coin_markets(session: Session, tickers: Collection[str], at: datetime) -> list[CoinMarket]:
    """Listings that stood at that moment, of these tickers, with their grades and depths of then.
    Contracts have no history: they are those that are known now.
    """
    depth = func.percentile_cont(0.5).within_group(MarketRollup.depth_2_usd)
    depths = (
        select(depth.label("depth_usd"))
        .where(
            MarketRollup.listing_id == MarketListingState.listing_id,
            MarketRollup.bucket > at - BUCKET - WEEK,
            MarketRollup.bucket <= at - BUCKET,
        )
        .lateral("depths")
    )
    grades = (
        select(MarketGrade.letter)
        .where(
            MarketGrade.listing_id == MarketListingState.listing_id,
            MarketGrade.hour > at - DAY,
            MarketGrade.hour <= at,
        )
        .order_by(MarketGrade.hour.desc())
        .limit(1)
        .lateral("grades")
    )
    query = (
        select(
            MarketListingState.token,
            MarketListingState.token_id,
            MarketListingState.exchange,
            MarketListingState.native_base,
            MarketAssetState.groups,
            grades.c.letter,
            depths.c.depth_usd,
            MarketListingState.is_simulated,
        )
        .join(MarketAssetState, MarketAssetState.asset_id == MarketListingState.asset_id)
        .join(depths, MarketListingState.listing_id > 0)
        .outerjoin(grades, MarketListingState.listing_id > 0)
        .where(
            MarketAssetState.token.in_(tickers),
            MarketListingState.first_seen_at <= at,
            MarketListingState.delisted_at.is_(None) | (MarketListingState.delisted_at > at),
        )
        .order_by(MarketListingState.token_id)
    )
    return [
        CoinMarket(
            ticker=row.token,
            market=row.token_id,
            exchange=row.exchange,
            contract_groups=tuple(
                group["id"]
                for group in row.groups
                if f"{row.exchange}:{row.native_base}" in group["coins"]
            ),
            grade=row.letter,
            depth_usd=row.depth_usd,
            is_simulated=row.is_simulated,
        )
        for row in session.execute(query)
    ]


def coins_deliverable(
    session: Session, tickers: Collection[str], chain: str
) -> dict[str, bool | None]:
    """By ticker, whether a venue says that it lets the coin out on the chain; None: none says. A coin
    without a contract on the chain, nor its own, is not deliverable there.
    """
    on_chain = (MarketNetwork.chain == chain) & (
        MarketNetwork.contract.is_not(None) | MarketNetwork.is_native
    )
    query = (
        select(
            MarketAssetState.token,
            func.count(MarketNetwork.exchange).label("networks"),
            func.count(MarketNetwork.exchange).filter(on_chain).label("there"),
            func.bool_or(MarketNetwork.can_withdraw).filter(on_chain).label("is_open"),
        )
        .outerjoin(MarketNetwork, MarketNetwork.asset_id == MarketAssetState.asset_id)
        .where(MarketAssetState.token.in_(tickers))
        .group_by(MarketAssetState.asset_id)
    )
    return {
        row.token: row.is_open if row.there else False if row.networks else None
        for row in session.execute(query)
    }

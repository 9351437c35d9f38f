"""Tables of what the scanner does and finds beside samples: venues' states, runs, gaps between
venues, microbursts, on-chain figures. Import them from core.market.tables.
"""

from datetime import date, datetime
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Date,
    ForeignKey,
    Identity,
    Index,
    Integer,
    Text,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, BYTEA
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import LOG, Base


class MarketVenueState(Base):
    """How a venue answers. `since`: of the state; `reason`: why it is not ok, in snake_case.

    `lag_s`: how long after the venue's time its books were queryable, the 99th percentile of the
    last minute; `skew_ms`: how far its clock is from ours, the median.
    """

    __tablename__ = "venue_state"
    __table_args__ = (CheckConstraint("state in ('ok', 'degraded', 'down')", name="state"),)

    exchange: Mapped[str] = mapped_column(Text, primary_key=True)
    source: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(Text)
    reason: Mapped[str | None] = mapped_column(Text)
    since: Mapped[datetime]
    lag_s: Mapped[float | None]
    skew_ms: Mapped[int | None]
    books_per_minute: Mapped[int]
    listings: Mapped[int]
    capabilities: Mapped[dict[str, Any]]
    answered_at: Mapped[datetime | None]
    updated_at: Mapped[datetime]


class MarketGap(Base):
    """What buying at one venue and selling at another would make now, net of fees."""

    __tablename__ = "arb_observation"
    __table_args__ = (
        Index("ix_arb_observation_order", text("net_1k_bps desc nulls last"), "buy_id", "sell_id"),
        Index("ix_arb_observation_asset_id", "asset_id"),
    )

    buy_id: Mapped[int] = mapped_column(
        ForeignKey("listing_state.listing_id"), primary_key=True, autoincrement=False
    )
    sell_id: Mapped[int] = mapped_column(
        ForeignKey("listing_state.listing_id"), primary_key=True, autoincrement=False
    )
    asset_id: Mapped[int]
    token: Mapped[str] = mapped_column(Text)
    buy_exchange: Mapped[str] = mapped_column(Text)
    sell_exchange: Mapped[str] = mapped_column(Text)
    gross_bps: Mapped[float]
    net_1k_bps: Mapped[float | None]
    net_5k_bps: Mapped[float | None]
    net_10k_bps: Mapped[float | None]
    transferable: Mapped[str] = mapped_column(Text)
    chains: Mapped[list[str]] = mapped_column(ARRAY(Text))
    is_actionable: Mapped[bool]
    suspect: Mapped[str | None] = mapped_column(Text)
    fx_source: Mapped[str] = mapped_column(Text)
    buy_at: Mapped[datetime]
    sell_at: Mapped[datetime]
    observed_at: Mapped[datetime]


class MarketSpread(Base):
    """The best of three and more venues of an asset now (`legs` as JSON). Both profits are after
    withdrawals; null: unknown.
    """

    __tablename__ = "arb_multi"
    __table_args__ = (
        Index("ix_arb_multi_profit_usd", text("profit_usd desc nulls last"), "asset_id"),
    )

    asset_id: Mapped[int] = mapped_column(
        ForeignKey("market_asset.id"), primary_key=True, autoincrement=False
    )
    token: Mapped[str] = mapped_column(Text)
    venues: Mapped[int] = mapped_column(Integer)
    dispersion: Mapped[float]
    size_usd: Mapped[float | None]
    profit_usd: Mapped[float | None]
    actionable_profit_usd: Mapped[float | None]
    legs: Mapped[list[Any]]
    is_actionable: Mapped[bool]
    observed_at: Mapped[datetime]


class MarketGapChange(Base):
    """The reel: a gap changed. Rows are kept seven days."""

    __tablename__ = "arb_change"
    __table_args__ = (
        Index("ix_arb_change_at", "at"),
        Index("ix_arb_change_asset_id_id", "asset_id", "id"),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    asset_id: Mapped[int]
    token: Mapped[str] = mapped_column(Text)
    buy_exchange: Mapped[str] = mapped_column(Text)
    sell_exchange: Mapped[str] = mapped_column(Text)
    gross_bps: Mapped[float]
    was_bps: Mapped[float | None]  # null: it is new
    net_1k_bps: Mapped[float | None]
    at: Mapped[datetime]


class MarketGapEpisode(Base):
    """A gap that stayed actionable; over when it was not for five minutes. As it was when it began:
    `_fee_bps`, what a taker paid in both markets; `net_1k_bps`, what 1,000 dollars would have made;
    `chain`, the cheapest open one, and what a withdrawal there cost, in coins.
    """

    __tablename__ = "arb_episode"
    __table_args__ = (
        Index(
            "uq_arb_episode_open",
            "buy_id",
            "sell_id",
            unique=True,
            postgresql_where=text("ended_at is null"),
        ),
        Index("ix_arb_episode_last_at", "last_at"),
        Index("ix_arb_episode_asset_id_last_at", "asset_id", "last_at"),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    asset_id: Mapped[int]
    buy_id: Mapped[int]
    sell_id: Mapped[int]
    began_at: Mapped[datetime]
    last_at: Mapped[datetime]
    ended_at: Mapped[datetime | None]
    buy_fee_bps: Mapped[float | None]
    sell_fee_bps: Mapped[float | None]
    net_1k_bps: Mapped[float | None]
    chain: Mapped[str | None] = mapped_column(Text)
    withdraw_fee: Mapped[float | None]


class MarketAssetGapHour(Base):
    """Looks of an hour at gaps above 25 bps of an asset, and those of them that were actionable."""

    __tablename__ = "arb_asset_hour"
    __table_args__ = (Index("ix_arb_asset_hour_hour", "hour"),)

    asset_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    gaps: Mapped[int]
    actionable: Mapped[int]


class MarketBurst(Base):
    """A microburst: 60 s at 1 Hz after a trigger. `samples`: core.market.bursts.packed."""

    __tablename__ = "microburst"
    __table_args__ = (
        Index("ix_microburst_began_at", "began_at"),
        Index("ix_microburst_listing_id_began_at", "listing_id", text("began_at desc")),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    listing_id: Mapped[int] = mapped_column(ForeignKey("listing_state.listing_id"))
    trigger: Mapped[str] = mapped_column(Text)
    began_at: Mapped[datetime]
    ended_at: Mapped[datetime]
    count: Mapped[int] = mapped_column(Integer)
    max_move_bps: Mapped[float | None]
    max_spread_bps: Mapped[float | None]
    min_depth_usd: Mapped[float | None]
    recovery_s: Mapped[float | None]
    samples: Mapped[bytes] = mapped_column(BYTEA)


class MarketOnchain(Base):
    """Figures of a coin on a chain, as they stood on a UTC day."""

    __tablename__ = "onchain_day"
    __table_args__ = (LOG,)

    asset_id: Mapped[int] = mapped_column(
        ForeignKey("market_asset.id"), primary_key=True, autoincrement=False
    )
    chain: Mapped[str] = mapped_column(Text, primary_key=True)
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    supply: Mapped[float | None]
    holders: Mapped[int | None]
    top10_share: Mapped[float | None]
    transfers_24h: Mapped[int | None]
    at: Mapped[datetime]


class MarketSummary(Base):
    """One row: figures of the whole, counted by a slow job (api/areas/market/jobs.py)."""

    __tablename__ = "market_summary"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    figures: Mapped[dict[str, Any]]
    computed_at: Mapped[datetime]


class MarketHistory(Base):
    """One row: the simulated past that was imported; the same world is found again by it."""

    __tablename__ = "market_history"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    seed: Mapped[int]
    origin: Mapped[datetime]
    size: Mapped[int]
    imported_at: Mapped[datetime]


class MarketStateTurn(Base):
    """The newest turn of who changes listing states; its row is theirs until they commit."""

    __tablename__ = "listing_state_turn"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    at: Mapped[datetime]

"""Tables of the shadow fund, which holds no money, and of insights. Import them from
core.market.tables.

- shadow_venue, shadow_bin, shadow_slice and shadow_asset are kept with each trade that closes, in its transaction:
  whoever reads the fund reads no trade.
- `_usd_e6`: paper micro-dollars, not USDC.
"""

from datetime import date, datetime
from typing import Any

from sqlalchemy import CheckConstraint, Date, ForeignKey, Identity, Index, Integer, Text, text
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, sql_list
from core.market.rules.insights import InsightKind
from core.market.rules.shadow import CLOSED, ShadowState


class ShadowTrade(Base):
    """What the paper fund did with an episode of a gap. `coins`: bought; `fee_coins`: what
    withdrawing them costs; `_fee_bps`: of a taker, of the episode; `sigma_24h`: standard deviation of
    a day's log returns; `fingerprint`: of entry.
    """

    __tablename__ = "shadow_trade"
    __table_args__ = (
        CheckConstraint(f"state in {sql_list(ShadowState)}", name="state"),
        CheckConstraint(
            f"(state in {sql_list(CLOSED)}) = (pnl_usd_e6 is not null)", name="pnl_usd_e6"
        ),
        CheckConstraint("(state = 'skipped') = (coins is null)", name="coins"),
        CheckConstraint(
            "state = 'skipped' or (buy_fee_bps is not null and sell_fee_bps is not null)",
            name="fee_bps",
        ),
        Index(
            "ix_shadow_trade_open", "due_at", "episode_id", postgresql_where=text("state = 'open'")
        ),
        Index("ix_shadow_trade_entered_at", "entered_at"),
        Index("ix_shadow_trade_buy_id_sell_id_entered_at", "buy_id", "sell_id", "entered_at"),
    )

    episode_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    asset_id: Mapped[int] = mapped_column(ForeignKey("market_asset.id"))
    token: Mapped[str] = mapped_column(Text)
    buy_id: Mapped[int] = mapped_column(ForeignKey("listing_state.listing_id"))
    sell_id: Mapped[int] = mapped_column(ForeignKey("listing_state.listing_id"))
    buy_exchange: Mapped[str] = mapped_column(Text)
    sell_exchange: Mapped[str] = mapped_column(Text)
    chain: Mapped[str | None] = mapped_column(Text)
    fingerprint: Mapped[dict[str, Any]]
    coins: Mapped[float | None]
    fee_coins: Mapped[float | None]
    buy_fee_bps: Mapped[float | None]
    sell_fee_bps: Mapped[float | None]
    sigma_24h: Mapped[float | None]
    is_simulated: Mapped[bool]
    state: Mapped[str] = mapped_column(Text)
    reason: Mapped[str | None] = mapped_column(Text)
    pnl_usd_e6: Mapped[int | None]
    entered_at: Mapped[datetime]
    due_at: Mapped[datetime]
    closed_at: Mapped[datetime | None]


class ShadowVenue(Base):
    """What the paper fund has at a venue, and what came of what was bought there.
    `opportunity_usd`: as of `opportunity_at`; `usd_per_quote`: the rate of its newest trade.
    """

    __tablename__ = "shadow_venue"

    exchange: Mapped[str] = mapped_column(Text, primary_key=True)
    usd_e6: Mapped[int]
    opportunity_usd: Mapped[float]
    opportunity_at: Mapped[datetime]
    quote: Mapped[str] = mapped_column(Text)
    usd_per_quote: Mapped[float | None]
    rate_at: Mapped[datetime | None]
    settled: Mapped[int]
    returned: Mapped[int]
    voided: Mapped[int]
    skipped: Mapped[int]
    hits: Mapped[int]
    pnl_usd_e6: Mapped[int]
    worst_usd_e6: Mapped[int | None]


class ShadowBin(Base):
    """How many closed trades made this many basis points of their stake."""

    __tablename__ = "shadow_bin"

    pnl_bps: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    n: Mapped[int]


class ShadowSlice(Base):
    """Closed trades of one fingerprint."""

    __tablename__ = "shadow_slice"

    gap_cause: Mapped[str] = mapped_column(Text, primary_key=True)
    deviation_pattern: Mapped[str] = mapped_column(Text, primary_key=True)
    venue_pair: Mapped[str] = mapped_column(Text, primary_key=True)
    chain: Mapped[str] = mapped_column(Text, primary_key=True)
    grade_pair: Mapped[str] = mapped_column(Text, primary_key=True)
    session: Mapped[str] = mapped_column(Text, primary_key=True)
    n: Mapped[int]
    hits: Mapped[int]
    pnl_usd_e6: Mapped[int]


class ShadowAsset(Base):
    """Closed trades of one asset; `since`: when the first of them was entered."""

    __tablename__ = "shadow_asset"

    asset_id: Mapped[int] = mapped_column(
        ForeignKey("market_asset.id"), primary_key=True, autoincrement=False
    )
    n: Mapped[int]
    hits: Mapped[int]
    pnl_usd_e6: Mapped[int]
    since: Mapped[datetime]


class ShadowMove(Base):
    """Paper capital was moved between venues."""

    __tablename__ = "shadow_move"
    __table_args__ = (Index("ix_shadow_move_at", "at"),)

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    from_exchange: Mapped[str] = mapped_column(Text)
    to_exchange: Mapped[str] = mapped_column(Text)
    usd_e6: Mapped[int]
    fee_usd_e6: Mapped[int]
    takes_s: Mapped[int] = mapped_column(Integer)
    at: Mapped[datetime]


class ShadowBook(Base):
    """One row: how far episodes were replayed, and the capital that is at no venue yet."""

    __tablename__ = "shadow_book"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    episode_id: Mapped[int]
    unplaced_usd_e6: Mapped[int]
    rebalanced_on: Mapped[date | None] = mapped_column(Date)
    is_simulated: Mapped[bool]
    computed_at: Mapped[datetime]


class MarketInsight(Base):
    """A card of a detector. `is_suppressed`: the venue's own card says it for all its coins."""

    __tablename__ = "market_insight"
    __table_args__ = (
        CheckConstraint(f"kind in {sql_list(InsightKind)}", name="kind"),
        Index("ix_market_insight_exchange_day_id", "exchange", "day", "id"),
        Index("ix_market_insight_updated_at_id", "updated_at", "id"),
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    key: Mapped[str] = mapped_column(Text, unique=True)
    kind: Mapped[str] = mapped_column(Text)
    exchange: Mapped[str] = mapped_column(Text)
    token: Mapped[str | None] = mapped_column(Text)
    day: Mapped[date] = mapped_column(Date)
    headline: Mapped[str] = mapped_column(Text)
    evidence: Mapped[dict[str, Any]]
    is_suppressed: Mapped[bool]
    is_simulated: Mapped[bool]
    at: Mapped[datetime]
    updated_at: Mapped[datetime]

"""What venues say, what is measured of it, and what follows: samples, roll-ups, grades, states,
transfers, notices, warnings, gaps (docs/market-store.md).

    venue --> snap_1m (a sample per listing and minute) --> snap_2h (two hours) --> grade_hour
                 |                                                                   |
                 +--> listing_state (one row a listing, all that a board row shows) <+--> asset_state

- Partitions of snap_1m (a day), snap_2h and grade_hour (a month) are in the schema `market_parts`,
  made ahead and dropped whole by retention (docs/decisions/0031).
- Prices in the quote currency; `_usd` US dollars; `_bps` 1e-4. Null is unknown.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Float,
    ForeignKey,
    Identity,
    Index,
    Integer,
    SmallInteger,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import LOG, Base, sql_list
from core.market.facts import DataSource, MarketStatus, NoticeKind, NoticeScope
from core.market.scan_tables import MarketAssetGapHour as MarketAssetGapHour
from core.market.scan_tables import MarketBurst as MarketBurst
from core.market.scan_tables import MarketGap as MarketGap
from core.market.scan_tables import MarketGapChange as MarketGapChange
from core.market.scan_tables import MarketGapEpisode as MarketGapEpisode
from core.market.scan_tables import MarketHistory as MarketHistory
from core.market.scan_tables import MarketOnchain as MarketOnchain
from core.market.scan_tables import MarketSpread as MarketSpread
from core.market.scan_tables import MarketStateTurn as MarketStateTurn
from core.market.scan_tables import MarketSummary as MarketSummary
from core.market.scan_tables import MarketVenueState as MarketVenueState
from core.market.shadow_tables import MarketInsight as MarketInsight
from core.market.warning_tables import MarketWarning as MarketWarning
from core.market.warning_tables import MarketWarningHead as MarketWarningHead
from core.market.warning_tables import MarketWarningStanding as MarketWarningStanding

LETTERS = "in ('A', 'B', 'C', 'D', 'F')"
PARTS = "market_parts"  # the schema of partitions


class MarketAsset(Base):
    """A ticker; several coins may share it, which `asset_state.identity` says."""

    __tablename__ = "market_asset"

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    ticker: Mapped[str] = mapped_column(Text, unique=True)


class MarketTag(Base):
    """When a base was last seen with and without a special-treatment tag at an exchange."""

    __tablename__ = "market_tag"

    exchange: Mapped[str] = mapped_column(Text, primary_key=True)
    native_base: Mapped[str] = mapped_column(Text, primary_key=True)
    first_seen_at: Mapped[datetime]
    with_at: Mapped[datetime | None]
    without_at: Mapped[datetime | None]


class _Measured:
    """The columns of MeasureGrid, and what is beside them in a sample."""

    mid: Mapped[float | None]
    spread_bps: Mapped[float | None]
    bid_05_usd: Mapped[float | None]
    ask_05_usd: Mapped[float | None]
    bid_1_usd: Mapped[float | None]
    ask_1_usd: Mapped[float | None]
    bid_2_usd: Mapped[float | None]
    ask_2_usd: Mapped[float | None]
    slip_buy_1k_bps: Mapped[float | None]
    slip_sell_1k_bps: Mapped[float | None]
    slip_buy_10k_bps: Mapped[float | None]
    slip_sell_10k_bps: Mapped[float | None]
    imbalance: Mapped[float | None]
    usd_per_quote: Mapped[float | None]
    fx_source: Mapped[str | None] = mapped_column(Text)
    is_truncated: Mapped[bool | None]
    volume_24h_usd: Mapped[float | None]
    can_deposit: Mapped[bool | None]
    can_withdraw: Mapped[bool | None]


class MarketSample(_Measured, Base):
    """One look at a listing's book, in the minute `ts`. `fault`: why nothing was measured; null: it
    was. `every_s`: how often the listing was looked at then.
    """

    __tablename__ = "snap_1m"
    __table_args__ = (
        CheckConstraint("(fault is null) = (mid is not null)", name="fault"),
        # rows come in the order of time: an hour of a day is a few of its pages
        Index(
            "ix_snap_1m_ts",
            "ts",
            postgresql_using="brin",
            postgresql_with={"pages_per_range": 32, "autosummarize": "on"},
        ),
        {"postgresql_partition_by": "RANGE (ts)"},
    )

    listing_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    ts: Mapped[datetime] = mapped_column(primary_key=True)
    every_s: Mapped[int] = mapped_column(Integer)
    fault: Mapped[str | None] = mapped_column(Text)
    venue_at: Mapped[datetime | None]
    received_at: Mapped[datetime | None]


class MarketRollup(Base):
    """Two hours of samples. `expected`: as many as `every_s` gives; `n`: those measured; `rejected`:
    those looked at and not measured; `gaps`: times of three minutes (or three looks) without one.

    open to close: of the mid. depth_: medians of the smaller side; slip_: of the worse side. `rv`:
    root of the sum of squared log returns. `_share`: of the samples that know it.
    """

    __tablename__ = "snap_2h"
    __table_args__ = ({"postgresql_partition_by": "RANGE (bucket)"},)

    listing_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    bucket: Mapped[datetime] = mapped_column(primary_key=True)
    expected: Mapped[int] = mapped_column(Integer)
    n: Mapped[int] = mapped_column(Integer)
    rejected: Mapped[int] = mapped_column(Integer)
    gaps: Mapped[int] = mapped_column(Integer)
    skew_ms: Mapped[int | None] = mapped_column(Integer)  # median of received_at - venue_at
    open: Mapped[float | None]
    high: Mapped[float | None]
    low: Mapped[float | None]
    close: Mapped[float | None]
    usd_per_quote: Mapped[float | None]  # of the last sample
    spread_p5_bps: Mapped[float | None]
    spread_p50_bps: Mapped[float | None]
    spread_p95_bps: Mapped[float | None]
    depth_1_usd: Mapped[float | None]
    depth_2_usd: Mapped[float | None]
    slip_1k_bps: Mapped[float | None]
    slip_10k_bps: Mapped[float | None]
    volume_24h_usd: Mapped[float | None]
    rv: Mapped[float | None]
    deposit_share: Mapped[float | None]
    withdraw_share: Mapped[float | None]
    truncated_share: Mapped[float | None]
    coverage: Mapped[float]


class MarketUsual(Base):
    """A listing over its trailing seven days of two-hour rows, as of `bucket`, the newest measured one.
    `spreads`: how many of them have one; `spread_mad_bps`: the median distance from their median.
    `first_price_usd`: the median of its first seven days. Null: not known.
    """

    __tablename__ = "market_usual"

    listing_id: Mapped[int] = mapped_column(
        ForeignKey("listing_state.listing_id"), primary_key=True, autoincrement=False
    )
    bucket: Mapped[datetime]
    spreads: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    depth_usd: Mapped[float | None]
    spread_bps: Mapped[float | None]
    spread_mad_bps: Mapped[float | None]
    spread_p95_bps: Mapped[float | None]
    first_price_usd: Mapped[float | None]


class MarketGrade(Base):
    """The grade of a listing at an hour: its letter as shown; parts 0 to 1 each."""

    __tablename__ = "grade_hour"
    __table_args__ = (
        Index("ix_grade_hour_hour_listing_id", "hour", "listing_id"),
        CheckConstraint(f"letter {LETTERS}", name="letter"),
        CheckConstraint("(letter is null) = (score is null)", name="score"),
        {"postgresql_partition_by": "RANGE (hour)"},
    )

    listing_id: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    letter: Mapped[str | None] = mapped_column(Text)
    score: Mapped[float | None]
    part_depth: Mapped[float | None]
    part_spread: Mapped[float | None]
    part_slippage: Mapped[float | None]
    part_volume: Mapped[float | None]
    part_uptime: Mapped[float | None]
    is_provisional: Mapped[bool]
    version: Mapped[str] = mapped_column(Text)


class MarketListingState(_Measured, Base):
    """A pair as its exchange lists it, beside the row of `listing` with the same id, and what is known
    of it now: its last measured sample, its last grade with its inputs, its transfers, its identity.
    A row of a board needs no other table.

    `native_`: as the exchange writes it. `token`: the asset. `delisted_at`: it was missing or delisted
    since. `in_`: inputs of the grade, medians over the trailing 24 hours. `fault`:
    of the last look that measured nothing since. `week_closes`: of the mid, every 12 hours of the week
    before it was last graded, the oldest first; null: nothing was measured. `strong_group`: the asset that its
    contracts make it (rules/identity.py). `order_usd`: what lists are sorted by, the volume when it
    was last graded, so that no sample moves a row in an index.
    """

    __tablename__ = "listing_state"
    __table_args__ = (
        UniqueConstraint("exchange", "native_id"),
        Index("ix_listing_state_order", text("order_usd desc"), "listing_id"),
        Index("ix_listing_state_exchange_order", "exchange", text("order_usd desc"), "listing_id"),
        Index("ix_listing_state_symbol", "symbol", postgresql_ops={"symbol": "text_pattern_ops"}),
        Index("ix_listing_state_asset_id_exchange", "asset_id", "exchange"),
        Index(
            "ix_listing_state_strong_group_token",
            "strong_group",
            "token",
            postgresql_where=text("strong_group is not null"),
        ),
        CheckConstraint(f"grade {LETTERS}", name="grade"),
        CheckConstraint(f"source in {sql_list(DataSource)}", name="source"),
        CheckConstraint(f"status in {sql_list(MarketStatus)}", name="status"),
    )

    listing_id: Mapped[int] = mapped_column(
        ForeignKey("listing.id"), primary_key=True, autoincrement=False
    )
    asset_id: Mapped[int] = mapped_column(ForeignKey("market_asset.id"))
    exchange: Mapped[str] = mapped_column(Text)
    native_id: Mapped[str] = mapped_column(Text)
    native_base: Mapped[str] = mapped_column(Text)
    token: Mapped[str] = mapped_column(Text)
    symbol: Mapped[str] = mapped_column(Text)
    token_id: Mapped[str] = mapped_column(Text, unique=True)
    source: Mapped[str] = mapped_column(Text)
    is_simulated: Mapped[bool]
    status: Mapped[str | None] = mapped_column(Text)
    asset_class: Mapped[str | None] = mapped_column(Text)
    has_st_tag: Mapped[bool | None]
    has_caution: Mapped[bool | None]
    min_size_quote: Mapped[float | None]
    listed_at: Mapped[datetime | None]
    first_seen_at: Mapped[datetime]
    delisted_at: Mapped[datetime | None]
    every_s: Mapped[int | None] = mapped_column(Integer)
    price_usd: Mapped[float | None]  # mid * usd_per_quote
    sampled_at: Mapped[datetime | None]  # the minute of the sample that is shown
    fault: Mapped[str | None] = mapped_column(Text)
    grade: Mapped[str | None] = mapped_column(Text)
    grade_streak: Mapped[int] = mapped_column(SmallInteger, server_default=text("0"))
    score: Mapped[float | None]
    is_provisional: Mapped[bool | None]
    gates: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    part_depth: Mapped[float | None]
    part_spread: Mapped[float | None]
    part_slippage: Mapped[float | None]
    part_volume: Mapped[float | None]
    part_uptime: Mapped[float | None]
    in_depth_usd: Mapped[float | None]
    in_spread_bps: Mapped[float | None]
    in_slip_10k_bps: Mapped[float | None]
    in_volume_24h_usd: Mapped[float | None]
    in_volume_30d_usd: Mapped[float | None]
    in_uptime: Mapped[float | None]
    in_hours: Mapped[float | None]
    in_coverage: Mapped[float | None]
    gpa_7d: Mapped[float | None]
    graded_at: Mapped[datetime | None]
    grade_version: Mapped[str | None] = mapped_column(Text)
    best_24h: Mapped[str | None] = mapped_column(Text)  # the best letter of the 24 hours until then
    week_closes: Mapped[list[float | None] | None] = mapped_column(ARRAY(Float(53)))
    strong_group: Mapped[str | None] = mapped_column(Text)
    order_usd: Mapped[float] = mapped_column(server_default=text("0"))
    updated_at: Mapped[datetime]


class MarketAssetState(Base):
    """What is known of an asset over its venues. `contracts`: [{chain, address, exchanges}];
    `groups`, `links`: the identity graph (rules/identity.py); `watch_usd`: what lists run by.
    """

    __tablename__ = "asset_state"
    __table_args__ = (
        # 'F' sorts above 'A': the worst letter first
        Index(
            "ix_asset_state_watch",
            "gpa_7d",
            text("grade_worst desc"),
            "token",
            postgresql_where=text("gpa_7d is not null"),
        ),
        CheckConstraint(f"grade {LETTERS}", name="grade"),
        CheckConstraint(f"grade_worst {LETTERS}", name="grade_worst"),
    )

    asset_id: Mapped[int] = mapped_column(
        ForeignKey("market_asset.id"), primary_key=True, autoincrement=False
    )
    token: Mapped[str] = mapped_column(Text, unique=True)
    grade: Mapped[str | None] = mapped_column(Text)
    grade_worst: Mapped[str | None] = mapped_column(Text)
    gpa_7d: Mapped[float | None]
    graded_venues: Mapped[int] = mapped_column(Integer, server_default=text("0"))
    graded_at: Mapped[datetime | None]
    identity: Mapped[str | None] = mapped_column(Text)
    transfer: Mapped[str | None] = mapped_column(Text)
    exchanges: Mapped[list[str]] = mapped_column(ARRAY(Text), server_default=text("'{}'"))
    contracts: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))
    groups: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))
    links: Mapped[list[Any]] = mapped_column(server_default=text("'[]'"))
    is_simulated: Mapped[bool]
    updated_at: Mapped[datetime]


class MarketNetwork(Base):
    """A coin on a chain at a venue, as last reported. `deposit_since`, `withdraw_since`: of the
    current state; `scans`: how many answers in a row reported it.
    """

    __tablename__ = "network_status"
    __table_args__ = (Index("ix_network_status_asset_id", "asset_id"),)

    exchange: Mapped[str] = mapped_column(Text, primary_key=True)
    native_base: Mapped[str] = mapped_column(Text, primary_key=True)
    chain: Mapped[str] = mapped_column(Text, primary_key=True)
    asset_id: Mapped[int] = mapped_column(ForeignKey("market_asset.id"))
    can_deposit: Mapped[bool | None]
    can_withdraw: Mapped[bool | None]
    contract: Mapped[str | None] = mapped_column(Text)
    is_native: Mapped[bool]
    withdraw_fee: Mapped[float | None]
    deposit_since: Mapped[datetime]
    withdraw_since: Mapped[datetime]
    scans: Mapped[int] = mapped_column(Integer)
    seen_at: Mapped[datetime]


class MarketTransferEvent(Base):
    """Deposits or withdrawals opened (true), closed (false), or became unknown (null)."""

    __tablename__ = "transfer_event"
    __table_args__ = (
        CheckConstraint("direction in ('deposit', 'withdraw')", name="direction"),
        CheckConstraint("is_open is distinct from was_open", name="changed"),
        Index("ix_transfer_event_asset_id_id", "asset_id", "id"),
        Index("ix_transfer_event_at_id", "at", "id"),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    exchange: Mapped[str] = mapped_column(Text)
    native_base: Mapped[str] = mapped_column(Text)
    chain: Mapped[str] = mapped_column(Text)
    asset_id: Mapped[int] = mapped_column(ForeignKey("market_asset.id"))
    direction: Mapped[str] = mapped_column(Text)
    was_open: Mapped[bool | None]
    is_open: Mapped[bool | None]
    at: Mapped[datetime]


class MarketNotice(Base):
    """A venue's notice, kept once. `notice_id`: the venue's own."""

    __tablename__ = "market_notice"
    __table_args__ = (
        UniqueConstraint("exchange", "notice_id"),
        CheckConstraint(f"kind in {sql_list(NoticeKind)}", name="kind"),
        CheckConstraint(f"scope in {sql_list(NoticeScope)}", name="scope"),
        Index("ix_market_notice_published_at_id", "published_at", "id"),
        Index("ix_market_notice_unsure", "published_at", postgresql_where=text("kind = 'unsure'")),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    exchange: Mapped[str] = mapped_column(Text)
    notice_id: Mapped[str] = mapped_column(Text)
    kind: Mapped[str] = mapped_column(Text)
    scope: Mapped[str] = mapped_column(Text)
    native_bases: Mapped[list[str]] = mapped_column(ARRAY(Text))
    title: Mapped[str] = mapped_column(Text)
    url: Mapped[str | None] = mapped_column(Text)
    published_at: Mapped[datetime]
    effective_at: Mapped[datetime | None]
    received_at: Mapped[datetime]


class MarketOutcome(Base):
    """What a venue declared of a coin, decided once when its notice (or a tag in its markets) was
    stored. `kind` null: an `exclusion` says why it declares nothing.
    """

    __tablename__ = "market_outcome"
    __table_args__ = (
        CheckConstraint("(kind is null) = (exclusion is not null)", name="kind"),
        Index("ix_market_outcome_asset_id_id", "asset_id", "id"),
        Index(
            "uq_market_outcome",
            "exchange",
            "asset_id",
            "kind",
            "notice_id",
            unique=True,
            postgresql_nulls_not_distinct=True,
        ),
        LOG,
    )

    id: Mapped[int] = mapped_column(Identity(always=True), primary_key=True)
    exchange: Mapped[str] = mapped_column(Text)
    asset_id: Mapped[int] = mapped_column(ForeignKey("market_asset.id"))
    kind: Mapped[str | None] = mapped_column(Text)
    exclusion: Mapped[str | None] = mapped_column(Text)
    is_genuine: Mapped[bool]
    at: Mapped[datetime]
    notice_id: Mapped[int | None] = mapped_column(ForeignKey("market_notice.id"))

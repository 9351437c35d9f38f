"""What is usual of a listing and of an exchange, kept so that nobody reads their past again."""

from datetime import datetime

from sqlalchemy import Float, ForeignKey, Text, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column

from core.db.base import Base, Timestamp


class MarketUsual(Base):
    """A listing over its trailing seven days of two-hour rows, as of `bucket`, the newest of them.

    `starts`, `depths_usd`, `spreads_bps`: those rows, in the order of time. `began`: the first
    measured bucket; `first_prices_usd`: of its seven days, emptied when `first_price_usd`, their
    median, is known. Null: not known in any of them. `spread_mad_bps`: the median distance of
    spreads from their median.
    """

    __tablename__ = "market_usual"

    listing_id: Mapped[int] = mapped_column(
        ForeignKey("listing_state.listing_id"), primary_key=True, autoincrement=False
    )
    bucket: Mapped[datetime]
    began: Mapped[datetime]
    depth_usd: Mapped[float | None]
    spread_bps: Mapped[float | None]
    spread_mad_bps: Mapped[float | None]
    spread_p95_bps: Mapped[float | None]
    first_price_usd: Mapped[float | None]
    starts: Mapped[list[datetime]] = mapped_column(ARRAY(Timestamp))
    depths_usd: Mapped[list[float | None]] = mapped_column(ARRAY(Float(53)))
    spreads_bps: Mapped[list[float | None]] = mapped_column(ARRAY(Float(53)))
    first_prices_usd: Mapped[list[float | None]] = mapped_column(
        ARRAY(Float(53)), server_default=text("'{}'")
    )


class MarketPeers(Base):
    """What the pairs of an exchange had when they were last graded: rising, each figure of all pairs
    that have it, or a thousand of them at even distances. `_n`: of how many. A book that ends before
    10,000 dollars has the slip Infinity.
    """

    __tablename__ = "market_peers"

    exchange: Mapped[str] = mapped_column(Text, primary_key=True)
    spread_bps: Mapped[list[float]] = mapped_column(ARRAY(Float(53)))
    depth_usd: Mapped[list[float]] = mapped_column(ARRAY(Float(53)))
    slip_10k_bps: Mapped[list[float]] = mapped_column(ARRAY(Float(53)))
    volume_24h_usd: Mapped[list[float]] = mapped_column(ARRAY(Float(53)))
    spread_n: Mapped[int]
    depth_n: Mapped[int]
    slip_n: Mapped[int]
    volume_n: Mapped[int]
    computed_at: Mapped[datetime]

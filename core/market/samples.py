"""Samples of a minute, written and queryable at once (docs/market-store.md#a-minute).

    measured books of a venue --COPY--> snap_1m --each row by its key--> listing_state

Law: one batch is one venue and one minute, so that a listing has one row in it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import numpy as np
import numpy.typing as npt
from sqlalchemy import BigInteger, any_, cast, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market import copying, states
from core.market.rules.book import MeasureGrid
from core.market.tables import MarketSample

MEASURES: Final = (
    *("mid", "spread_bps", "bid_05_usd", "ask_05_usd", "bid_1_usd", "ask_1_usd"),
    *("bid_2_usd", "ask_2_usd", "slip_buy_1k_bps", "slip_sell_1k_bps"),
    *("slip_buy_10k_bps", "slip_sell_10k_bps", "imbalance", "usd_per_quote"),
)
SHOWN: Final = (
    *MEASURES,
    *("fx_source", "is_truncated", "volume_24h_usd", "can_deposit", "can_withdraw"),
)

_SHOW: Final = text(
    "update listing_state s set "  # noqa: S608 (columns are named above, values are bound)
    + ", ".join(f"{name} = x.{name}" for name in SHOWN)
    + """, price_usd = x.mid * x.usd_per_quote, sampled_at = x.ts, every_s = x.every_s,
        fault = null, updated_at = :now,
        order_usd = case when s.order_usd = 0 then coalesce(x.volume_24h_usd, 0) else s.order_usd end
    from snap_1m x
    where x.ts = :minute and x.listing_id = any(:ids) and x.listing_id = s.listing_id and x.fault is null
      and (s.sampled_at is null or s.sampled_at <= x.ts)"""
)
_FAULTS: Final = text("""
update listing_state s set fault = x.fault, every_s = x.every_s, updated_at = :now
from snap_1m x
where x.ts = :minute and x.listing_id = any(:ids) and x.listing_id = s.listing_id and x.fault is not null
""")
# Each row is found by its key: a small table would be read whole for every batch.
_BY_KEY: Final = text(
    "select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)"
)


@dataclass(frozen=True, slots=True)
class SampleBatch:
    """Looks at listings of one venue, a row each. `minutes_us`: since 1970. `measures`: NaN throughout where
    `faults` has why. can_: 1, 0, or -1 for unknown. `venue_at_us`: -1: the venue gave no time.
    """

    minutes_us: npt.NDArray[np.int64]
    listing_ids: npt.NDArray[np.int64]
    every_s: npt.NDArray[np.int64]
    measures: MeasureGrid
    fx_sources: Sequence[str | None]
    volumes_usd: npt.NDArray[np.float64]
    can_deposit: npt.NDArray[np.int8]
    can_withdraw: npt.NDArray[np.int8]
    venue_at_us: npt.NDArray[np.int64]
    received_at_us: npt.NDArray[np.int64]
    faults: Sequence[str | None]


def write(session: WriteSession, batch: SampleBatch, now: datetime) -> int:
    """Add the samples of one minute and show them; how many.

    Errors: the database's; a minute that has no partition, or a listing that was sampled in it
    already.
    """
    count = copy_samples(session, batch)
    if count:
        minute = datetime.fromtimestamp(int(batch.minutes_us[0]) // 1_000_000, UTC)
        has_faults = any(one is not None for one in batch.faults)
        show(session, batch.listing_ids.tolist(), minute, now, has_faults=has_faults)
    return count


def show(
    session: WriteSession,
    ids: Sequence[int],
    minute: datetime,
    now: datetime,
    *,
    has_faults: bool = False,
) -> None:
    """What the samples of this minute say, of those of the listings that have one."""
    session.execute(_BY_KEY)
    named = {"ids": ids, "minute": minute, "now": states.take_turn(session, now)}
    session.execute(_SHOW, named)
    if has_faults:
        session.execute(_FAULTS, named)


def copy_samples(session: WriteSession, batch: SampleBatch) -> int:
    """Add them to the series alone."""
    return copying.copy_columns(session, MarketSample.__tablename__, columns_of(batch))


def columns_of(batch: SampleBatch) -> dict[str, copying.CopyColumn]:
    faults = copying.words(batch.faults)
    is_fault = ~faults.is_null
    measures = {
        name: np.where(is_fault, np.nan, getattr(batch.measures, name)) for name in MEASURES
    }
    truncated = np.where(is_fault, np.nan, batch.measures.is_truncated)
    return {
        "listing_id": copying.integers(batch.listing_ids),
        "ts": copying.times(batch.minutes_us),
        "every_s": copying.integers(batch.every_s, bits=32),
        "fault": faults,
        **{name: copying.floats(values) for name, values in measures.items()},
        "fx_source": copying.words(batch.fx_sources),
        "is_truncated": copying.flags(truncated),
        "volume_24h_usd": copying.floats(batch.volumes_usd),
        "can_deposit": copying.flags(batch.can_deposit),
        "can_withdraw": copying.flags(batch.can_withdraw),
        "venue_at": copying.times(batch.venue_at_us),
        "received_at": copying.times(batch.received_at_us),
    }


def sampled_in(session: Session, minute: datetime, ids: Sequence[int]) -> frozenset[int]:
    """Those of the listings that have a row in this minute: what a scanner that takes over leaves
    out. Each is looked up by its key, so that a day's other rows cost nothing.
    """
    is_asked = MarketSample.listing_id == any_(cast(list(ids), ARRAY(BigInteger)))
    query = select(MarketSample.listing_id).where(is_asked, MarketSample.ts == minute)
    return frozenset(session.scalars(query))

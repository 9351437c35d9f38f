"""The depths of the last hour's books, held between runs: a run reads the newest minutes alone
(docs/market-store.md#warnings).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from sqlalchemy.orm import Session

from core.market.copying import EPOCH_US, read_rows, row_of, unix_us

HOUR: Final = timedelta(hours=1)
STILL_WRITTEN: Final = timedelta(
    minutes=3
)  # a minute's books come until it is over, and a bit after
LEAST_SEEN_S: Final = 1_800
_LOOK: Final = row_of(">i8", ">i8", ">i4", ">f8")
_LOOKS: Final = """copy (
    select listing_id, ts, every_s, coalesce(least(bid_2_usd, ask_2_usd), 'NaN') from snap_1m
    where ts > '{since}' and ts <= '{now}' and fault is null
) to stdout (format binary)"""


@dataclass(frozen=True, slots=True)
class HourDepth:
    """The highest and lowest depth within 2 % of an hour of which at least half was looked at."""

    high_usd: float
    low_usd: float


@dataclass
class HourLooks:
    """The looks of the last hour. `until`: those up to then are held; `rows_read`: by the last run."""

    until: datetime | None = None
    rows_read: int = 0
    _held: npt.NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=_LOOK))

    def read(self, session: Session, now: datetime) -> Mapping[int, HourDepth]:
        """By listing. What was written since the run before is read, and what may still have come."""
        since = now - HOUR
        if self.until is not None and now >= self.until:
            since = max(since, self.until - STILL_WRITTEN)
        else:
            self._held = self._held[:0]
        statement = _LOOKS.format(since=since.isoformat(), now=now.isoformat()).encode()
        fresh = read_rows(session, statement, _LOOK)
        self.rows_read = fresh.size
        kept = self._held[(self._held["v1"] > _us(now - HOUR)) & (self._held["v1"] <= _us(since))]
        self._held, self.until = np.concatenate((kept, fresh)), now
        return _depths(self._held)


def _us(at: datetime) -> int:
    return unix_us(at) - EPOCH_US


def _depths(looks: npt.NDArray[Any]) -> Mapping[int, HourDepth]:
    looks = looks[~np.isnan(looks["v3"])]
    if not looks.size:
        return {}
    ids = looks["v0"].astype(np.int64)
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    begins = np.flatnonzero(np.diff(ids, prepend=ids[0] - 1))
    depths = looks["v3"][order].astype(np.float64)
    seen_s = np.add.reduceat(looks["v2"][order].astype(np.int64), begins)
    high, low = np.maximum.reduceat(depths, begins), np.minimum.reduceat(depths, begins)
    is_enough = seen_s >= LEAST_SEEN_S
    columns = (ids[begins][is_enough], high[is_enough], low[is_enough])
    return {
        listing_id: HourDepth(most, least)
        for listing_id, most, least in zip(*(one.tolist() for one in columns), strict=True)
    }

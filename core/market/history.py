"""A simulated past, graded as the present is (docs/market-store.md#history).

Rows are listings, columns are buckets of two hours. An hour of the past stands on the medians of the
twelve buckets that end with it: the present's stand on the samples themselves (grading.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt
from sqlalchemy import select
from sqlalchemy.orm import Session

from core.db.engine import WriteSession
from core.market import copying
from core.market.ledger import writer
from core.market.rules import grade
from core.market.rules.grade import GRADE_VERSION, LETTERS, GradeColumns
from core.market.rules.ordering import ordered, picked
from core.market.tables import MarketHistory, MarketListing

Floats: TypeAlias = npt.NDArray[np.float64]

BUCKETS_A_DAY: Final = 12
BUCKETS_30_DAYS: Final = 360
BUCKET_HOURS: Final = 2.0
PARTS: Final = ("part_depth", "part_spread", "part_slippage", "part_volume", "part_uptime")


@dataclass(frozen=True, slots=True)
class PastWindows:
    """(listings, buckets) each; NaN: unknown. `expected`: samples of a bucket."""

    expected: int
    n: npt.NDArray[np.int64]
    rejected: npt.NDArray[np.int64]
    depth_usd: Floats
    spread_bps: Floats
    slip_10k_bps: Floats
    volume_24h_usd: Floats
    truncated_share: Floats


@dataclass(frozen=True, slots=True)
class PastGrades:
    """letter: places in LETTERS, -1: none. parts: (listings, buckets, five)."""

    letter: npt.NDArray[np.int8]
    streak: npt.NDArray[np.int8]
    score: Floats
    parts: Floats
    is_provisional: npt.NDArray[np.bool_]
    volume_30d_usd: Floats


@dataclass(frozen=True, slots=True)
class KnownHistory:
    seed: int
    origin: datetime
    size: int


def grades_of(past: Sequence[PastWindows]) -> list[PastGrades]:
    """The grade at the end of each bucket, with the hysteresis of those before, of each exchange's
    listings.
    """
    scored = [_scored(one) for one in past]
    whole = _joined([grids for grids, _ in scored])
    state = grade.no_states(whole.score.shape[0])
    letter, streak = (np.zeros(whole.score.shape, dtype=np.int8) for _ in range(2))
    for at in range(whole.score.shape[1]):
        state = grade.step_many(state, _at(whole, at))
        letter[:, at], streak[:, at] = state.letter, state.streak
    answer, first = list[PastGrades](), 0
    for grids, volume_30d in scored:
        rows = slice(first, first := first + grids.score.shape[0])
        score = np.where(letter[rows] < 0, np.nan, grids.score)
        answer.append(
            PastGrades(
                letter[rows], streak[rows], score, grids.parts, grids.is_provisional, volume_30d
            )
        )
    return answer


def _scored(past: PastWindows) -> tuple[grade.ScoreColumns, Floats]:
    """The scores of each bucket alone, and the mean volume of 30 days."""
    seen = past.n + past.rejected > 0
    place = np.arange(seen.shape[1])
    first = np.where(seen.any(axis=1), seen.argmax(axis=1), seen.shape[1])[:, None]
    age = np.clip(place - first + 1, 0, BUCKETS_A_DAY)
    whole = np.maximum(age * past.expected, 1)
    valid = _rolled_sum(past.n.astype(np.float64), BUCKETS_A_DAY)
    came = _rolled_sum((past.n + past.rejected).astype(np.float64), BUCKETS_A_DAY)
    volume_30d = _rolled_mean(past.volume_24h_usd, BUCKETS_30_DAYS)
    slips = np.where(past.n > 0, np.nan_to_num(past.slip_10k_bps, nan=np.inf), np.nan)
    slip = _rolled_median(slips)
    inputs = {
        "depth_usd": np.nan_to_num(_rolled_median(past.depth_usd)),
        "spread_bps": np.nan_to_num(_rolled_median(past.spread_bps)),
        "slip_10k_bps": np.where(np.isinf(slip), np.nan, slip),
        "volume_24h_usd": _rolled_median(past.volume_24h_usd),
        "volume_30d_mean_usd": volume_30d,
        "uptime": np.minimum(valid / whole, 1.0),
        "hours": age * BUCKET_HOURS,
        "coverage": np.where(valid > 0, np.minimum(came / whole, 1.0), 0.0),
    }
    truncated = _rolled_median(past.truncated_share) > 0.5
    scored = grade.grade_many(
        GradeColumns(
            **{name: grid.ravel() for name, grid in inputs.items()}, is_truncated=truncated.ravel()
        )
    )
    return _grids(scored, seen.shape), volume_30d


def grade_columns(grades: PastGrades, kept: npt.NDArray[np.bool_]) -> dict[str, copying.CopyColumn]:
    """Of `grade_hour`, but for listing and hour."""
    letter, score = grades.letter[kept], grades.score[kept]
    is_none = letter < 0
    texts = tuple(one.encode() for one in LETTERS)
    return {
        "letter": copying.CopyColumn(letter.astype(np.int64), is_none, texts),
        "score": copying.floats(score),
        **{
            name: copying.floats(np.where(is_none, np.nan, grades.parts[:, :, at][kept]))
            for at, name in enumerate(PARTS)
        },
        "is_provisional": copying.flags(grades.is_provisional[kept]),
        "version": copying.same_word(GRADE_VERSION, len(letter)),
    }


def import_warnings(session: WriteSession, past: Sequence[writer.PastWarning]) -> int:
    """Errors: HistoryRefusedError."""
    return writer.import_history(session, past)


def is_empty(session: Session) -> bool:
    """No venue was ever asked."""
    return session.scalar(select(MarketListing.listing_id).limit(1)) is None


def known(session: Session) -> KnownHistory | None:
    row = session.get(MarketHistory, 1)
    return None if row is None else KnownHistory(row.seed, row.origin, row.size)


def remember(session: WriteSession, seed: int, origin: datetime, size: int, now: datetime) -> None:
    session.add(MarketHistory(id=1, seed=seed, origin=origin, size=size, imported_at=now))


def _rolled_sum(grid: Floats, width: int) -> Floats:
    total = np.cumsum(grid, axis=1)
    total[:, width:] -= total[:, :-width].copy()
    return total


def _rolled_mean(grid: Floats, width: int) -> Floats:
    has = ~np.isnan(grid)
    count = _rolled_sum(has.astype(np.float64), width)
    total = _rolled_sum(np.nan_to_num(grid), width)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _rolled_median(grid: Floats) -> Floats:
    """Of the known values of a day; NaN: none."""
    width = grid.shape[1]
    before = np.full((grid.shape[0], BUCKETS_A_DAY - 1), np.nan)
    whole = np.hstack((before, grid))
    day = ordered([whole[:, back : back + width] for back in range(BUCKETS_A_DAY)])
    known = _rolled_sum((~np.isnan(grid)).astype(np.float64), BUCKETS_A_DAY).astype(np.int64)
    low, high = (np.maximum(known - more, 0) // 2 for more in (1, 0))
    ends = [picked(day, place) for place in (low, high)]
    return np.where(known > 0, (ends[0] + ends[1]) / 2, np.nan)


def _grids(scored: grade.ScoreColumns, shape: tuple[int, ...]) -> grade.ScoreColumns:
    return grade.ScoreColumns(
        score=scored.score.reshape(shape),
        letter=scored.letter.reshape(shape),
        parts=scored.parts.reshape(*shape, len(PARTS)),
        is_gated=scored.is_gated.reshape(shape),
        is_provisional=scored.is_provisional.reshape(shape),
    )


def _at(grids: grade.ScoreColumns, at: int) -> grade.ScoreColumns:
    return grade.ScoreColumns(
        score=grids.score[:, at],
        letter=grids.letter[:, at],
        parts=grids.parts[:, at],
        is_gated=grids.is_gated[:, at],
        is_provisional=grids.is_provisional[:, at],
    )


def _joined(grids: Sequence[grade.ScoreColumns]) -> grade.ScoreColumns:
    return grade.ScoreColumns(
        score=np.concatenate([one.score for one in grids]),
        letter=np.concatenate([one.letter for one in grids]),
        parts=np.concatenate([one.parts for one in grids]),
        is_gated=np.concatenate([one.is_gated for one in grids]),
        is_provisional=np.concatenate([one.is_provisional for one in grids]),
    )

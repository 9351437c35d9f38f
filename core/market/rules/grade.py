"""The liquidity grade of a listing: A, B, C, D or F (docs/market.md#the-grade).

    score = 100 (0.40 depth + 0.20 spread + 0.20 slippage + 0.10 volume + 0.10 uptime)
    A from 80   B from 65   C from 50   D from 35   F below

Laws
- What is not known is left out, its weight with it, and makes the grade provisional. Too little
  seen is no grade; it is never F.
- A gate caps the letter at D at once. Transfers never move a letter.
- A letter moves when the score is 3 points past the cut, or in the third window past it.
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

GRADE_VERSION: Final = "grade_v1"

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]


class Letter(StrEnum):
    A = "A"
    B = "B"
    C = "C"
    D = "D"
    F = "F"


class GradeGate(StrEnum):
    """Why a letter is at most D."""

    WIDE_SPREAD = "wide_spread"
    THIN_DEPTH = "thin_depth"
    LOW_UPTIME = "low_uptime"
    LOW_VOLUME_30D = "low_volume_30d"


CUTS: Final = ((Letter.A, 80.0), (Letter.B, 65.0), (Letter.C, 50.0), (Letter.D, 35.0))
LETTERS: Final = tuple(Letter)
"""Best first; arrays of letters hold places in it, and -1 for no grade."""
GATES: Final = tuple(GradeGate)
WEIGHTS: Final = (0.40, 0.20, 0.20, 0.10, 0.10)
MARGIN: Final = 3.0
WINDOWS_IN_A_ROW: Final = 3
EXHAUSTED_BPS: Final = 1_000.0
LEAST_HOURS: Final = 6.0
LEAST_COVERAGE: Final = 0.5
WHOLE_HOURS: Final = 24.0
WHOLE_COVERAGE: Final = 0.8
LEAST_UPTIME: Final = 0.8
LEAST_DEPTH_USD: Final = 1_000.0
MOST_SPREAD_BPS: Final = 500.0
LEAST_VOLUME_USD: Final = 50_000.0


@dataclass(frozen=True, slots=True)
class GradeColumns:
    """Medians over the trailing 24 hours, of many listings; NaN: unknown.

    depth_usd: the smaller of bid and ask depth within 2 %. slip_10k_bps: of the worse side; NaN:
    the book ended before. uptime: valid two-sided samples / expected ones. hours: from the first
    sample to the window's end, at most 24. coverage: samples of any kind / expected ones.
    """

    depth_usd: Floats
    spread_bps: Floats
    slip_10k_bps: Floats
    volume_24h_usd: Floats
    volume_30d_mean_usd: Floats
    uptime: Floats
    hours: Floats
    coverage: Floats
    is_truncated: Flags


@dataclass(frozen=True, slots=True)
class ScoreColumns:
    """Of many listings. letter: of this window alone, gates applied; what is shown goes through
    `step_many`. score NaN and letter -1: no grade, of fewer than 6 hours or less than half of the
    samples. parts: (listing, depth, spread, slippage, volume and uptime), 0 to 1 each; NaN: unknown,
    left out of the score. gates: (listing, GATES), whether each is shut.
    """

    score: Floats
    letter: npt.NDArray[np.int8]
    parts: Floats
    gates: Flags
    is_provisional: Flags

    def gates_at(self, place: int) -> tuple[GradeGate, ...]:
        """Those that are shut for a listing."""
        return tuple(
            gate for gate, is_shut in zip(GATES, self.gates[place], strict=True) if is_shut
        )


@dataclass(frozen=True, slots=True)
class StateColumns:
    """What is shown of many listings, letter -1: none; and how many windows in a row said better
    (> 0) or worse (< 0).
    """

    letter: npt.NDArray[np.int8]
    streak: npt.NDArray[np.int8]


def no_states(count: int) -> StateColumns:
    return StateColumns(np.full(count, -1, dtype=np.int8), np.zeros(count, dtype=np.int8))


def grade_many(inputs: GradeColumns) -> ScoreColumns:
    """A cut-off book's depth is a lower bound, so it opens no gate of depth."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slip = np.where(
            np.isnan(inputs.slip_10k_bps) & ~inputs.is_truncated,
            EXHAUSTED_BPS,
            inputs.slip_10k_bps,
        )
        parts = np.stack(
            (
                np.log10(inputs.depth_usd / 1e3) / 3,
                1 - np.log10(np.maximum(inputs.spread_bps, 2) / 2) / math.log10(250),
                1 - np.log10(np.maximum(slip, 5) / 5) / math.log10(200),
                np.log10(inputs.volume_24h_usd / 1e4) / 4,
                inputs.uptime,
            ),
            axis=1,
        ).clip(0, 1)
    is_known = ~np.isnan(parts)
    weights = np.where(is_known, np.array(WEIGHTS), 0)
    seen = (inputs.hours >= LEAST_HOURS) & (inputs.coverage >= LEAST_COVERAGE)
    score = np.where(
        seen, 100 * (weights * np.nan_to_num(parts)).sum(axis=1) / weights.sum(axis=1), np.nan
    )
    gates = np.stack(
        (
            inputs.spread_bps > MOST_SPREAD_BPS,
            (inputs.depth_usd < LEAST_DEPTH_USD) & ~inputs.is_truncated,
            inputs.uptime < LEAST_UPTIME,
            inputs.volume_30d_mean_usd < LEAST_VOLUME_USD,
        ),
        axis=-1,
    )
    letter = _letters(score)
    letter = np.where(gates.any(axis=-1), np.maximum(letter, LETTERS.index(Letter.D)), letter)
    return ScoreColumns(
        score=score,
        letter=np.where(seen, letter, -1).astype(np.int8),
        parts=parts,
        gates=gates,
        is_provisional=(inputs.hours < WHOLE_HOURS)
        | (inputs.coverage < WHOLE_COVERAGE)
        | inputs.is_truncated
        | ~is_known.all(axis=1),
    )


def step_many(state: StateColumns, scored: ScoreColumns) -> StateColumns:
    """The states after one more window. A window without a grade forgets the letter; none moves past
    the letter of the window itself.
    """
    now, was = scored.letter.astype(np.int64), state.letter.astype(np.int64)
    direction = np.where(now < was, 1, -1)
    streak = direction * (1 + np.maximum(direction * state.streak, 0))
    sure = _letters(scored.score - direction * MARGIN)
    sure = np.where(direction > 0, np.minimum(sure, was), np.maximum(sure, was))
    sure = np.where(scored.gates.any(axis=-1), np.maximum(sure, LETTERS.index(Letter.D)), sure)
    sure = np.where(direction > 0, np.maximum(sure, now), np.minimum(sure, now))
    is_new, is_same = (now < 0) | (was < 0), now == was
    is_long = np.abs(streak) >= WINDOWS_IN_A_ROW
    letter = np.where(is_new | is_same | is_long, now, sure)
    left = np.where(sure == was, streak, np.where(sure == now, 0, direction))
    return StateColumns(
        letter.astype(np.int8), np.where(is_new | is_same | is_long, 0, left).astype(np.int8)
    )


def _letters(score: Floats) -> npt.NDArray[np.int64]:
    cuts = np.array([cut for _, cut in CUTS])
    with np.errstate(invalid="ignore"):
        return np.asarray((score[:, None] < cuts).sum(axis=1), dtype=np.int64)

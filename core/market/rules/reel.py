"""What changed of a gap, and how many gaps there were (docs/market.md#the-reel).

Laws
- The reel has a row when a gap changes by at least 1 bps, or starts or stops being actionable.
- An episode begins above 25 bps, and ends when the gap was at or below for five minutes without a
  break; what it does in between is the same episode.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from core.market.rules.arbitrage import ArbPair

LEAST_CHANGE_BPS: Final = 1.0
GAP_BPS: Final = 25.0
ENDS_AFTER: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class GapEpisode:
    """`last_above_at`: the newest observation above 25 bps. `ended_at`: None: it goes on."""

    began_at: datetime
    last_above_at: datetime
    peak_bps: float
    was_actionable: bool
    ended_at: datetime | None


@dataclass(frozen=True, slots=True)
class GapObservation:
    at: datetime
    gross_bps: float
    is_actionable: bool


@dataclass(frozen=True, slots=True)
class EpisodeStep:
    """`ended`: the episode that this observation found ended. `going`: the one that goes on."""

    ended: GapEpisode | None
    going: GapEpisode | None


def is_told(was_bps: float | None, was_actionable: bool, seen: ArbPair) -> bool:
    """Whether the reel has a row of it. `was_bps`: what the pair's gap was; None: there was none."""
    return (
        was_bps is None
        or abs(was_bps - seen.gross_bps) >= LEAST_CHANGE_BPS
        or was_actionable != seen.is_actionable
    )


def step_episode(going: GapEpisode | None, seen: GapObservation) -> EpisodeStep:
    """After one more observation of the pair, not older than the last. `going`: without an end."""
    is_above = seen.gross_bps > GAP_BPS
    ended = None
    if going is not None and seen.at - going.last_above_at >= ENDS_AFTER:
        ended, going = replace(going, ended_at=going.last_above_at + ENDS_AFTER), None
    if not is_above:
        return EpisodeStep(ended, going)
    if going is None:
        began = GapEpisode(seen.at, seen.at, seen.gross_bps, seen.is_actionable, None)
        return EpisodeStep(ended, began)
    going = replace(
        going,
        last_above_at=seen.at,
        peak_bps=max(going.peak_bps, seen.gross_bps),
        was_actionable=going.was_actionable or seen.is_actionable,
    )
    return EpisodeStep(ended, going)

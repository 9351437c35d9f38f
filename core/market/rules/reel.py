"""What changed of a gap, and how many gaps there were (docs/market.md#the-reel).

Laws
- The reel has a row when a gap changes by at least 1 bps, or starts or stops being actionable.
- An episode begins above 25 bps, and ends when the gap was at or below for five minutes without a
  break; what it does in between is the same episode.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from core.market.rules.arbitrage import ArbPair

LEAST_CHANGE_BPS: Final = 1.0
GAP_BPS: Final = 25.0
ENDS_AFTER: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class ReelRow:
    """`before_bps`: of the row before it; None: the first of the pair."""

    buy_at: str
    sell_at: str
    at: datetime
    gross_bps: float
    before_bps: float | None
    is_actionable: bool


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


def reel_row(last: ReelRow | None, seen: ArbPair, at: datetime) -> ReelRow | None:
    """None: nothing to tell."""
    if (
        last is not None
        and abs(seen.gross_bps - last.gross_bps) < LEAST_CHANGE_BPS
        and seen.is_actionable == last.is_actionable
    ):
        return None
    before = None if last is None else last.gross_bps
    return ReelRow(seen.buy_at, seen.sell_at, at, seen.gross_bps, before, seen.is_actionable)


def step_episode(episode: GapEpisode | None, seen: GapObservation) -> GapEpisode | None:
    """The pair's newest episode after one more observation. One that has ended is answered with its
    end until another begins; None: there was none.
    """
    is_above = seen.gross_bps > GAP_BPS
    if episode is not None and episode.ended_at is None:
        ends_at = episode.last_above_at + ENDS_AFTER
        if seen.at < ends_at or (is_above and seen.at == ends_at):
            return _longer(episode, seen) if is_above else episode
        episode = GapEpisode(
            episode.began_at,
            episode.last_above_at,
            episode.peak_bps,
            episode.was_actionable,
            ends_at,
        )
    if is_above:
        return GapEpisode(seen.at, seen.at, seen.gross_bps, seen.is_actionable, None)
    return episode


def episodes(seen: Iterable[GapObservation]) -> tuple[GapEpisode, ...]:
    """All of one pair's, in the order of time."""
    found: list[GapEpisode] = []
    now: GapEpisode | None = None
    for one in seen:
        now = step_episode(now, one)
        if now is None:
            continue
        if found and found[-1].began_at == now.began_at:
            found[-1] = now
        else:
            if found and found[-1].ended_at is None:
                last = found[-1]
                found[-1] = GapEpisode(
                    last.began_at,
                    last.last_above_at,
                    last.peak_bps,
                    last.was_actionable,
                    last.last_above_at + ENDS_AFTER,
                )
            found.append(now)
    return tuple(found)


def actionable_share(seen: Sequence[GapObservation]) -> float | None:
    """Of the observations with a gap above 25 bps; None: there was none."""
    gaps = [one for one in seen if one.gross_bps > GAP_BPS]
    return sum(one.is_actionable for one in gaps) / len(gaps) if gaps else None


def _longer(episode: GapEpisode, seen: GapObservation) -> GapEpisode:
    return GapEpisode(
        episode.began_at,
        seen.at,
        max(episode.peak_bps, seen.gross_bps),
        episode.was_actionable or seen.is_actionable,
        None,
    )

"""When a market trades (docs/fund.md#sessions).

    |--- session ---)  closed  |--- half-day ---)  closed  |--- last ---)  unknown
    open inclusive, close exclusive; after the last session of the calendar nothing is known

Law: beyond a calendar's horizon a session is unknown, never guessed.
"""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import Final

from core.errors import InvalidParameterError

ALWAYS: Final = "always"


class SessionState(StrEnum):
    OPEN = "open"
    CLOSED = "closed"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class MarketSession:
    """`next_open`: when it opens again, of a closed one. `closes_at`: None while it never does."""

    state: SessionState
    next_open: datetime | None = None
    closes_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class TradingCalendar:
    """`sessions`: opening and closing in UTC, in order.

    Errors: ValueError for sessions that overlap.
    """

    name: str
    sessions: tuple[tuple[datetime, datetime], ...]

    def __post_init__(self) -> None:
        times = [at for session in self.sessions for at in session]
        if any(after <= before for before, after in pairwise(times)):
            raise ValueError(f"sessions of {self.name} overlap, or are out of order")

    def at(self, now: datetime) -> MarketSession:
        if not self.sessions or now < self.sessions[0][0]:
            return MarketSession(SessionState.UNKNOWN)
        place = bisect_right(self.sessions, now, key=lambda session: session[0])
        closes_at = self.sessions[place - 1][1]
        if now < closes_at:
            return MarketSession(SessionState.OPEN, closes_at=closes_at)
        if place == len(self.sessions):
            return MarketSession(SessionState.UNKNOWN)
        return MarketSession(SessionState.CLOSED, next_open=self.sessions[place][0])


def calendar_of(name: str, text: str) -> TradingCalendar:
    """A calendar as it is kept: a line per session, opening and closing; # begins a comment."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    sessions = [tuple(datetime.fromisoformat(at) for at in line.split()) for line in lines]
    return TradingCalendar(name, tuple((opens, closes) for opens, closes in sessions))


def session_at(calendars: dict[str, TradingCalendar], name: str, now: datetime) -> MarketSession:
    """The session of a market whose rules name this calendar. A calendar that is not kept is
    unknown.
    """
    if name == ALWAYS:
        return MarketSession(SessionState.OPEN)
    found = calendars.get(name)
    return MarketSession(SessionState.UNKNOWN) if found is None else found.at(now)


def require_calendar(names: frozenset[str], name: str, field: str) -> None:
    """Errors: InvalidParameterError."""
    if name != ALWAYS and name not in names:
        known = ", ".join(sorted({ALWAYS, *names}))
        raise InvalidParameterError(field, f"name a calendar that is kept: {known}")

"""The end of a leg: when its mandate has ended, the keeper closes the positions of its account.

    mandate ended --> pending --no position is left--> closed
                         |'--the keeper has no key, or the owner unbound--> left_open
                         '--tried again after RETRY_S, twice as long each time up to SLOWEST_RETRY_S

Laws
- closed and left_open are final: what is opened afterwards is its owner's.
- A stop-line row is written when what it says changes, not for each try.
Source: docs/perpetuals.md#closing.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

RETRY_S = 15
SLOWEST_RETRY_S = 900
STUCK_TRIES = 5  # in a row that filled nothing: about eight minutes


class ClosingStatus(StrEnum):
    PENDING = "pending"
    CLOSED = "closed"
    LEFT_OPEN = "left_open"


class LeftOpen(StrEnum):
    """Why positions are left as they are."""

    NO_KEY = "no_key"
    UNBOUND = "unbound"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosingState:
    """How far the closing is. `is_transient`: only reachability or a partial fill is in the way;
    `is_key_lost`: the venue no longer accepts the key. At most one of them, and only while pending.
    """

    status: ClosingStatus
    is_transient: bool = False
    is_key_lost: bool = False
    why: LeftOpen | None = None


CLOSED = ClosingState(status=ClosingStatus.CLOSED)
TRANSIENT = ClosingState(status=ClosingStatus.PENDING, is_transient=True)
KEY_LOST = ClosingState(status=ClosingStatus.PENDING, is_key_lost=True)
NO_KEY = ClosingState(status=ClosingStatus.LEFT_OPEN, why=LeftOpen.NO_KEY)
UNBOUND = ClosingState(status=ClosingStatus.LEFT_OPEN, why=LeftOpen.UNBOUND)


@dataclass(frozen=True, slots=True, kw_only=True)
class Closing:
    """`found` None: not tried yet."""

    status: ClosingStatus
    found: ClosingState | None


def next_try_at(tries: int, now: datetime) -> datetime:
    """`tries`: in a row that filled nothing, from 0."""
    doublings = min(tries, SLOWEST_RETRY_S.bit_length())
    return now + timedelta(seconds=min(RETRY_S << doublings, SLOWEST_RETRY_S))

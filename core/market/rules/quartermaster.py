"""Where the shadow fund's paper capital should be (docs/shadow-fund.md#quartermaster).

    share    0 ..... floor ........... cap ..... 1
    status     under   |     band       |  over

Laws
- A venue's weight is its part of what opportunities were worth lately (half-life 7 days).
- floor = half the weight, cap = 1.5 times the weight and at most 35 %; the floor is never above it.
- A move takes from a venue no more than it has above its cap, and gives another no more than it lacks
  to its floor. Its fee comes on top: a venue gives only what it can also pay the fee for.
- Moves change where capital is, never how much there is, but for their fee.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

HALF_LIFE_DAYS: Final = 7.0
WON: Final = "KRW"
MOST_SHARE: Final = 0.35
HEDGE_SIGMAS: Final = 1.5
LEAST_MOVE_USD_E6: Final = 10_000_000
_DAY_S: Final = 86_400.0
_FLAT_FEE_USD_E6: Final = 1_000_000
_WON_FEE_PART: Final = 1_000  # of what is moved
_PLAIN_S: Final = 1_800
_WON_S: Final = 3_600


class BandStatus(StrEnum):
    UNDER = "under"
    BAND = "band"
    OVER = "over"


@dataclass(frozen=True, slots=True)
class PaperVenue:
    """`opportunity_usd`: decayed to now. `is_won`: quoted in won, which leaves by way of a coin."""

    exchange: str
    usd_e6: int
    opportunity_usd: float
    is_won: bool


@dataclass(frozen=True, slots=True)
class VenueBand:
    """Shares of the capital that is placed. None: no opportunity was seen, so nothing is said."""

    exchange: str
    usd_e6: int
    share: float | None
    weight: float | None
    floor: float | None
    cap: float | None
    status: BandStatus | None
    is_concentrated: bool


@dataclass(frozen=True, slots=True)
class PaperMove:
    from_at: str
    to_at: str
    usd_e6: int
    fee_usd_e6: int
    takes_s: int


def decayed(value: float, since: datetime, now: datetime) -> float:
    """A value of then, now; half after 7 days."""
    days = max((now - since).total_seconds(), 0.0) / _DAY_S
    return float(value * 0.5 ** (days / HALF_LIFE_DAYS))


def bands(venues: Sequence[PaperVenue]) -> tuple[VenueBand, ...]:
    total = sum(one.usd_e6 for one in venues)
    worth = sum(one.opportunity_usd for one in venues)
    return tuple(_band(one, total, worth) for one in sorted(venues, key=lambda one: one.exchange))


def moves(venues: Sequence[PaperVenue]) -> tuple[PaperMove, ...]:
    """From venues over their cap to those under their floor, the cheapest pair first."""
    total = sum(one.usd_e6 for one in venues)
    found = {one.exchange: one for one in bands(venues)}
    won = {one.exchange: one.is_won for one in venues}
    spare = {
        name: one.usd_e6 - _part(one.cap, total)
        for name, one in found.items()
        if one.status is BandStatus.OVER
    }
    need = {
        name: _part(one.floor, total) - one.usd_e6
        for name, one in found.items()
        if one.status is BandStatus.UNDER
    }
    pairs = sorted(
        ((a, b) for a in spare for b in need),
        key=lambda pair: (won[pair[0]] + won[pair[1]], pair),
    )
    held = {name: one.usd_e6 for name, one in found.items()}
    planned = list[PaperMove]()
    for from_at, to_at in pairs:
        steps = won[from_at] + won[to_at]
        amount = min(spare[from_at], need[to_at], _affordable(held[from_at], steps))
        if amount < LEAST_MOVE_USD_E6:
            continue
        fee = _FLAT_FEE_USD_E6 + amount // _WON_FEE_PART * steps
        spare[from_at] -= amount
        need[to_at] -= amount
        held[from_at] -= amount + fee
        takes_s = _WON_S if steps else _PLAIN_S
        planned.append(PaperMove(from_at, to_at, amount, fee, takes_s))
    return tuple(planned)


def hedge_usd_e6(exposures: Sequence[tuple[int, float | None]]) -> tuple[int | None, int]:
    """What a hedge of coins in transit reserves, and how many have no known volatility. None: none
    of them has.

    `exposures`: (worth, standard deviation of 24 hours).
    """
    known = [(usd_e6, sigma) for usd_e6, sigma in exposures if sigma is not None]
    reserved = sum(round(HEDGE_SIGMAS * sigma * usd_e6) for usd_e6, sigma in known)
    return (reserved if known or not exposures else None), len(exposures) - len(known)


def after(venues: Mapping[str, int], planned: Sequence[PaperMove]) -> dict[str, int]:
    """Capital by venue once the moves arrived; whoever gives pays the fee."""
    found = dict(venues)
    for one in planned:
        found[one.from_at] -= one.usd_e6 + one.fee_usd_e6
        found[one.to_at] += one.usd_e6
    return found


def _band(one: PaperVenue, total: int, worth: float) -> VenueBand:
    share = one.usd_e6 / total if total > 0 else None
    is_concentrated = share is not None and share > MOST_SHARE
    if worth <= 0 or share is None:
        return VenueBand(one.exchange, one.usd_e6, share, None, None, None, None, is_concentrated)
    weight = one.opportunity_usd / worth
    cap = min(1.5 * weight, MOST_SHARE)
    floor = min(0.5 * weight, cap)
    status = BandStatus.BAND
    if share < floor:
        status = BandStatus.UNDER
    elif share > cap:
        status = BandStatus.OVER
    return VenueBand(one.exchange, one.usd_e6, share, weight, floor, cap, status, is_concentrated)


def _affordable(usd_e6: int, steps: int) -> int:
    """The most that can be moved of it, the fee paid."""
    return max(usd_e6 - _FLAT_FEE_USD_E6, 0) * _WON_FEE_PART // (_WON_FEE_PART + steps)


def _part(share: float | None, total: int) -> int:
    return 0 if share is None else round(share * total)

"""The shadow fund: what taking every actionable gap would have made, on paper (docs/shadow-fund.md).

    episode begins --the next sample of both books--> open --transfer's time--> the next sample there
        |                                               |                          '--> settled: sold at the other venue
        |                                               '--withdrawals closed meanwhile--> returned: sold where it was bought
        '--> skipped: no capital there, no known fee      '--no sample within 10 minutes, or one of a gain
                                                           that is not believed--> void: no result, not zero

Laws
- A result is rounded to micro-dollars once, when its trade closes; sums of results are exact.
- A fingerprint is frozen at entry: nothing that is known later may sort a trade.
- A dimension that is not known is `unknown`, a slice of its own.
- A trade loses at most its stake, and a gain above its stake is not believed.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from math import floor
from typing import Final

STAKE_USD: Final = 1_000.0
STAKE_USD_E6: Final = 1_000_000_000
MOST_GAIN_USD: Final = STAKE_USD  # of a trade; a price that gives more is no price
ENTRY_WITHIN: Final = timedelta(minutes=5)
EXIT_WITHIN: Final = timedelta(minutes=10)
RECURS_WITHIN: Final = timedelta(hours=24)
WIDE_BPS: Final = 200.0
MOST_BIN_BPS: Final = 5_000
UNKNOWN: Final = "unknown"
OTHER: Final = "other"
QUANTILES: Final = (5, 25, 50, 75, 95)
# How long a transfer takes until the other venue has credited it.
_TRANSFER_MINUTES: Final = {
    "bip122:000000000019d6689c085ae165831e93": 60,
    "eip155:1": 15,
    "eip155:56": 5,
    "eip155:137": 10,
    "eip155:10": 15,
    "eip155:42161": 15,
    "eip155:8453": 15,
}
_USUAL_TRANSFER_MINUTES: Final = 30
_E6: Final = 1_000_000
_BPS: Final = 10_000.0


class ShadowState(StrEnum):
    OPEN = "open"
    SETTLED = "settled"
    RETURNED = "returned"
    VOID = "void"
    SKIPPED = "skipped"


CLOSED: Final = (ShadowState.SETTLED, ShadowState.RETURNED)


class Dimension(StrEnum):
    """What a result can be sorted by."""

    GAP_CAUSE = "gap_cause"
    DEVIATION_PATTERN = "deviation_pattern"
    VENUE_PAIR = "venue_pair"
    CHAIN = "chain"
    GRADE_PAIR = "grade_pair"
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class ShadowSide:
    """A venue's book as sampled: the mid in dollars and what 1,000 dollars move it, in bps; None:
    the book ends before.
    """

    mid_usd: float
    slip_bps: float | None
    taker_bps: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryFacts:
    """What is known at entry. `letters`: of the buying and the selling listing."""

    buy_at: str
    sell_at: str
    chain: str | None
    letters: tuple[str | None, str | None]
    quotes: tuple[str, str]
    is_designated: bool
    is_reopened: bool
    net_1k_bps: float | None
    is_recurring: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class PaperSlice:
    """Results of one fingerprint, or of a group of them. `key`: by dimension."""

    key: Mapping[str, str]
    n: int
    hits: int
    pnl_usd_e6: int


@dataclass(frozen=True, slots=True)
class PaperSpread:
    """How results lie: of closed trades. None: there is none."""

    n: int
    mean_bps: float | None
    quantiles_bps: Mapping[int, int | None]


def transfer_time(chain: str | None) -> timedelta:
    minutes = _TRANSFER_MINUTES.get(chain or "", _USUAL_TRANSFER_MINUTES)
    return timedelta(minutes=minutes)


def bought(side: ShadowSide) -> float | None:
    """Coins for the stake, fee paid; None: the book ends before."""
    if side.slip_bps is None or side.mid_usd <= 0:
        return None
    price = side.mid_usd * (1 + side.slip_bps / _BPS)
    return STAKE_USD / (price * (1 + side.taker_bps / _BPS))


def result_usd_e6(coins: float, side: ShadowSide) -> int | None:
    """What selling them makes above the stake; negative: a loss, of the stake at most. None: the book
    ends before, or it makes more than is believed.
    """
    if side.slip_bps is None:
        return None
    kept = max(1 - side.slip_bps / _BPS, 0.0) * (1 - side.taker_bps / _BPS)
    made = max(coins, 0.0) * side.mid_usd * kept - STAKE_USD
    return round(made * _E6) if made <= MOST_GAIN_USD else None


def result_bps(pnl_usd_e6: int) -> int:
    """The whole basis point at or below, at most MOST_BIN_BPS either way."""
    found = floor(pnl_usd_e6 * _BPS / STAKE_USD_E6)
    return max(-MOST_BIN_BPS, min(MOST_BIN_BPS, found))


def fingerprint(facts: EntryFacts) -> dict[str, str]:
    letters = facts.letters
    known = None not in letters
    return {
        Dimension.GAP_CAUSE.value: _cause(facts),
        Dimension.DEVIATION_PATTERN.value: _pattern(facts),
        Dimension.VENUE_PAIR.value: f"{facts.buy_at}>{facts.sell_at}",
        Dimension.CHAIN.value: facts.chain or UNKNOWN,
        Dimension.GRADE_PAIR.value: f"{letters[0]}/{letters[1]}" if known else UNKNOWN,
        Dimension.SESSION.value: ("asia", "europe", "america")[facts.at.hour // 8],
    }


def spread_of(bins: Sequence[tuple[int, int]], pnl_usd_e6: int) -> PaperSpread:
    """`bins`: (basis points, how many), in ascending order. A quantile is the smallest result that
    so many percent do not exceed, to one basis point.
    """
    n = sum(count for _, count in bins)
    if n == 0:
        return PaperSpread(0, None, dict.fromkeys(QUANTILES))
    found, seen, at = dict[int, int | None](), 0, iter(QUANTILES)
    want = next(at, None)
    for bps, count in bins:
        seen += count
        while want is not None and seen * 100 >= want * n:
            found[want] = bps
            want = next(at, None)
    return PaperSpread(n, pnl_usd_e6 * _BPS / STAKE_USD_E6 / n, found)


def folded(slices: Iterable[PaperSlice], least: int, most: int) -> tuple[PaperSlice, ...]:
    """The slices of at least `least` trades, the most trades first and at most `most`; all others
    as one, `other`, at the end. Sums stay what they are.
    """
    ordered = sorted(slices, key=lambda one: (-one.n, tuple(one.key.values())))
    kept = [one for one in ordered if one.n >= least][:most]
    rest = ordered[len(kept) :]
    if not rest:
        return tuple(kept)
    key = dict.fromkeys(rest[0].key, OTHER)
    other = PaperSlice(
        key,
        sum(one.n for one in rest),
        sum(one.hits for one in rest),
        sum(one.pnl_usd_e6 for one in rest),
    )
    return (*kept, other)


def _cause(facts: EntryFacts) -> str:
    if facts.is_designated:
        return "designation"
    if facts.is_reopened:
        return "transfer_reopened"
    if "KRW" in facts.quotes and facts.quotes != ("KRW", "KRW"):
        return "won_premium"
    if None in facts.letters:
        return UNKNOWN
    return "thin_book" if {"D", "F"} & set(facts.letters) else "price_lead"


def _pattern(facts: EntryFacts) -> str:
    if facts.is_recurring:
        return "recurring"
    if facts.net_1k_bps is None:
        return UNKNOWN
    return "wide" if facts.net_1k_bps >= WIDE_BPS else "fresh"

"""What two detectors say of venues and market makers (docs/shadow-fund.md#insights).

    venue_drain   a coin's deposits or withdrawals closed within 24 hours, and its book is at most half
    venue_risk    the same venue closed ten coins or more: one card for all, instead of each one's
    mm_signal     for 30 minutes: spread far above and both sides thin (a maker left), or the inverse

Laws
- Only what a venue says is closed counts; unknown is not closed.
- A usual figure that is not known, or never varies, gives no signal.
- A card is one per detector, venue, coin and UTC day; seen again it is the same card.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum
from typing import Final, TypeVar

T = TypeVar("T")

DRAIN_WITHIN: Final = timedelta(hours=24)
DRAINED_SHARE: Final = 0.5
RISK_TOKENS: Final = 10
ONE_CHAIN_SHARE: Final = 0.8
Z_MOST: Final = 4.0
THIN_SHARE: Final = 0.4
SUSTAINED: Final = timedelta(minutes=30)
_MAD_TO_SIGMA: Final = 1.4826


class InsightKind(StrEnum):
    VENUE_DRAIN = "venue_drain"
    VENUE_RISK = "venue_risk"
    MM_EXIT = "mm_exit"
    MM_ENTER = "mm_enter"


DETECTOR_OF: Final = {
    InsightKind.VENUE_DRAIN: "venue_drain",
    InsightKind.VENUE_RISK: "venue_drain",
    InsightKind.MM_EXIT: "mm_signal",
    InsightKind.MM_ENTER: "mm_signal",
}


@dataclass(frozen=True, slots=True)
class ClosedCoin:
    """A coin that a venue closed within 24 hours. depth: the smaller side now, and its usual."""

    token: str
    chains: frozenset[str]
    is_still_closed: bool
    depth_usd: float | None
    usual_depth_usd: float | None

    @property
    def depth_share(self) -> float | None:
        if self.depth_usd is None or not self.usual_depth_usd:
            return None
        return self.depth_usd / self.usual_depth_usd


@dataclass(frozen=True, slots=True)
class InsightCard:
    """`token` None: of the venue."""

    kind: InsightKind
    exchange: str
    token: str | None
    headline: str
    evidence: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class MakerUsual:
    """Medians of seven days, and the median distance from that of the spread."""

    spread_bps: float
    spread_mad_bps: float
    depth_usd: float


@dataclass(frozen=True, slots=True)
class MakerLook:
    at: datetime
    spread_bps: float | None
    bid_usd: float | None
    ask_usd: float | None


def card_key(card: InsightCard, day: date) -> str:
    return ":".join((card.kind.value, card.exchange, card.token or "*", day.isoformat()))


def drains(exchange: str, closed: Sequence[ClosedCoin]) -> tuple[InsightCard, ...]:
    """The venue's cards of now: one of the venue, or one of each coin that is drained.

    `closed`: each coin once.
    """
    if len(closed) >= RISK_TOKENS:
        return (_risk(exchange, closed),)
    return tuple(
        _drain(exchange, one)
        for one in closed
        if one.is_still_closed and one.depth_share is not None and one.depth_share <= DRAINED_SHARE
    )


def maker_sign(usual: MakerUsual | None, looks: Sequence[MakerLook]) -> InsightKind | None:
    """`looks`: in the order of time, up to now."""
    if usual is None or usual.spread_mad_bps <= 0 or usual.depth_usd <= 0:
        return None
    for kind in (InsightKind.MM_EXIT, InsightKind.MM_ENTER):
        last, since = None, None
        for look in reversed(looks):
            if _sign(usual, look) is not kind:
                break
            last, since = last or look.at, look.at
        if last is not None and since is not None and last - since >= SUSTAINED:
            return kind
    return None


def is_candidate(usual: MakerUsual | None, look: MakerLook) -> bool:
    """Whether the newest look alone says something."""
    if usual is None or usual.spread_mad_bps <= 0 or usual.depth_usd <= 0:
        return False
    return _sign(usual, look) is not None


def in_turn(candidates: Iterable[T], exchange_of: Callable[[T], str]) -> list[T]:
    """The first of each exchange, then the second of each: however much one says, all are heard."""
    placed, seen = list[tuple[int, T]](), Counter[str]()
    for one in candidates:
        exchange = exchange_of(one)
        placed.append((seen[exchange], one))
        seen[exchange] += 1
    return [one for _, one in sorted(placed, key=lambda of: of[0])]


def maker_card(
    kind: InsightKind, exchange: str, token: str, usual: MakerUsual, look: MakerLook
) -> InsightCard:
    verb = "left" if kind is InsightKind.MM_EXIT else "came to"
    return InsightCard(
        kind,
        exchange,
        token,
        f"A market maker seems to have {verb} {token} at {exchange}",
        {
            "spread_bps": look.spread_bps,
            "usual_spread_bps": usual.spread_bps,
            "bid_usd": look.bid_usd,
            "ask_usd": look.ask_usd,
            "usual_depth_usd": usual.depth_usd,
        },
    )


def one_chain(chains: Collection[frozenset[str]]) -> str | None:
    """The chain of at least 80 % of the coins, which makes work on its network likely; None: none."""
    every = sorted({chain for of in chains for chain in of})
    share = {chain: sum(chain in of for of in chains) / len(chains) for chain in every}
    best = max(every, key=lambda chain: share[chain], default=None)
    return best if best is not None and share[best] >= ONE_CHAIN_SHARE else None


def _drain(exchange: str, one: ClosedCoin) -> InsightCard:
    return InsightCard(
        InsightKind.VENUE_DRAIN,
        exchange,
        one.token,
        f"{exchange} closed transfers of {one.token}, and its book thinned out",
        {
            "depth_usd": one.depth_usd,
            "usual_depth_usd": one.usual_depth_usd,
            "depth_share": one.depth_share,
            "chains": sorted(one.chains),
        },
    )


def _risk(exchange: str, closed: Sequence[ClosedCoin]) -> InsightCard:
    chain = one_chain([one.chains for one in closed])
    return InsightCard(
        InsightKind.VENUE_RISK,
        exchange,
        None,
        f"{exchange} closed transfers of {len(closed)} tokens within 24 hours",
        {
            "tokens": sorted(one.token for one in closed)[:200],
            "count": len(closed),
            "still_closed": sum(one.is_still_closed for one in closed),
            "dominant_chain": chain,
            "is_likely_maintenance": chain is not None,
        },
    )


def _sign(usual: MakerUsual, look: MakerLook) -> InsightKind | None:
    if look.spread_bps is None or look.bid_usd is None or look.ask_usd is None:
        return None
    z = (look.spread_bps - usual.spread_bps) / (_MAD_TO_SIGMA * usual.spread_mad_bps)
    if z > Z_MOST and max(look.bid_usd, look.ask_usd) < THIN_SHARE * usual.depth_usd:
        return InsightKind.MM_EXIT
    if z < -Z_MOST and min(look.bid_usd, look.ask_usd) > usual.depth_usd / THIN_SHARE:
        return InsightKind.MM_ENTER
    return None

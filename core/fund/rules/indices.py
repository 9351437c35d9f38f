"""What an index holds on a day (docs/fund.md#indices).

    members of the file --> listed? one contract group? C or better on two venues of it? depth known? --> weights
                                  each that fails is published with its reason

Laws
- A listing counts only if its exchange gives a contract of the group. One that gives none neither
  helps nor excludes: it may be another coin. A second group excludes, whichever exchange lists it.
- weight ~ square root of the depth, none above a quarter (of fewer than four, of equal parts); they
  sum to 10,000 exactly.
- Integers alone: the same members are the same weights, in whatever order they come.
- What is published is of one moment: the prices of the day change no weight of it.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import isqrt
from typing import Any, Final

RULES: Final = "indices_v2"  # another one corrects a published day
LEAST_VENUES: Final = 2
GOOD_GRADES: Final = ("A", "B", "C")
WEIGHT_ONE_E4: Final = 10_000
MOST_MEMBERS: Final = 200
CAP: Final = Fraction(1, 4)


class Category(StrEnum):
    AI = "ai"
    DEFI = "defi"
    L2 = "l2"
    RWA = "rwa"


class MemberExclusion(StrEnum):
    """Why a member is not a constituent, in the order of the checks."""

    NOT_LISTED = "not_listed"
    IDENTITY_UNVERIFIED = "identity_unverified"
    TOO_FEW_VENUES = "too_few_venues"
    DEPTH_UNKNOWN = "depth_unknown"


SAYS: Final[Mapping[MemberExclusion, str]] = {
    MemberExclusion.NOT_LISTED: "no exchange that is read lists it",
    MemberExclusion.IDENTITY_UNVERIFIED: "its listings have no contract, or contracts of several coins",
    MemberExclusion.TOO_FEW_VENUES: "fewer than two exchanges that give its contract grade it C or better",
    MemberExclusion.DEPTH_UNKNOWN: "the depth of its best market in the last seven days is not known",
}


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """`members`: by ticker their categories. `delivery_chain`: CAIP-2."""

    key: str
    name: str
    delivery_chain: str
    members: Mapping[str, tuple[Category, ...]]

    @property
    def categories(self) -> tuple[Category, ...]:
        """Those that a member has, in their order."""
        used = {one for found in self.members.values() for one in found}
        return tuple(one for one in Category if one in used)


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberMarket:
    """A listing. `contract_groups`: ids of the groups that its coin's contracts are in (docs/market.md
    #identity); none: its exchange gives no contract. `depth_usdc_e6`: the median of seven days,
    rounded down; None: unknown.
    """

    market: str
    exchange: str
    contract_groups: tuple[str, ...]
    grade: str | None
    depth_usdc_e6: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberFacts:
    """What is known of a member. `is_deliverable` None: unknown."""

    ticker: str
    markets: tuple[MemberMarket, ...]
    is_deliverable: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """A member on a day: a constituent with its market and weight, or the reason why it is none.
    `venues`: how many give its contract and grade it C or better.
    """

    ticker: str
    categories: tuple[Category, ...]
    exclusion: MemberExclusion | None
    market: str | None
    weight_e4: int | None
    depth_usdc_e6: int | None
    venues: int
    is_deliverable: bool | None


def definition_of(key: str, text: str) -> IndexDefinition:
    """An index as its file says it. Errors: ValueError."""
    stated = tomllib.loads(text)
    members = {
        ticker: tuple(Category(one) for one in categories)
        for ticker, categories in stated["members"].items()
    }
    if not 0 < len(members) <= MOST_MEMBERS:
        raise ValueError(f"{key}: an index has 1 to {MOST_MEMBERS} members")
    return IndexDefinition(key, stated["name"], stated["delivery_chain"], members)


def rows_of(index: IndexDefinition, facts: Mapping[str, MemberFacts]) -> list[IndexRow]:
    """Every member of the index, in the order of tickers."""
    found = {ticker: facts.get(ticker) or _nothing(ticker) for ticker in sorted(index.members)}
    reasons = {ticker: exclusion_of(one) for ticker, one in found.items()}
    depths = {t: _best(one).depth_usdc_e6 or 0 for t, one in found.items() if reasons[t] is None}
    weights = weights_e4(depths)
    return [
        IndexRow(
            ticker=ticker,
            categories=index.members[ticker],
            exclusion=reasons[ticker],
            market=_best(one).market if ticker in weights else None,
            weight_e4=weights.get(ticker),
            depth_usdc_e6=depths.get(ticker),
            venues=_venues(one),
            is_deliverable=one.is_deliverable,
        )
        for ticker, one in found.items()
    ]


def exclusion_of(facts: MemberFacts) -> MemberExclusion | None:
    """The first reason; None: it is a constituent."""
    if not facts.markets:
        return MemberExclusion.NOT_LISTED
    if len({group for one in facts.markets for group in one.contract_groups}) != 1:
        return MemberExclusion.IDENTITY_UNVERIFIED
    if _venues(facts) < LEAST_VENUES:
        return MemberExclusion.TOO_FEW_VENUES
    return None if _best(facts).depth_usdc_e6 else MemberExclusion.DEPTH_UNKNOWN


def weights_e4(depths_usdc_e6: Mapping[str, int]) -> dict[str, int]:
    """Ten-thousandths by ticker, of depths above 0."""
    roots = {ticker: isqrt(depth) for ticker, depth in depths_usdc_e6.items()}
    if not roots:
        return {}
    cap = max(CAP, Fraction(1, len(roots)))
    shares = _capped(roots, cap)
    whole = {ticker: int(share * WEIGHT_ONE_E4) for ticker, share in shares.items()}
    left = WEIGHT_ONE_E4 - sum(whole.values())
    most = -(-cap.numerator * WEIGHT_ONE_E4 // cap.denominator)
    by_rest = sorted(shares, key=lambda t: (whole[t] - shares[t] * WEIGHT_ONE_E4, t))
    for ticker in [t for t in by_rest if whole[t] < most][:left]:
        whole[ticker] += 1
    return whole


def _capped(roots: Mapping[str, int], cap: Fraction) -> dict[str, Fraction]:
    """What is above the cap goes to the others, until none is."""
    at_cap = set[str]()
    while True:
        free = 1 - cap * len(at_cap)
        total = sum(root for ticker, root in roots.items() if ticker not in at_cap)
        shares = {
            ticker: cap if ticker in at_cap else free * Fraction(root, total)
            for ticker, root in roots.items()
        }
        above = {ticker for ticker, share in shares.items() if share > cap}
        if not above:
            return shares
        at_cap |= above


def _best(facts: MemberFacts) -> MemberMarket:
    """Of the markets with a contract the deepest; of equals the first by name."""
    return min(_with_contract(facts), key=lambda one: (-(one.depth_usdc_e6 or 0), one.market))


def _venues(facts: MemberFacts) -> int:
    return len({one.exchange for one in _with_contract(facts) if one.grade in GOOD_GRADES})


def _with_contract(facts: MemberFacts) -> list[MemberMarket]:
    return [one for one in facts.markets if one.contract_groups]


def _nothing(ticker: str) -> MemberFacts:
    return MemberFacts(ticker=ticker, markets=(), is_deliverable=None)


def rows_in(figures: Mapping[str, Any]) -> list[IndexRow]:
    """Every member of a published day, in the order of tickers."""
    return [
        IndexRow(
            ticker=one["ticker"],
            categories=tuple(Category(name) for name in one["categories"]),
            exclusion=None if one["exclusion"] is None else MemberExclusion(one["exclusion"]),
            market=one["market"],
            weight_e4=one["weight_e4"],
            depth_usdc_e6=one["depth_usdc_e6"],
            venues=one["venues"],
            is_deliverable=one["is_deliverable"],
        )
        for one in figures["members"]
    ]


def has_constituents(figures: Mapping[str, Any]) -> bool:
    return any(one["weight_e4"] is not None for one in figures["members"])


def compared(figures: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What makes another version. Whether an exchange lets a coin out right now does not."""
    return [one | {"is_deliverable": None} for one in figures["members"]]


def universe_of(rows: Sequence[IndexRow], categories: Sequence[str]) -> list[IndexRow]:
    """The constituents that have one of these categories; without one, all. The largest first."""
    found = [
        one
        for one in rows
        if one.exclusion is None and (not categories or set(categories) & set(one.categories))
    ]
    return sorted(found, key=lambda one: (-(one.weight_e4 or 0), one.ticker))

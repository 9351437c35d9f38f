"""The crisis warnings: when each is raised and when it is cleared (docs/market.md#warnings).

Laws
- RULES is the whole list. Between its two thresholds a rule holds: it neither raises nor clears.
- What is not known holds.
- One warning is open per (exchange, asset, type). Raised within 24 hours of its clearing it is the
  same one again; later it is a new one with its own time of issue, which is the commit's.
- A warning's time is never chosen by a rule: no rule here takes or answers one.
- cross_exchange_flag goes to other exchanges that list the same contract, never by ticker, never to
  the exchange that declared.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from core.market.rules.identity import IdentityVerdict
from core.market.rules.notices import OutcomeKind
from core.times import instant_text

RULE_VERSION: Final = "warnings_v1"
SAME_WITHIN: Final = timedelta(hours=24)


class WarningType(StrEnum):
    TRANSFER_HALT = "transfer_halt"
    DEPTH_COLLAPSE = "depth_collapse"
    SPREAD_BLOWOUT = "spread_blowout"
    GRADE_DROP = "grade_drop"
    VOLUME_DRYUP = "volume_dryup"
    PRICE_FLOOR = "price_floor"
    ST_TAG = "st_tag"
    CAUTION = "caution_designation"
    DELIST = "delist_notice"
    SUSPEND = "suspend_notice"
    COLLISION = "identity_collision"
    VENUE_RISK = "venue_risk"
    ONCHAIN_SUPPLY = "onchain_supply"
    CROSS_EXCHANGE = "cross_exchange_flag"


class WarningSeverity(StrEnum):
    NOTICE = "notice"
    WARNING = "warning"
    CRITICAL = "critical"


class WarningSign(StrEnum):
    """What a rule says of the facts."""

    RAISE = "raise"
    HOLD = "hold"
    CLEAR = "clear"


@dataclass(frozen=True, slots=True)
class ForeignOutcome:
    """A bad outcome of the same contract that another exchange declared, and when."""

    exchange: str
    kind: OutcomeKind
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningFacts:
    """Of one asset at one exchange; None: unknown.

    *_closed_s, closed_scans: how long deposits (withdrawals) have been closed on every chain, 0 while
    one is open; in how many scans in a row either was. *_1h_*: the highest (lowest) of the last hour.
    letters_down_24h: below the best letter of 24 hours. price_first_7d: the median of the first seven
    days here. supply_change_24h: 0.1 is 10 %. is_*: what the exchange declares now. foreign_outcomes:
    of the last 90 days, the newest first. venue_bases_closed: bases of the exchange that went from
    open to closed within 24 hours.
    """

    deposit_closed_s: float | None = None
    withdraw_closed_s: float | None = None
    closed_scans: int | None = None
    depth_highest_1h_usd: float | None = None
    depth_lowest_1h_usd: float | None = None
    depth_median_7d_usd: float | None = None
    spread_bps: float | None = None
    spread_p95_7d_bps: float | None = None
    letters_down_24h: int | None = None
    volume_30d_mean_usd: float | None = None
    price: float | None = None
    price_first_7d: float | None = None
    identity: IdentityVerdict | None = None
    supply_change_24h: float | None = None
    has_st_tag: bool | None = None
    has_caution: bool | None = None
    is_delisting_declared: bool | None = None
    is_suspension_declared: bool | None = None
    foreign_outcomes: tuple[ForeignOutcome, ...] | None = None
    venue_bases_closed: int | None = None


@dataclass(frozen=True, slots=True)
class WarningRule:
    """raises, clears: the rule in words, as it is published. is_predictive: counts as a call in the
    warning statistics; what an exchange declares is an outcome instead.
    """

    type: WarningType
    severity: WarningSeverity
    is_predictive: bool
    raises: str
    clears: str
    sign: Callable[[WarningFacts], WarningSign]


@dataclass(frozen=True, slots=True)
class WarningChange:
    type: WarningType
    sign: WarningSign
    evidence: Mapping[str, str]


def signs(facts: WarningFacts, is_open: Iterable[WarningType]) -> tuple[WarningChange, ...]:
    """What is to be raised and is not open, and what is to be cleared and is."""
    standing = set(is_open)
    found = []
    for rule in RULES:
        sign = rule.sign(facts)
        is_news = (sign is WarningSign.RAISE and rule.type not in standing) or (
            sign is WarningSign.CLEAR and rule.type in standing
        )
        if is_news:
            found.append(WarningChange(rule.type, sign, evidence(rule.type, facts)))
    return tuple(found)


def evidence(of: WarningType, facts: WarningFacts) -> dict[str, str]:
    """What the rule looked at and is known, as text: by EVIDENCE. Of several foreign outcomes the
    newest, whose flag is shown longest.
    """
    looked_at: object = facts
    if of is WarningType.CROSS_EXCHANGE:
        looked_at = next(iter(facts.foreign_outcomes or ()), None)
    values = {name: getattr(looked_at, name, None) for name in EVIDENCE[of]}
    return {name: _text(value) for name, value in values.items() if value is not None}


def foreign_outcome(evidence: Mapping[str, str]) -> ForeignOutcome | None:
    """What a cross_exchange_flag was issued for; None: of another type, or of a flag of before it was
    kept.
    """
    if not set(EVIDENCE[WarningType.CROSS_EXCHANGE]) <= evidence.keys():
        return None
    at = datetime.fromisoformat(evidence["at"])
    return ForeignOutcome(evidence["exchange"], OutcomeKind(evidence["kind"]), at)


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return instant_text(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _between(value: float | None, raise_if: bool | None, clear_if: bool | None) -> WarningSign:
    if value is None:
        return WarningSign.HOLD
    if raise_if:
        return WarningSign.RAISE
    return WarningSign.CLEAR if clear_if else WarningSign.HOLD


def _flag(value: bool | None) -> WarningSign:
    if value is None:
        return WarningSign.HOLD
    return WarningSign.RAISE if value else WarningSign.CLEAR


def _transfer_halt(facts: WarningFacts) -> WarningSign:
    both = (facts.deposit_closed_s, facts.withdraw_closed_s)
    if (facts.closed_scans or 0) >= 2 and any(s is not None and s >= 1_800 for s in both):
        return WarningSign.RAISE
    return WarningSign.CLEAR if all(s == 0 for s in both) else WarningSign.HOLD


def _depth_collapse(facts: WarningFacts) -> WarningSign:
    usual, high, low = (
        facts.depth_median_7d_usd,
        facts.depth_highest_1h_usd,
        facts.depth_lowest_1h_usd,
    )
    if not usual or high is None or low is None:
        return WarningSign.HOLD
    return _between(high, high <= 0.3 * usual, low >= 0.5 * usual)


def _spread_blowout(facts: WarningFacts) -> WarningSign:
    spread, usual = facts.spread_bps, facts.spread_p95_7d_bps
    if spread is None or not usual:
        return WarningSign.HOLD
    return _between(spread, spread > 5 * usual, spread <= 2 * usual)


def _grade_drop(facts: WarningFacts) -> WarningSign:
    down = facts.letters_down_24h
    return WarningSign.HOLD if down is None else _between(down, down >= 2, down < 2)


def _volume_dryup(facts: WarningFacts) -> WarningSign:
    volume = facts.volume_30d_mean_usd
    return (
        WarningSign.HOLD if volume is None else _between(volume, volume < 50_000, volume >= 60_000)
    )


def _price_floor(facts: WarningFacts) -> WarningSign:
    price, first = facts.price, facts.price_first_7d
    if price is None or not first:
        return WarningSign.HOLD
    return _between(price, price < 0.1 * first, price >= 0.15 * first)


def _collision(facts: WarningFacts) -> WarningSign:
    if facts.identity in (None, IdentityVerdict.NO_CONTRACT_DATA):
        return WarningSign.HOLD
    return _flag(facts.identity is IdentityVerdict.COLLISION)


def _venue_risk(facts: WarningFacts) -> WarningSign:
    closed = facts.venue_bases_closed
    return WarningSign.HOLD if closed is None else _flag(closed >= 10)


def _onchain_supply(facts: WarningFacts) -> WarningSign:
    change = facts.supply_change_24h
    return WarningSign.HOLD if change is None else _between(change, change >= 0.1, change < 0.05)


_T, _S = WarningType, WarningSeverity
RULES: Final = (
    WarningRule(
        _T.TRANSFER_HALT,
        _S.CRITICAL,
        True,
        "deposits or withdrawals closed on every chain for at least 30 minutes and in 2 scans in a row",
        "both open on some chain",
        _transfer_halt,
    ),
    WarningRule(
        _T.DEPTH_COLLAPSE,
        _S.CRITICAL,
        True,
        "depth within 2 % at or below 30 % of its 7-day median for the whole last hour",
        "at or above 50 % of it for the whole last hour",
        _depth_collapse,
    ),
    WarningRule(
        _T.SPREAD_BLOWOUT,
        _S.WARNING,
        True,
        "spread above 5 times its 7-day 95th percentile",
        "at or below 2 times it",
        _spread_blowout,
    ),
    WarningRule(
        _T.GRADE_DROP,
        _S.WARNING,
        True,
        "grade at least 2 letters below the best of 24 hours",
        "fewer than 2",
        _grade_drop,
    ),
    WarningRule(
        _T.VOLUME_DRYUP,
        _S.WARNING,
        True,
        "mean daily volume of 30 days below 50,000 USD",
        "at or above 60,000 USD",
        _volume_dryup,
    ),
    WarningRule(
        _T.PRICE_FLOOR,
        _S.WARNING,
        True,
        "price below 10 % of the median of the first 7 days here",
        "at or above 15 % of it",
        _price_floor,
    ),
    WarningRule(
        _T.ST_TAG,
        _S.CRITICAL,
        False,
        "the exchange shows a special-treatment tag",
        "it no longer shows it",
        lambda facts: _flag(facts.has_st_tag),
    ),
    WarningRule(
        _T.CAUTION,
        _S.CRITICAL,
        False,
        "the exchange has designated it for caution",
        "the designation is lifted",
        lambda facts: _flag(facts.has_caution),
    ),
    WarningRule(
        _T.DELIST,
        _S.CRITICAL,
        False,
        "the exchange has declared its delisting",
        "90 days after its newest such notice",
        lambda facts: _flag(facts.is_delisting_declared),
    ),
    WarningRule(
        _T.SUSPEND,
        _S.CRITICAL,
        False,
        "the exchange has declared that its trading is suspended",
        "90 days after its newest such notice",
        lambda facts: _flag(facts.is_suspension_declared),
    ),
    WarningRule(
        _T.COLLISION,
        _S.WARNING,
        True,
        "one ticker has two contracts on one chain",
        "one again, or distinguished",
        _collision,
    ),
    WarningRule(
        _T.VENUE_RISK,
        _S.CRITICAL,
        False,
        "the exchange closed transfers of at least 10 tokens within 24 hours",
        "fewer than 10",
        _venue_risk,
    ),
    WarningRule(
        _T.ONCHAIN_SUPPLY,
        _S.WARNING,
        True,
        "supply on chain grew by at least 10 % within 24 hours",
        "by less than 5 %",
        _onchain_supply,
    ),
    WarningRule(
        _T.CROSS_EXCHANGE,
        _S.WARNING,
        True,
        "another exchange declared a bad outcome of the same contract within 90 days",
        "none within 90 days",
        lambda facts: _flag(
            None if facts.foreign_outcomes is None else bool(facts.foreign_outcomes)
        ),
    ),
)
RULE_OF: Final = {rule.type: rule for rule in RULES}
PREDICTIVE: Final = frozenset(rule.type for rule in RULES if rule.is_predictive)

EVIDENCE: Final = {
    _T.TRANSFER_HALT: ("deposit_closed_s", "withdraw_closed_s", "closed_scans"),
    _T.DEPTH_COLLAPSE: ("depth_highest_1h_usd", "depth_lowest_1h_usd", "depth_median_7d_usd"),
    _T.SPREAD_BLOWOUT: ("spread_bps", "spread_p95_7d_bps"),
    _T.GRADE_DROP: ("letters_down_24h",),
    _T.VOLUME_DRYUP: ("volume_30d_mean_usd",),
    _T.PRICE_FLOOR: ("price", "price_first_7d"),
    _T.ST_TAG: ("has_st_tag",),
    _T.CAUTION: ("has_caution",),
    _T.DELIST: ("is_delisting_declared",),
    _T.SUSPEND: ("is_suspension_declared",),
    _T.COLLISION: ("identity",),
    _T.VENUE_RISK: ("venue_bases_closed",),
    _T.ONCHAIN_SUPPLY: ("supply_change_24h",),
    _T.CROSS_EXCHANGE: ("exchange", "kind", "at"),
}

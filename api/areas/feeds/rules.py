"""The feeds: what each has, how often it changes, and which tier reads it (docs/feeds.md).

A feed of rows has each row once, in the order in which they were written. A feed of states has a row
again each time its state changed, in the order of the changes; what it was in between is not kept.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Final

from core.subscriptions.rules import Tier

# Rows younger than that are held back: one that was written beside them may not be there yet, and
# whoever reads on from a later one would never see it.
SETTLED_AFTER: Final = timedelta(seconds=5)

TEXT, NUMBER, COUNT, FLAG, TIME = "text", "number", "whole number", "true or false", "time"
OR_NULL = " or null"
LETTER: Final = "A, B, C, D, F or null"


class FeedKey(StrEnum):
    BOARD = "board"
    GRADES = "grades"
    WARNINGS = "warnings"
    ARB2 = "arb2"
    ARB3 = "arb3"
    TRANSFERS = "transfers"
    DESIGNATIONS = "designations"
    TIMELINE = "timeline"
    INSIGHTS = "insights"


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFeedKind:
    """`fields`: name -> what it is, of each row's data. `cadence_s`: how often there is something
    new. `sample`: one row's data.
    """

    key: FeedKey
    title: str
    cadence_s: int
    fields: Mapping[str, str]
    sample: Mapping[str, Any]
    tier: Tier = Tier.FREE
    price_credits: int = 0


_LISTING: Final = {"token_id": TEXT, "exchange": TEXT, "symbol": TEXT, "token": TEXT}
_A_LISTING: Final = {
    "token_id": "binance_btc_usdt",
    "exchange": "binance",
    "symbol": "BTC/USDT",
    "token": "BTC",
}
_FEEDS: Final = (
    DataFeedKind(
        key=FeedKey.BOARD,
        title="Listings whose price, spread, depth or transfers were looked at again",
        cadence_s=60,
        fields=_LISTING
        | {
            "price_usd": NUMBER + OR_NULL,
            "spread_bps": NUMBER + OR_NULL,
            "bid_2_usd": NUMBER + OR_NULL,
            "ask_2_usd": NUMBER + OR_NULL,
            "volume_24h_usd": NUMBER + OR_NULL,
            "can_deposit": FLAG + OR_NULL,
            "can_withdraw": FLAG + OR_NULL,
            "is_truncated": FLAG + OR_NULL,
            "grade": LETTER,
            "is_simulated": FLAG,
        },
        sample=_A_LISTING
        | {
            "price_usd": 91_250.5,
            "spread_bps": 0.4,
            "bid_2_usd": 4_100_000.0,
            "ask_2_usd": 3_900_000.0,
            "volume_24h_usd": 810_000_000.0,
            "can_deposit": True,
            "can_withdraw": None,
            "is_truncated": False,
            "grade": "A",
            "is_simulated": True,
        },
    ),
    DataFeedKind(
        key=FeedKey.GRADES,
        title="Grades of listings, each hour",
        cadence_s=3_600,
        fields=_LISTING
        | {
            "grade": LETTER,
            "score": NUMBER + OR_NULL,
            "is_provisional": FLAG + OR_NULL,
            "grade_version": TEXT + OR_NULL,
            "is_simulated": FLAG,
        },
        sample=_A_LISTING
        | {
            "grade": "B",
            "score": 71.8,
            "is_provisional": False,
            "grade_version": "grade_v1",
            "is_simulated": True,
        },
    ),
    DataFeedKind(
        key=FeedKey.WARNINGS,
        title="Crisis warnings that were issued, cleared or reopened",
        cadence_s=60,
        fields={
            "action": "issued, cleared or reopened",
            "clears": COUNT + OR_NULL,
            "reopens": COUNT + OR_NULL,
            "exchange": TEXT,
            "token": TEXT,
            "type": TEXT,
            "severity": TEXT,
            "is_predictive": FLAG,
            "evidence": "an object of texts",
            "rule_version": TEXT,
            "row_hash": "hex",
        },
        sample={
            "action": "issued",
            "clears": None,
            "reopens": None,
            "exchange": "gate",
            "token": "ABC",
            "type": "cross_exchange_flag",
            "severity": "warning",
            "is_predictive": True,
            "evidence": {"exchange": "mexc", "kind": "st_tag", "at": "2026-03-01T12:00:00Z"},
            "rule_version": "warnings_v1",
            "row_hash": "5f" * 32,
        },
    ),
    DataFeedKind(
        key=FeedKey.ARB2,
        title="Changes of gaps between two venues, seven days of them",
        cadence_s=60,
        fields={
            "token": TEXT,
            "buy_exchange": TEXT,
            "sell_exchange": TEXT,
            "gross_bps": NUMBER,
            "was_bps": NUMBER + OR_NULL,
            "net_1k_bps": NUMBER + OR_NULL,
        },
        sample={
            "token": "BTC",
            "buy_exchange": "binance",
            "sell_exchange": "upbit",
            "gross_bps": 42.0,
            "was_bps": 31.5,
            "net_1k_bps": 12.2,
        },
    ),
    DataFeedKind(
        key=FeedKey.ARB3,
        title="Opportunities over three and more venues",
        cadence_s=60,
        tier=Tier.TIER_2,
        fields={
            "token": TEXT,
            "venues": COUNT,
            "dispersion": NUMBER,
            "size_usd": NUMBER + OR_NULL,
            "profit_usd": NUMBER + OR_NULL,
            "actionable_profit_usd": NUMBER + OR_NULL,
            "is_actionable": FLAG,
            "legs": "a list",
        },
        sample={
            "token": "ABC",
            "venues": 3,
            "dispersion": 0.021,
            "size_usd": 8_400.0,
            "profit_usd": 61.3,
            "actionable_profit_usd": 61.3,
            "is_actionable": True,
            "legs": [],
        },
    ),
    DataFeedKind(
        key=FeedKey.TRANSFERS,
        title="Deposits and withdrawals that opened, closed or became unknown",
        cadence_s=300,
        fields={
            "exchange": TEXT,
            "native_base": TEXT,
            "chain": TEXT,
            "direction": "deposit or withdraw",
            "was_open": FLAG + OR_NULL,
            "is_open": FLAG + OR_NULL,
        },
        sample={
            "exchange": "kucoin",
            "native_base": "ABC",
            "chain": "eip155:1",
            "direction": "withdraw",
            "was_open": True,
            "is_open": False,
        },
    ),
    DataFeedKind(
        key=FeedKey.DESIGNATIONS,
        title="What exchanges declared of tokens: tags, cautions, delistings, suspensions",
        cadence_s=300,
        fields={
            "exchange": TEXT,
            "token": TEXT,
            "kind": TEXT + OR_NULL,
            "exclusion": TEXT + OR_NULL,
            "is_genuine": FLAG,
        },
        sample={
            "exchange": "mexc",
            "token": "ABC",
            "kind": "st_tag",
            "exclusion": None,
            "is_genuine": True,
        },
    ),
    DataFeedKind(
        key=FeedKey.TIMELINE,
        title="Notices of exchanges, as they were received",
        cadence_s=300,
        fields={
            "exchange": TEXT,
            "kind": TEXT,
            "scope": TEXT,
            "native_bases": "a list of text",
            "title": TEXT,
            "url": TEXT + OR_NULL,
            "published_at": TIME,
            "effective_at": TIME + OR_NULL,
        },
        sample={
            "exchange": "binance",
            "kind": "delist_notice",
            "scope": "spot",
            "native_bases": ["ABC"],
            "title": "Delisting of ABC",
            "url": None,
            "published_at": "2026-11-20T08:00:00Z",
            "effective_at": "2026-11-27T08:00:00Z",
        },
    ),
    DataFeedKind(
        key=FeedKey.INSIGHTS,
        title="Insights: venues that are drained, market makers that came or left",
        cadence_s=300,
        fields={
            "kind": "venue_drain, venue_risk, mm_exit or mm_enter",
            "exchange": TEXT,
            "token": TEXT + OR_NULL,
            "headline": TEXT,
            "evidence": "an object",
            "is_suppressed": FLAG,
            "is_simulated": FLAG,
        },
        sample={
            "kind": "venue_risk",
            "exchange": "mexc",
            "token": None,
            "headline": "mexc closed transfers of 12 tokens within 24 hours",
            "evidence": {"count": 12, "dominant_chain": "eip155:1"},
            "is_suppressed": False,
            "is_simulated": True,
        },
    ),
)
FEEDS: Final[Mapping[str, DataFeedKind]] = {one.key.value: one for one in _FEEDS}

"""Which of a venue's notices declare a bad outcome (docs/warning-statistics.md#outcomes).

Laws
- Whose title contradicts itself (`unsure`) declares none.
- Routine maintenance, margin, futures and loans, quote pairs whose base still trades, tokenised
  equities and stablecoins declare none.
- A special-treatment tag is new only if it was seen absent in the day before and not at all in the
  thirty days before, outside the first scan of the venue.
- An outcome is decided once, when its notice is stored.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from core.market.facts import NoticeKind, NoticeScope, VenueNotice

EXCLUDED_CLASSES: Final = frozenset({"tokenised_equity", "stablecoin"})
SEEN_WITHOUT: Final = timedelta(hours=24)
NOT_SEEN_WITH: Final = timedelta(days=30)


class OutcomeKind(StrEnum):
    """What a venue declares of a coin. CAUTION is no outcome: calls after it do not count."""

    ST_TAG = "st_tag"
    DELIST = "delist_notice"
    SUSPEND = "suspend_notice"
    DELISTED = "delisting_confirmed"
    CAUTION = "caution_designation"


class Exclusion(StrEnum):
    """Why a notice declares no outcome."""

    ASSET_CLASS = "asset_class"
    SCOPE = "scope"
    MAINTENANCE = "maintenance"
    BASE_STILL_TRADES = "base_still_trades"
    OTHER_KIND = "other_kind"
    UNSURE = "unsure"


@dataclass(frozen=True, slots=True)
class NoticeReading:
    """Either a kind or why none. `is_genuine`: counts under B3.1; a tag that is not new does not."""

    kind: OutcomeKind | None
    exclusion: Exclusion | None
    is_genuine: bool


@dataclass(frozen=True, slots=True)
class TagSighting:
    """What a scan of the venue's markets said of the tag of a base. `is_first_scan`: of the venue."""

    at: datetime
    has_tag: bool | None
    is_first_scan: bool


_KINDS: Final = {
    NoticeKind.ST_TAG: OutcomeKind.ST_TAG,
    NoticeKind.CAUTION: OutcomeKind.CAUTION,
    NoticeKind.DELIST: OutcomeKind.DELIST,
    NoticeKind.SUSPEND: OutcomeKind.SUSPEND,
    NoticeKind.DELISTED: OutcomeKind.DELISTED,
    NoticeKind.QUOTE_PAIR_REMOVAL: OutcomeKind.DELIST,
}


def read(
    notice: VenueNotice,
    asset_class: str | None,
    is_base_still_trading: bool,
    tag_sightings: Iterable[TagSighting] = (),
) -> NoticeReading:
    """For one base that the notice names.

    `is_base_still_trading`: the base trades at the same exchange, against any quote, after the
    notice takes effect. `tag_sightings`: of this base at this exchange, before the notice.
    """
    excluded = _exclusion(notice, asset_class, is_base_still_trading)
    if excluded is not None:
        return NoticeReading(None, excluded, is_genuine=False)
    kind = _KINDS[notice.kind]
    is_new = kind is not OutcomeKind.ST_TAG or genuinely_new(notice.published_at, tag_sightings)
    return NoticeReading(kind, None, is_genuine=is_new)


def genuinely_new(at: datetime, sightings: Iterable[TagSighting]) -> bool:
    """Whether a tag that is seen at `at` was put on then; sightings at or after `at` are ignored.

    A sighting exactly 24 hours (30 days) before counts as within them.
    """
    before = [one for one in sightings if one.at < at]
    had_tag = any(one.has_tag for one in before if at - one.at <= NOT_SEEN_WITH)
    seen_without = any(one.has_tag is False for one in before if at - one.at <= SEEN_WITHOUT)
    return seen_without and not had_tag


def tag_in_scan(sighting: TagSighting, earlier: Iterable[TagSighting]) -> NoticeReading | None:
    """Of a tag that a market list shows and no notice declared; None: it shows none."""
    if not sighting.has_tag:
        return None
    is_new = not sighting.is_first_scan and genuinely_new(sighting.at, earlier)
    return NoticeReading(OutcomeKind.ST_TAG, None, is_genuine=is_new)


def _exclusion(
    notice: VenueNotice, asset_class: str | None, is_base_still_trading: bool
) -> Exclusion | None:
    if asset_class in EXCLUDED_CLASSES:
        return Exclusion.ASSET_CLASS
    if notice.scope is not NoticeScope.SPOT:
        return Exclusion.SCOPE
    if notice.kind is NoticeKind.MAINTENANCE:
        return Exclusion.MAINTENANCE
    if notice.kind is NoticeKind.QUOTE_PAIR_REMOVAL and is_base_still_trading:
        return Exclusion.BASE_STILL_TRADES
    if notice.kind is NoticeKind.UNSURE:
        return Exclusion.UNSURE
    return None if notice.kind in _KINDS else Exclusion.OTHER_KIND

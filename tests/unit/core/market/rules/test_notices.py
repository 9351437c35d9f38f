"""Which notices are outcomes, and which tags are new."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from core.market.facts import NoticeKind, NoticeScope, VenueNotice
from core.market.rules.notices import (
    Exclusion,
    NoticeReading,
    OutcomeKind,
    TagSighting,
    genuinely_new,
    read,
    tag_in_scan,
)
from tests.each import each

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
DELIST = VenueNotice(
    "upbit", "1", NoticeKind.DELIST, NoticeScope.SPOT, ("XYZ",), "title", None, AT, None
)
SECOND = timedelta(seconds=1)


def seen(ago: timedelta, has_tag: bool | None, *, is_first_scan: bool = False) -> TagSighting:
    return TagSighting(AT - ago, has_tag, is_first_scan)


HOUR_AGO = seen(timedelta(hours=1), has_tag=False)


@each(
    ("kind", "outcome", "why"),
    [
        (NoticeKind.DELIST, OutcomeKind.DELIST, None),
        (NoticeKind.SUSPEND, OutcomeKind.SUSPEND, None),
        (NoticeKind.DELISTED, OutcomeKind.DELISTED, None),
        (NoticeKind.CAUTION, OutcomeKind.CAUTION, None),
        (NoticeKind.QUOTE_PAIR_REMOVAL, OutcomeKind.DELIST, None),
        (NoticeKind.MAINTENANCE, None, Exclusion.MAINTENANCE),
        (NoticeKind.RESUME, None, Exclusion.OTHER_KIND),
        (NoticeKind.OTHER, None, Exclusion.OTHER_KIND),
        (NoticeKind.UNSURE, None, Exclusion.UNSURE),
    ],
)
def test_a_notice__declares_its_outcome_or_none(
    kind: NoticeKind, outcome: OutcomeKind | None, why: Exclusion | None
) -> None:
    found = read(replace(DELIST, kind=kind), "crypto", is_base_still_trading=False)

    assert found == NoticeReading(outcome, why, is_genuine=outcome is not None)


@pytest.mark.parametrize("asset_class", ["stablecoin", "tokenised_equity"])
def test_stablecoins_and_tokenised_equities__are_left_out(asset_class: str) -> None:
    found = read(DELIST, asset_class, is_base_still_trading=False)

    assert found.exclusion is Exclusion.ASSET_CLASS


def test_an_unknown_class__is_no_reason_to_leave_an_outcome_out() -> None:
    assert read(DELIST, None, is_base_still_trading=False).kind is OutcomeKind.DELIST


@each("scope", [NoticeScope.MARGIN, NoticeScope.FUTURES, NoticeScope.LOAN])
def test_what_is_not_spot__is_left_out(scope: NoticeScope) -> None:
    found = read(replace(DELIST, scope=scope), "crypto", is_base_still_trading=False)

    assert found.exclusion is Exclusion.SCOPE


def test_a_quote_pair__goes_without_an_outcome_while_the_base_trades() -> None:
    pair = replace(DELIST, kind=NoticeKind.QUOTE_PAIR_REMOVAL)

    assert read(pair, "crypto", is_base_still_trading=True).exclusion is Exclusion.BASE_STILL_TRADES
    assert read(DELIST, "crypto", is_base_still_trading=True).kind is OutcomeKind.DELIST


@each(
    ("sightings", "is_new"),
    [
        ([], False),
        ([HOUR_AGO], True),
        ([seen(timedelta(hours=24), has_tag=False)], True),
        ([seen(timedelta(hours=24) + SECOND, has_tag=False)], False),
        ([seen(timedelta(hours=1), has_tag=None)], False),
        ([HOUR_AGO, seen(timedelta(days=30), has_tag=True)], False),
        ([HOUR_AGO, seen(timedelta(days=30) + SECOND, has_tag=True)], True),
        ([HOUR_AGO, seen(timedelta(0), has_tag=True)], True),
        ([seen(timedelta(0), has_tag=False)], False),
    ],
)
def test_a_tag__is_new_if_it_was_seen_absent(sightings: list[TagSighting], is_new: bool) -> None:
    assert genuinely_new(AT, sightings) is is_new
    notice = replace(DELIST, kind=NoticeKind.ST_TAG)
    assert read(notice, "crypto", False, sightings).is_genuine is is_new


def test_a_tag_in_the_first_scan__is_an_outcome_that_is_not_new() -> None:
    first = seen(timedelta(0), has_tag=True, is_first_scan=True)
    later = replace(first, is_first_scan=False)

    assert tag_in_scan(first, [HOUR_AGO]) == NoticeReading(OutcomeKind.ST_TAG, None, False)
    assert tag_in_scan(later, [HOUR_AGO]) == NoticeReading(OutcomeKind.ST_TAG, None, True)
    assert tag_in_scan(HOUR_AGO, []) is None

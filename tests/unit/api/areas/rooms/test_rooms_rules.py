"""What may be posted, when the next post is taken, and what a release earns."""

from datetime import UTC, datetime, timedelta

from api.areas.rooms.rules import (
    PostRates,
    ReleaseKind,
    free_again_at,
    release_tenths,
)
from tests.each import each

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
INSIGHTFUL = ReleaseKind.INSIGHTFUL


def test_standing__decides_how_many_posts_an_hour_has() -> None:
    rates = PostRates(plain=10, with_standing=60)
    assert (rates.most(has_standing=False), rates.most(has_standing=True)) == (10, 60)


@each(
    ("nth_newest_at", "again"),
    [
        (None, None),
        (NOW - HOUR - timedelta(microseconds=1), None),
        (NOW - HOUR, None),
        (NOW - HOUR + timedelta(microseconds=1), NOW + timedelta(microseconds=1)),
        (NOW, NOW + HOUR),
    ],
)
def test_the_hour__begins_after_the_instant_an_hour_ago(
    nth_newest_at: datetime | None, again: datetime | None
) -> None:
    assert free_again_at(nth_newest_at, NOW) == again


@each(
    ("kind", "first", "standing", "tenths"),
    [
        (None, False, False, 5),
        (None, False, True, 5),
        (None, True, False, 8),
        (INSIGHTFUL, False, False, 5),
        (INSIGHTFUL, True, False, 8),
        (INSIGHTFUL, False, True, 8),
        (INSIGHTFUL, True, True, 11),
    ],
)
def test_a_release__earns_by_place_kind_and_standing(
    kind: ReleaseKind | None, first: bool, standing: bool, tenths: int
) -> None:
    earned = release_tenths(kind, is_first_reply=first, releaser_has_standing=standing)
    assert earned == tenths

"""What may be posted in a room, how often, and what a release earns (docs/rooms.md).

    posts of the last hour    0 ........ most - 1 | most
    the next post             is taken            | waits until the oldest of the last `most` is an hour old

    a release earns the author    5 tenths of a point
                                  8 for the first reply to a message
                                 +3 for kind=insightful by a member with standing

Laws
- The hour is (now - 1 h, now]: a post that is exactly an hour old does not count any more.
- Of the replies to a message, the first by another person than its author is the first reply; a
  later one, or one's own, never is.
- Nobody releases a post of their own group (docs/payouts.md#groups), and whose reply is another's is
  decided alike.
- Releases of a UTC day are bounded between two groups, and by and for groups without standing.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from itertools import product
from typing import Final

from api.areas.earn.rules.payout import Payee
from core.errors import MandateError

TEXT_CHARACTERS_MOST: Final = 4_000
RATE_WINDOW: Final = timedelta(hours=1)
BOND_KEPT: Final = timedelta(days=7)

RELEASE_TENTHS: Final = 5
FIRST_REPLY_TENTHS: Final = 8
INSIGHTFUL_TENTHS: Final = 3


class MessageKind(StrEnum):
    POST = "post"
    SUMMARY = "summary"  # the service's own, of a submission


class ReleaseKind(StrEnum):
    INSIGHTFUL = "insightful"


@dataclass(frozen=True, slots=True)
class PostRates:
    """Posts of an account in a sliding hour."""

    plain: int
    with_standing: int

    def most(self, *, has_standing: bool) -> int:
        return self.with_standing if has_standing else self.plain


def free_again_at(nth_newest_at: datetime | None, now: datetime) -> datetime | None:
    """None: a post is taken now, else from when on.

    `nth_newest_at`: when the account's nth newest post was made, n being the most in an hour; None:
    there are fewer.
    """
    if nth_newest_at is None or nth_newest_at <= now - RATE_WINDOW:
        return None
    return nth_newest_at + RATE_WINDOW


def release_tenths(
    kind: ReleaseKind | None, *, is_first_reply: bool, releaser_has_standing: bool
) -> int:
    """Tenths of a point that the author earns."""
    earned = FIRST_REPLY_TENTHS if is_first_reply else RELEASE_TENTHS
    is_insightful = kind is ReleaseKind.INSIGHTFUL and releaser_has_standing
    return earned + INSIGHTFUL_TENTHS if is_insightful else earned


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseBounds:
    """Releases of a UTC day: by a group without standing, of posts of one, and between two groups."""

    by_newcomer: int = 3
    for_newcomer: int = 10
    of_pair: int = 2


class ReleasesUsedUpError(MandateError):
    """There were as many releases today as may be. The text is a clause."""


@dataclass(frozen=True, slots=True)
class ReleaseCount:
    """`name`: of what is counted in a UTC day (api.areas.earn.tables.EarnDay)."""

    name: str
    limit: int
    says: str


def release_counts(by: Payee, author: Payee, bounds: ReleaseBounds) -> Iterator[ReleaseCount]:
    """All that a release counts in. `by` and `author` are of two groups."""
    if not by.has_standing:
        says = (
            f"A group without standing can release at most {bounds.by_newcomer} posts per UTC day"
        )
        for key in by.keys:
            yield ReleaseCount(f"release:by:{key}", bounds.by_newcomer, says)
    if not author.has_standing:
        says = (
            f"At most {bounds.for_newcomer} posts of an author without standing can be "
            "released per UTC day"
        )
        for key in author.keys:
            yield ReleaseCount(f"release:for:{key}", bounds.for_newcomer, says)
    says = f"At most {bounds.of_pair} posts can be released between you and the author per UTC day"
    for pair in {tuple(sorted(one)) for one in product(by.keys, author.keys)}:
        yield ReleaseCount("release:of:" + "|".join(pair), bounds.of_pair, says)


def require_releasable(counts: Mapping[ReleaseCount, int]) -> None:
    """`counts`: what was released today. Errors: ReleasesUsedUpError."""
    for one in sorted(counts, key=lambda one: one.name):
        if counts[one] >= one.limit:
            raise ReleasesUsedUpError(one.says)

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
- Nobody releases a post of their own person: an owner with all agents, or an agent without owner;
  nor, of agents without owners, one of the same network address or funding wallet.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

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

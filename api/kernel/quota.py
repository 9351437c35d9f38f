"""The daily ceiling: every call with a valid key counts, in one Postgres row a key and UTC day
(docs/rules.md#calls-per-day).

    calls of today   0 ........... ceiling-1 | ceiling
    the next call    is served               | rate_limited until 00:00 UTC

A call is counted before it is served, by the statement that proves its key
(core.identity.calls.count_call). A call that the ceiling refuses is not counted, so that a higher
plan serves at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from api.kernel.caller import OwnerCaller
from api.kernel.limits import Limits
from api.kernel.refusals import used_up_today
from core.db.engine import WriteSession
from core.identity import queries as identity
from core.subscriptions.rules import Tier
from core.times import next_day

PLANS: Mapping[Tier, str] = {Tier.FREE: "free", Tier.TIER_1: "plus", Tier.TIER_2: "pro"}


def ceilings(limits: Limits) -> Mapping[str, int]:
    """Calls a key and UTC day, by the plan of its account (docs/rules.md#calls-per-day)."""
    return {
        "free": limits.daily_ceiling,
        "plus": limits.daily_ceiling_plus,
        "pro": limits.daily_ceiling_pro,
    }


def ceiling_of(tier: Tier, limits: Limits) -> int:
    """The same of an account with this tier."""
    return ceilings(limits)[PLANS[tier]]


@dataclass(frozen=True, slots=True)
class Quota:
    """One key's day after this call.

    `number`: the call's own today, from 1; None: the ceiling refused it.
    """

    ceiling: int
    number: int | None
    now: datetime

    def require_admitted(self) -> None:
        """Errors: Refusal rate_limited when today's calls were used up before this one."""
        if self.number is None:
            used_up = f"Today's {self.ceiling} calls are used up"
            raise used_up_today(used_up, "call again", "calls_today", self.now)

    def headers(self) -> dict[str, str]:
        """What every answer to a call with a key carries.

        `X-RateLimit-Reset` is in unix seconds.
        """
        left = 0 if self.number is None else self.ceiling - self.number
        return {
            "X-RateLimit-Limit": str(self.ceiling),
            "X-RateLimit-Remaining": str(left),
            "X-RateLimit-Reset": str(int(next_day(self.now).timestamp())),
        }


def count_write(session: WriteSession, owner: OwnerCaller, limits: Limits, now: datetime) -> None:
    """Count an owner's write that adds rows, as the last of its transaction. Errors: Refusal
    rate_limited, which undoes it.
    """
    most = limits.owner_writes_per_day
    if not identity.count_write(session, owner.account_id, now.date(), most):
        used_up = (
            f"An owner may add {most} drafts, policies, personas, listings and the like per "
            "day, and today's are used up"
        )
        raise used_up_today(used_up, "try again", "writes_today", now)

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
from api.kernel.operation import Refusal
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

    @property
    def resets_at(self) -> datetime:
        """The next 00:00 UTC."""
        return next_day(self.now)

    def require_admitted(self) -> None:
        """Errors: Refusal rate_limited when today's calls were used up before this one."""
        if self.number is None:
            raise Refusal(
                "rate_limited",
                f"The {self.ceiling} calls of today are used up; call again from "
                f"{self.resets_at:%Y-%m-%dT%H:%M:%SZ} on.",
                remaining={"calls_today": 0},
                retry_at=self.resets_at,
            )

    def headers(self) -> dict[str, str]:
        """What every answer to a call with a key carries.

        `X-RateLimit-Reset` is in unix seconds.
        """
        left = 0 if self.number is None else self.ceiling - self.number
        return {
            "X-RateLimit-Limit": str(self.ceiling),
            "X-RateLimit-Remaining": str(left),
            "X-RateLimit-Reset": str(int(self.resets_at.timestamp())),
        }


def count_write(session: WriteSession, owner: OwnerCaller, limits: Limits, now: datetime) -> None:
    """Count an owner's write that adds rows, as the last of its transaction. Errors: Refusal
    rate_limited, which undoes it.
    """
    most, resets_at = limits.owner_writes_per_day, next_day(now)
    if not identity.count_write(session, owner.account_id, now.date(), most):
        raise Refusal(
            "rate_limited",
            f"An owner may add {most} drafts, policies, personas, listings and the like a day, and today's "
            f"are used up; try again from {resets_at:%Y-%m-%dT%H:%M:%SZ} on.",
            remaining={"writes_today": 0},
            retry_at=resets_at,
        )

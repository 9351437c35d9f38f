"""The daily ceiling: every call with a valid key counts, in one Postgres row a key and UTC day (decisions 16, 67).

    calls of today   0 ........... limit-1 | limit
    the next call    is served             | rate_limited until 00:00 UTC

The row is counted up as the call's last statement: it is held for the commit only, so that calls of one key run side by
side. A call that is refused by the ceiling itself is not counted.
"""

from dataclasses import dataclass
from datetime import datetime, time, timedelta

from sqlalchemy.orm import Session

from api.kernel.operation import Refusal
from core.db.engine import WriteSession
from core.db.repositories import calls


@dataclass(frozen=True, slots=True)
class Quota:
    """One key's day. `resets_at` is the next 00:00 UTC."""

    key_id: int
    limit: int
    now: datetime

    @property
    def resets_at(self) -> datetime:
        return datetime.combine(self.now.date() + timedelta(days=1), time(0), self.now.tzinfo)

    def require_left(self, session: Session) -> None:
        """Errors: Refusal rate_limited when today's calls are used up."""
        self._require(calls.calls_of_day(session, self.key_id, self.now.date()) + 1)

    def count(self, session: WriteSession) -> int:
        """Count this call; returns what is left. Errors: Refusal rate_limited when calls beside it took the last one."""
        number = calls.count_call(session, self.key_id, self.now)
        self._require(number)
        return self.limit - number

    def _require(self, number: int) -> None:
        if number > self.limit:
            raise Refusal(
                "rate_limited",
                f"The {self.limit} calls of today are used up; call again from {self.resets_at:%Y-%m-%dT%H:%M:%SZ} on.",
                remaining={"calls_today": 0},
                retry_at=self.resets_at,
                headers=self.headers(0),
            )

    def headers(self, left: int) -> dict[str, str]:
        """`X-RateLimit-Reset` is in unix seconds."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(left),
            "X-RateLimit-Reset": str(int(self.resets_at.timestamp())),
        }

"""Slow jobs as their last runs show them: what is late, what fails, what asks for attention.

last start ........... due ........... due ........... due
    |--- every_s ---|--- every_s ---|--- every_s ---|
    |<------------------- late from here on ------->|      exactly LATE_PERIODS periods is late
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

LATE_PERIODS: Final = 3
FAILED_RUNS: Final = 3
KEEPERS: Final = ("balances", "perps_closing")  # the keeper runs these itself, with its keys
# what a run did may hold a sentence under this key: a person has to act
ATTENTION: Final = "attention"

RunOutcome = Literal["ok", "failed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """A job's newest run. `outcome` None: under way. `ended_at` None: likewise.

    `failures`: how many of its newest ended runs failed, without a good one between. `did`: what
    its newest ended run did.
    """

    name: str
    every_s: int
    started_at: datetime
    ended_at: datetime | None
    outcome: RunOutcome | None
    error: str | None
    failures: int
    did: Mapping[str, Any]

    @property
    def due_at(self) -> datetime:
        return self.started_at + timedelta(seconds=self.every_s)

    @property
    def duration_ms(self) -> int | None:
        return (
            None
            if self.ended_at is None
            else (self.ended_at - self.started_at) // timedelta(milliseconds=1)
        )

    def age_s(self, now: datetime) -> int:
        """Whole seconds since the last start."""
        return max(0, int((now - self.started_at).total_seconds()))

    def trouble(self, now: datetime) -> str | None:
        """What is wrong and what to do, as a sentence; None when all is well."""
        age_s = self.age_s(now)
        if age_s >= LATE_PERIODS * self.every_s:
            hangs = "was started and has not ended" if self.outcome is None else "has not run"
            due = f"it is due every {self.every_s} s"
            return (
                f"The job {self.name} {hangs} for {age_s} s, {due}; see that `python -m "
                "api.worker` runs, and its log."
            )
        if self.failures >= FAILED_RUNS:
            return (
                f"The job {self.name} failed its last {self.failures} runs "
                f"({self.error or 'no reason kept'}); the worker's log says more."
            )
        attention = self.did.get(ATTENTION)
        return None if attention is None else str(attention)


def troubles(runs: Iterable[LastRun], now: datetime) -> list[str]:
    """One sentence for each job that needs somebody."""
    return [trouble for run in runs if (trouble := run.trouble(now)) is not None]

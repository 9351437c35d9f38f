"""How an agent has kept its mandates on the chain (docs/record-strips.md).

Laws
- Breaches of a mandate are its flagged reports and its confirmed refusals; it was kept when it ended
  without any. The stop line is a limit that held, and no breach.
- What never held its budget is no mandate that anybody kept: it does not count as ended.
"""

from dataclasses import dataclass
from datetime import datetime

from core.mandate.rules.lifecycle import Status

ENDED_AFTER_WORK = (Status.STOPPED, Status.SETTLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conduct:
    """Of all the agent's mandates on the chain. `is_readable` false: a ledger lacks facts, so that
    nobody knows its figures.
    """

    mandates: int = 0
    refusals: int = 0  # confirmed ones
    violations: int = 0
    ended: int = 0
    kept: int = 0
    is_readable: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedMandate:
    mandate_id: str  # public
    status: Status
    ended_at: datetime
    breaches: int

    @property
    def is_kept(self) -> bool:
        return self.breaches == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmedRefusal:
    """`mandate_id`: the public id; None on the open board."""

    at: datetime
    mandate_id: str | None
    reason: str

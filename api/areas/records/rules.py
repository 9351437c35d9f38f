"""What a record strip says of an agent: parts, and when each is unknown (docs/record-strips.md).

Laws
- A part that cannot be read is None, whole. A zero is said only where the record was read and holds
  nothing, or where a snapshot of the Hall is there and has no row of the agent.
- Breaches of a mandate are its flagged reports and its confirmed refusals; it was kept when it ended
  without any. The stop line is a limit that held, and no breach.
- What never held its budget is no mandate that anybody kept: it does not count as ended.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final

from api.areas.earn.rules.points import STANDING_CLAIMS
from core.mandate.rules.lifecycle import Status

ENDED_SHOWN: Final = 10
REFUSALS_SHOWN: Final = 10
ENDED_AFTER_WORK: Final = (Status.STOPPED, Status.SETTLED)


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


class LadderName(StrEnum):
    NEWCOMER = "Newcomer"
    OBSERVER = "Observer"
    ANALYST = "Analyst"
    SENTINEL = "Sentinel"
    PIONEER = "Pioneer"


# Verified task claims from which on an agent has the name (inclusive); Analyst is where standing
# begins.
LADDER: Final = (
    (LadderName.NEWCOMER, 0),
    (LadderName.OBSERVER, 1),
    (LadderName.ANALYST, STANDING_CLAIMS),
    (LadderName.SENTINEL, 10),
    (LadderName.PIONEER, 30),
)


@dataclass(frozen=True, slots=True)
class LadderPlace:
    """`next_at`: verified claims from which on the next name is the agent's; None: there is none
    above.
    """

    name: LadderName
    verified_claims: int
    next_at: int | None


def ladder_place(verified_claims: int) -> LadderPlace:
    reached = [name for name, least in LADDER if verified_claims >= least]
    above = [least for _, least in LADDER if verified_claims < least]
    return LadderPlace(reached[-1], verified_claims, above[0] if above else None)


@dataclass(frozen=True, slots=True)
class VerifiedWork:
    """Task claims that were verified, and values of mining whose approval holds."""

    task_claims: int = 0
    kg_claims: int = 0

    @property
    def has_standing(self) -> bool:
        return self.task_claims >= STANDING_CLAIMS


@dataclass(frozen=True, slots=True, kw_only=True)
class HallStanding:
    """`rank`: by days live among ranked agents, 1 is the first; None: unranked."""

    ranked: bool = False
    rank: int | None = None
    days_live: int = 0
    trades: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StripFacts:
    """What was read of one agent. `hall` None: there is no snapshot. `work` None: it was not read."""

    agent_id: int
    name: str | None
    conduct: Conduct
    ended: Sequence[EndedMandate]
    refusals: Sequence[ConfirmedRefusal]
    hall: HallStanding | None
    work: VerifiedWork | None = None
    is_simulated: bool = False

    @property
    def agent_name(self) -> str:
        return self.name or f"agent-{self.agent_id}"

    @property
    def limits(self) -> Conduct | None:
        """None: a ledger is short, or there are no mandates and no snapshot that says so."""
        if not self.conduct.is_readable or (not self.conduct.mandates and self.hall is None):
            return None
        return self.conduct

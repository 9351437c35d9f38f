"""What a record strip says of an agent: parts, and when each is unknown (docs/record-strips.md).

Laws
- A part that cannot be read is None, whole. A zero is said only where the record was read and holds
  nothing, or where a snapshot of the Hall is there and has no row of the agent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from core.mandate.rules.conduct import Conduct, ConfirmedRefusal, EndedMandate

ENDED_SHOWN: Final = 10
REFUSALS_SHOWN: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class HallStanding:
    """`rank`: by days live among ranked agents, 1 is the first; None: unranked."""

    ranked: bool = False
    rank: int | None = None
    days_live: int = 0
    trades: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StripFacts:
    """What was read of one agent. `hall` None: there is no snapshot."""

    agent_id: int
    name: str | None
    conduct: Conduct
    ended: Sequence[EndedMandate]
    refusals: Sequence[ConfirmedRefusal]
    hall: HallStanding | None
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

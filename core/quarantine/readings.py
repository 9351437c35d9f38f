"""What ledgers say, and whether that is all: the one way by which answers come to a ledger's state.

Laws
- A reading has to be unpacked: whoever takes `said` has `short` in hand, and says so
  (`data_issue`).
- The areas of the API load no state by another way (tests/architecture/test_short_ledgers.py).
"""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from core.quarantine.rules import ShortLedger

Said = TypeVar("Said")


@dataclass(frozen=True, slots=True)
class Reading(Generic[Said]):
    """`said`: the state that the ledger tells of.

    `short`: what of the chain it lacks; None: nothing, so that `said` is the truth.
    """

    said: Said
    short: ShortLedger | None

    @property
    def data_issue(self) -> dict[str, Any]:
        """{data_issue, data_issue_reason} of a short ledger; empty of one that lacks nothing."""
        return {} if self.short is None else self.short.issue

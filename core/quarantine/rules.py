"""A ledger that lacks facts of the chain: they were refused, and are held back until they can be
taken. And what such a ledger says: the one way by which answers come to a ledger's state.

Laws
- A reading has to be unpacked: whoever takes `said` has `short` in hand, and says so
  (`data_issue`).
- The areas of the API load no state by another way (tests/architecture/test_short_ledgers.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Generic, TypeVar

Said = TypeVar("Said")


@dataclass(frozen=True, slots=True)
class ShortLedger:
    """`facts` that the ledger lacks, the first of them in block `from_block`.

    What the chain said before it is all there.

    `from_at`: that block's time; None: it is not known any more.
    """

    facts: int
    from_block: int
    from_at: datetime | None = None

    @property
    def reason(self) -> str:
        """For owners, agents and verifiers."""
        return (
            f"The record is short of facts of the chain ({self.facts}) from block "
            f"{self.from_block} on; they are held back and not lost. The chain itself is the "
            "truth meanwhile."
        )

    @property
    def issue(self) -> dict[str, Any]:
        """What every answer about the ledger carries."""
        return {"data_issue": True, "data_issue_reason": self.reason}

    def reaches_before(self, at: datetime) -> bool:
        """Whether the state before `at` may lack something: it does unless the gap is known to
        begin at `at` or later.
        """
        return self.from_at is None or self.from_at < at

    def to_json(self) -> dict[str, Any]:
        return {"facts": self.facts, "from_block": self.from_block}

    @classmethod
    def of_json(cls, raw: Mapping[str, Any]) -> "ShortLedger":
        return cls(raw["facts"], raw["from_block"])


def is_short_json(raw: object) -> bool:
    """Whether a value has the form of `to_json`."""
    if not isinstance(raw, Mapping) or raw.keys() != {"facts", "from_block"}:
        return False
    return all(type(raw[key]) is int for key in raw) and raw["facts"] > 0 and raw["from_block"] >= 0


@dataclass(frozen=True, slots=True)
class Reading(Generic[Said]):
    """`said`: the state that the ledger gives.

    `short`: what of the chain it lacks; None: nothing, so that `said` is the truth.
    """

    said: Said
    short: ShortLedger | None

    @property
    def data_issue(self) -> dict[str, Any]:
        """{data_issue, data_issue_reason} of a short ledger; empty of one that lacks nothing."""
        return {} if self.short is None else self.short.issue

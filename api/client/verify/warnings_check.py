"""What the rows of the ledger of warnings say (docs/verify.md#ledgers-of-the-service)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from api.client.verify.ledger_check import (
    Figures,
    KeptHead,
    LedgerChecked,
    check_ledger,
    made_form,
)

SAME_WITHIN: Final = timedelta(hours=24)
FORM: Final = made_form(
    "warnings",
    "warnings",
    {
        "seq": int,
        "action": str,
        "clears_seq": int | None,
        "reopens_seq": int | None,
        "exchange": str,
        "asset_id": int,
        "token": str,
        "listing_id": int | None,
        "type": str,
        "severity": str,
        "is_predictive": bool,
        "at": str,
        "evidence": dict,
        "rule_version": str,
        "source_event": str | None,
        "is_imported": bool,
    },
)


def check_warnings(
    lines: Iterable[bytes], kept: Sequence[KeptHead]
) -> tuple[LedgerChecked, Figures]:
    """As `check_ledger`; figures: rows that were imported, warnings that are open.

    Errors: LedgerDiffersError.
    """
    said = _Warnings()
    done = check_ledger(FORM, lines, kept, said.follow)
    return done, {"imported": said.imported, "open": len(said.open)}


@dataclass(slots=True)
class _Warnings:
    """What the rows so far come to. `open`: the row that issued, by key; `ended`: when what that
    row issued was cleared.
    """

    imported: int = 0
    open: dict[tuple[str, int, str], int] = field(default_factory=dict)
    ended: dict[int, tuple[tuple[str, int, str], datetime]] = field(default_factory=dict)
    last_at: datetime | None = None

    def follow(self, body: Mapping[str, Any], before: int) -> None:
        """Its time and what it does to the warning fit what was before."""
        seq, key = body["seq"], (body["exchange"], body["asset_id"], body["type"])
        at = self.last_at = FORM.time_of(body, self.last_at)
        if body["is_imported"] and self.imported != before:
            raise FORM.differs("time", seq, "it is imported, and a row before it is not")
        clears, reopens = body["clears_seq"], body["reopens_seq"]
        match body["action"], clears, reopens:
            case "issued", None, None:
                fits = key not in self.open
                self.open[key] = seq
            case "cleared", int(), None:
                fits = self.open.pop(key, None) == clears
                self.ended[clears] = (key, at)
            case "reopened", None, int():
                ended_key, ended_at = self.ended.pop(reopens, (None, at))
                fits = ended_key == key and key not in self.open and at - ended_at < SAME_WITHIN
                self.open[key] = reopens
            case _:
                fits = False
        if not fits:
            said = f"{body['action']} does not follow from the rows before it"
            raise FORM.differs("state", seq, said)
        self.imported += body["is_imported"]

"""What the rows of the ledger of warnings say (docs/verify.md#ledgers-of-the-service)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from api.client.verify.ledger_check import (
    Figures,
    KeptHead,
    LedgerBody,
    LedgerChecked,
    LedgerForm,
    check_ledger,
)

SAME_WITHIN: Final = timedelta(hours=24)


class WarningBody(LedgerBody, frozen=True):
    action: str
    clears_seq: int | None
    reopens_seq: int | None
    exchange: str
    asset_id: int
    token: str
    listing_id: int | None
    type: str
    severity: str
    is_predictive: bool
    evidence: dict[str, Any]
    rule_version: str
    source_event: str | None
    is_imported: bool


FORM: Final = LedgerForm("warnings", "warnings", WarningBody)


def check_warnings(
    lines: Iterable[bytes], kept: Sequence[KeptHead]
) -> tuple[LedgerChecked, Figures]:
    """As `check_ledger`; figures: rows that were imported, warnings that are open.

    Errors: LedgerDiffersError.
    """
    warnings = _Warnings()
    done = check_ledger(FORM, lines, kept, warnings.follow)
    return done, {"imported": warnings.imported, "open": len(warnings.open)}


@dataclass(slots=True)
class _Warnings:
    """What the rows so far come to. `open`: the row that issued, by key; `ended`: when what that
    row issued was cleared.
    """

    imported: int = 0
    open: dict[tuple[str, int, str], int] = field(default_factory=dict)
    ended: dict[int, tuple[tuple[str, int, str], datetime]] = field(default_factory=dict)

    def follow(self, row: WarningBody, before: int) -> None:
        """What it does to the warning fits what was before."""
        key = (row.exchange, row.asset_id, row.type)
        if row.is_imported and self.imported != before:
            raise FORM.differs("time", row.seq, "it is imported, and a row before it is not")
        match row.action, row.clears_seq, row.reopens_seq:
            case "issued", None, None:
                fits = key not in self.open
                self.open[key] = row.seq
            case "cleared", int() as clears, None:
                fits = self.open.pop(key, None) == clears
                self.ended[clears] = (key, row.at)
            case "reopened", None, int() as reopens:
                ended_key, ended_at = self.ended.pop(reopens, (None, row.at))
                is_soon = row.at - ended_at < SAME_WITHIN
                fits = ended_key == key and key not in self.open and is_soon
                self.open[key] = reopens
            case _:
                fits = False
        if not fits:
            text = f"{row.action} does not follow from the rows before it"
            raise FORM.differs("state", row.seq, text)
        self.imported += row.is_imported

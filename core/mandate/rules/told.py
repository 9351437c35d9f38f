"""What earlier rows of a transaction have told of it, so that a payment or a refusal counts once
however far apart its rows stand.

    row     1  fee, agent, tx A      ...      900  fee, chain, tx A        the chain's word replaces the agent's: one payment
            2  refusal, chain, tx B  ...      901  refusal, agent, tx B    known already: one refusal

Laws
- Rows pair by their transaction, and only rows that count: a reversed row has told nothing.
- The fold's state holds nothing of this. Who folds hands it in: from the rows before, or from the
  ledger by its index on tx_hash.
- The chain proves payments for tools; an agent may have reported one without its class.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy, RowKind

FEE_CLASSES: Mapping[str, str] = {
    "x402": "tools",
    "tools": "tools",
    "paid_read": "tools",
    "venue": "venue",
    "gas": "network",
    "network": "network",
}
UNCLASSIFIED = "unclassified"
PROVABLE_CLASSES = ("tools", UNCLASSIFIED)


@dataclass(slots=True)
class ReportedFacts:
    """Of one transaction.

    `reported`: by class (amount in USDC base units, count) of the agent's reports of provable fees.
    """

    reported: dict[str, tuple[int, int]] = field(default_factory=dict)
    is_paid: bool = False  # the chain has shown a payment for tools
    is_refused: bool = False  # somebody has told of a refusal

    def add(self, telling: "_Telling") -> None:
        """What one more row of the transaction tells."""
        if telling.fee_class is None:
            self.is_refused = True
        elif telling.fee_class not in PROVABLE_CLASSES:
            return
        elif telling.by_agent:
            amount, count = self.reported.get(telling.fee_class, (0, 0))
            self.reported[telling.fee_class] = amount + telling.amount_usdc_e6, count + 1
        else:
            self.is_paid = True


@dataclass(frozen=True, slots=True)
class _Telling:
    """What one row tells, without its payload, which may be long. `fee_class` None: a refusal."""

    at: datetime
    fee_class: str | None
    by_agent: bool
    amount_usdc_e6: int


NOTHING_TOLD = ReportedFacts()


class ToldByTx:
    """What rows told, by transaction; rows are added oldest first.

    `before` takes only those that happened before an instant.
    """

    def __init__(self, rows: Iterable[LedgerRow] = ()) -> None:
        self._tellings: dict[str, list[_Telling]] = {}
        self._told: dict[str, ReportedFacts] = {}
        for row in rows:
            self.add(row)

    def add(self, row: LedgerRow) -> None:
        if tells(row):
            assert row.tx_hash is not None
            telling = _Telling(
                at=row.occurred_at,
                fee_class=fee_class_of(row) if row.kind is RowKind.FEE else None,
                by_agent=row.reported_by is ReportedBy.AGENT,
                amount_usdc_e6=row.amount_usdc_e6 or 0,
            )
            self._tellings.setdefault(row.tx_hash, []).append(telling)
            self._told.setdefault(row.tx_hash, ReportedFacts()).add(telling)

    def of(self, row: LedgerRow, before: datetime | None = None) -> ReportedFacts:
        """What the rows that were added tell of `row`'s transaction."""
        if not self._told or row.tx_hash is None or not tells(row):
            return NOTHING_TOLD
        if before is None:
            return self._told.get(row.tx_hash, NOTHING_TOLD)
        told = ReportedFacts()
        for earlier in self._tellings.get(row.tx_hash, ()):
            if earlier.at < before:
                told.add(earlier)
        return told


def tells(row: NewRow) -> bool:
    """Whether a row is one of those that pair: a fee or a refusal with a transaction."""
    return row.tx_hash is not None and (row.kind is RowKind.FEE or is_refusal(row))


def is_refusal(row: NewRow) -> bool:
    return (
        row.kind is RowKind.NOTE
        and "refusal" in row.payload
        and isinstance(row.payload["refusal"], Mapping)
    )


def fee_class_of(row: NewRow) -> str:
    """tools, venue, network or unclassified; a fee without a known payload.fee_kind is never folded
    into venue.
    """
    kind = row.payload.get("fee_kind")
    return FEE_CLASSES.get(kind, UNCLASSIFIED) if isinstance(kind, str) else UNCLASSIFIED

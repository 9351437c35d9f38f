"""What earlier rows of a transaction reported, so that a payment or a refusal counts once
however far apart its rows are.

    row     1  fee, agent, tx A      ...      900  fee, chain, tx A        the chain's word replaces the agent's: one payment
            2  refusal, chain, tx B  ...      901  refusal, agent, tx B    known already: one refusal
            3  buy, agent, tx C, flagged ...  902  Executed, chain, tx C   the flag counts as the chain's word has it

Laws
- Rows pair by their transaction, and only rows that count: a reversed row reports nothing.
- The fold's state holds nothing of this. Who folds hands it in: from the rows before, or from the
  ledger by its index on tx_hash.
- The chain proves payments for tools; an agent may have reported one without its class.
- What the chain says of a transaction is kept from the first flagged report of it on: a report that
  comes after the chain's rows was judged by them (violations.py).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from core.mandate.rules.rows import TRADES, LedgerRow, NewRow, ReportedBy, RowKind
from core.mandate.rules.tx_facts import CHAIN_CODES, NO_FACTS, TxFacts

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
    `flagged`: the agent's trades that broke a rule, as far as they are compared with the chain's
    rows, and `chain` what those say.
    """

    reported: dict[str, tuple[int, int]] = field(default_factory=dict)
    is_paid: bool = False  # the chain has shown a payment for tools
    is_refused: bool = False  # the agent or the chain reported a refusal
    is_reverted: bool = False  # the chain has shown that the transaction failed
    flagged: list[NewRow] = field(default_factory=list)
    chain: TxFacts = NO_FACTS

    def add(self, report: "_Report") -> None:
        """Add what one more row of the transaction reports."""
        if report.is_refusal:
            self.is_refused = True
            self.is_reverted |= report.is_reverted
        if report.fee_class is not None and report.by_agent:
            amount, count = self.reported.get(report.fee_class, (0, 0))
            self.reported[report.fee_class] = amount + report.amount_usdc_e6, count + 1
        elif report.fee_class is not None:
            self.is_paid = True
        if report.row is not None and is_flagged_trade(report.row):
            self.flagged.append(report.row)
        elif report.row is not None:
            self.chain = self.chain.with_row(report.row)


@dataclass(frozen=True, slots=True)
class _Report:
    """What one row reports, without its payload, which may be long.

    `fee_class`: of a provable fee, else None. `row`: a flagged trade, or a row that came after one,
    with what is compared of it.
    """

    at: datetime
    fee_class: str | None
    by_agent: bool
    amount_usdc_e6: int
    is_refusal: bool
    is_reverted: bool
    row: NewRow | None


NOTHING_REPORTED = ReportedFacts()


class ReportsByTx:
    """What rows reported, by transaction; rows are added oldest first.

    `before` takes only those that happened before an instant.
    """

    def __init__(self, rows: Iterable[LedgerRow] = ()) -> None:
        self._reports: dict[str, list[_Report]] = {}
        self._facts: dict[str, ReportedFacts] = {}
        for row in rows:
            self.add(row)

    def add(self, row: LedgerRow) -> None:
        if row.tx_hash is None:
            return
        facts = self._facts.get(row.tx_hash)
        is_compared = facts is not None and bool(facts.flagged)
        if not (is_compared or is_paired(row)):
            return
        if facts is None:
            facts = self._facts[row.tx_hash] = ReportedFacts()
        report = _report(row, is_compared=is_compared or is_flagged_trade(row))
        self._reports.setdefault(row.tx_hash, []).append(report)
        facts.add(report)

    def of(self, row: LedgerRow, before: datetime | None = None) -> ReportedFacts:
        """What the rows that were added report of `row`'s transaction."""
        if not self._facts or row.tx_hash is None:
            return NOTHING_REPORTED
        if before is None:
            return self._facts.get(row.tx_hash, NOTHING_REPORTED)
        facts = ReportedFacts()
        for earlier in self._reports.get(row.tx_hash, ()):
            if earlier.at < before:
                facts.add(earlier)
        return facts


def _report(row: LedgerRow, *, is_compared: bool) -> _Report:
    by_agent = row.reported_by is ReportedBy.AGENT
    fee_class = fee_class_of(row) if row.kind is RowKind.FEE else None
    return _Report(
        at=row.occurred_at,
        fee_class=fee_class if fee_class in PROVABLE_CLASSES else None,
        by_agent=by_agent,
        amount_usdc_e6=row.amount_usdc_e6 or 0,
        is_refusal=is_refusal(row),
        is_reverted=not by_agent and row.payload.get("reverted") is True,
        row=_compared(row) if is_compared else None,
    )


_COMPARED: Final = (
    "violation", "target", "detail", "reverted", "executed", "unwound", "proceeds",
)  # fmt: skip


def _compared(row: LedgerRow) -> NewRow:
    """The row with what is compared of it."""
    return NewRow(
        kind=row.kind,
        reported_by=row.reported_by,
        occurred_at=row.occurred_at,
        base_key="",
        amount_usdc_e6=row.amount_usdc_e6,
        cash_delta_usdc_e6=row.cash_delta_usdc_e6,
        chain_id=row.chain_id,
        tx_hash=row.tx_hash,
        block_hash=row.block_hash,
        payload={key: row.payload[key] for key in _COMPARED if key in row.payload},
    )


def is_paired(row: NewRow) -> bool:
    """Whether a row is one of those that pair: a fee, a refusal or a flagged trade, with a
    transaction.
    """
    return row.tx_hash is not None and (
        row.kind is RowKind.FEE or is_refusal(row) or is_flagged_trade(row)
    )


def is_flagged_trade(row: NewRow) -> bool:
    """Whether the agent's report of a trade was stored with a flag that the chain may take back."""
    return (
        row.kind in TRADES
        and row.reported_by is ReportedBy.AGENT
        and not CHAIN_CODES.issuperset(codes_of(row))
    )


def codes_of(row: NewRow) -> tuple[str, ...]:
    """The flags that were stored with a row."""
    violation = row.payload.get("violation")
    codes = violation.get("codes") if isinstance(violation, Mapping) else None
    return tuple(map(str, codes)) if isinstance(codes, list | tuple) else ()


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

"""What nobody but its author vouches for, and what the logs say against it.

A row that no log, reverted call, signature or block proves is a claim, whoever its author is, and
also when it names a transaction that other rows prove. Of such a transaction the logs say what was
spent, received and paid: a claim of another amount, or of another kind of act, is contradicted.

| report | the transaction must have | amount |
|---|---|---|
| move, buy | a call that moved money | spent, or received where nothing was spent, of one call or of all |
| sell | something that came in | received, of one log or of all |
| fee as tools | a payment | of one payment or of all |
| resolve | something that came in | any: it is a result, not a sum |
| fee otherwise, note | any | any |
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from api.client.verify.findings import Report
from core.mandate.rules.reported import usable_usdc_e6
from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy, RowKind
from core.mandate.rules.told import fee_class_of, is_refusal
from core.money import usdc_text


def claims_of(rows: Iterable[LedgerRow], proven: Collection[int]) -> list[int]:
    """The seqs of rows that nothing proves."""
    return [row.seq for row in rows if row.seq not in proven]


@dataclass(frozen=True, slots=True)
class _Moved:
    """What the logs of one transaction say, log by log, USDC base units."""

    acted: tuple[int, ...]
    received: tuple[int, ...]
    paid: tuple[int, ...]
    is_failed: bool = False

    @classmethod
    def by(cls, rows: Sequence[NewRow]) -> "_Moved":
        executed = [row.payload["executed"] for row in rows if "executed" in row.payload]
        came = [row for row in rows if row.kind is RowKind.NOTE and row.cash_delta_usdc_e6 > 0]
        received = [usable_usdc_e6(one["received"]) or 0 for one in executed]
        return cls(
            acted=tuple(row.amount_usdc_e6 or 0 for row in rows if "executed" in row.payload),
            received=tuple(filter(None, (*received, *(row.amount_usdc_e6 or 0 for row in came)))),
            paid=tuple(row.amount_usdc_e6 or 0 for row in rows if row.kind is RowKind.FEE),
        )


FAILED = _Moved((), (), (), is_failed=True)


def compare_claims(
    rows: Iterable[LedgerRow],
    logs: Iterable[NewRow],
    failed: Collection[str],
    report: Report,
) -> None:
    """Each report of the agent against the logs of its transaction.

    `failed`: transactions that are proven to have failed.
    """
    by_tx: dict[str, list[NewRow]] = {}
    for log in logs:
        by_tx.setdefault(log.tx_hash or "", []).append(log)
    moved = {tx: _Moved.by(found) for tx, found in by_tx.items()} | dict.fromkeys(failed, FAILED)
    for row in rows:
        if (
            row.reported_by is ReportedBy.AGENT
            and row.block_hash is None
            and row.reverses_id is None
            and row.tx_hash in moved
        ):
            _compare(row, moved, report)


def _compare(row: LedgerRow, by_tx: Mapping[str, _Moved], report: Report) -> None:
    moved = by_tx[row.tx_hash or ""]
    wanted = _amounts(row, moved)
    if is_refusal(row):
        if not moved.is_failed:
            report.say("claim.kind", row.seq, f"says {row.tx_hash} was refused, which has logs")
    elif wanted == ():
        what = "failed" if moved.is_failed else "has no log of that"
        report.say("claim.kind", row.seq, f"says {row.kind.value}, {row.tx_hash} {what}")
    elif wanted is not None and row.amount_usdc_e6 not in (None, *wanted, sum(wanted)):
        said = usdc_text(row.amount_usdc_e6 or 0)
        report.say(
            "claim.amount",
            row.seq,
            f"says {said}, the logs of {row.tx_hash} {', '.join(map(usdc_text, wanted))}",
        )


def _amounts(row: LedgerRow, moved: _Moved) -> tuple[int, ...] | None:
    """The amounts of which a claim may be; none at all: no claim of that kind; None: any."""
    match row.kind:
        case RowKind.MOVE | RowKind.BUY:
            return moved.acted
        case RowKind.SELL:
            return moved.received
        case RowKind.RESOLVE:
            return None if moved.received else ()
        case RowKind.FEE if fee_class_of(row) == "tools":
            return moved.paid
        case _:
            return None

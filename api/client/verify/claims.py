"""What no chain proves: claims, what the chain says against them, and reasons of stops.

A row that no log, reverted call, signature of the terms or block proves is a claim, also when it
names a transaction that other rows prove. Its author vouches for it where the author signed it
(authors_check.py); any other is the service's word for what somebody said. A claim that the chain
contradicts (core/mandate/rules/reports.py) is a false word: the record says truly that it was
said, so that it is reported and is no difference.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from api.client.verify.findings import FalseClaim, Report
from core.mandate.rules.reports import NO_FACTS, ChainWord, TxFacts, chain_word
from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy, RowKind
from core.money import usdc_text_or_none

SAYS = {
    ChainWord.REVERTED: "the transaction was reverted",
    ChainWord.NOT_REVERTED: "the transaction was not reverted",
    ChainWord.OTHER_TARGET: "the transaction has no such call",
    ChainWord.OTHER_AMOUNT: "the transaction moved another amount",
}


def compare_claims(
    rows: Iterable[LedgerRow],
    logs: Iterable[NewRow],
    failed: Collection[str],
    vault: str,
    report: Report,
) -> None:
    """Each report of the agent against the logs of its transaction.

    `failed`: transactions that are proven to have failed.
    """
    facts = dict.fromkeys(failed, TxFacts(is_reverted=True, is_known=True))
    for log in logs:
        facts[log.tx_hash or ""] = facts.get(log.tx_hash or "", NO_FACTS).with_row(log)
    for row in rows:
        if (
            row.reported_by is not ReportedBy.AGENT
            or row.block_hash is not None
            or row.reverses_id is not None
        ):
            continue
        word = chain_word(row, facts.get(row.tx_hash or "", NO_FACTS), vault)
        if word in SAYS:
            amount = usdc_text_or_none(row.amount_usdc_e6)
            what = row.kind.value if amount is None else f"{row.kind.value} of {amount}"
            text = f"the agent reports a {what} by {row.tx_hash}; {SAYS[word]}"
            report.add_false_claim(FalseClaim(row.seq, word.value, text))
    if count := len(report.false_claims) + report.more_false_claims:
        report.remarks.append(
            f"the chain contradicts {count} of the agent's reports: the record says truly what was "
            "reported, and counts none of it as confirmed"
        )


def report_stops(rows: Iterable[LedgerRow], report: Report) -> None:
    """Of each stop that a log proves: at the line the vault measured itself; the reason of a party's
    stop is that party's word, which the vault only carries.
    """
    for row in rows:
        stopped = row.payload.get("stopped")
        if row.kind is not RowKind.STOP or not isinstance(stopped, Mapping):
            continue
        if stopped.get("worth_usdc") is not None:
            report.remarks.append(
                f"row {row.seq}: stopped at the line; the worth of {stopped['worth_usdc']} is the "
                "vault's own measure"
            )
        else:
            by = row.reported_by.value
            report.remarks.append(
                f"row {row.seq}: stopped by the {by}; the reason ({stopped.get('reason')}) is the "
                f"{by}'s word, and nothing on chain measures it"
            )


def newest_measure(rows: Iterable[LedgerRow]) -> dict[str, Any] | None:
    """Of the rows that logs prove: the vault's newest mark, or its stop at the line."""
    found = None
    for row in rows:
        for word in ("mark", "stopped"):
            measured = row.payload.get(word)
            if (
                row.block_number is not None
                and isinstance(measured, Mapping)
                and measured.get("worth_usdc") is not None
            ):
                found = {
                    "usdc": measured["worth_usdc"],
                    "at_cost_usdc": measured["unvalued_out_usdc"],
                    "block": row.block_number,
                    "row": row.seq,
                }
    return found

"""What nobody but its author vouches for, and what the chain says against it.

A row that no log, reverted call, signature or block proves is a claim, whoever its author is, and
also when it names a transaction that other rows prove. A claim that the chain contradicts
(core/mandate/rules/borne_out.py) is its author's false word: the record says truly that it was
said, so that it is told and is no difference.
"""

from collections.abc import Collection, Iterable

from api.client.verify.findings import FalseClaim, Report
from core.mandate.rules.borne_out import chain_word
from core.mandate.rules.rows import LedgerRow, NewRow, ReportedBy
from core.mandate.rules.tx_facts import NO_FACTS, ChainWord, TxFacts
from core.money import usdc_text_or_none

SAYS = {
    ChainWord.REVERTED: "the transaction was reverted",
    ChainWord.NOT_REVERTED: "the transaction was not reverted",
    ChainWord.OTHER_TARGET: "the transaction has no such call",
    ChainWord.OTHER_AMOUNT: "the transaction moved another amount",
}


def claims_of(rows: Iterable[LedgerRow], proven: Collection[int]) -> list[int]:
    """The seqs of rows that nothing proves."""
    return [row.seq for row in rows if row.seq not in proven]


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
            report.tell(FalseClaim(row.seq, word.value, _text(row, SAYS[word])))
    if count := len(report.false_claims) + report.more_false_claims:
        report.remarks.append(
            f"the chain contradicts {count} of the agent's reports: the record says truly what was "
            "reported, and counts none of it as confirmed"
        )


def _text(row: LedgerRow, says: str) -> str:
    amount = usdc_text_or_none(row.amount_usdc_e6)
    said = row.kind.value if amount is None else f"{row.kind.value} of {amount}"
    return f"the agent reports a {said} by {row.tx_hash}; {says}"

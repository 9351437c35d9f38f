"""Which flags of reports count against the mandate: the state's figures of violations.

Laws
- A flag counts as the chain's word for its report has it (borne_out.counted_codes): the agent's own
  until the chain has the transaction, whoever comes first.
- A false report breaks no rule of the mandate. What the chain refused is counted as a refusal.
"""

from collections import Counter
from collections.abc import Collection

from core.mandate.rules.borne_out import chain_word, counted_codes
from core.mandate.rules.rows import LedgerRow, NewRow
from core.mandate.rules.state import MandateState, changed
from core.mandate.rules.tx_facts import TxFacts
from core.mandate.rules.tx_reports import ReportedFacts, codes_of, is_flagged_trade


def with_flags(state: MandateState, report: LedgerRow, past: ReportedFacts) -> MandateState:
    """The state after a report of the agent."""
    if not codes_of(report):
        return state
    if report.tx_hash is not None and is_flagged_trade(report):
        state = changed(state, flagged_trades_count=state.flagged_trades_count + 1)
    return _counted(state, (), _counting(report, past.chain, state.vault_address))


def with_flags_compared(state: MandateState, row: LedgerRow, past: ReportedFacts) -> MandateState:
    """The state after any row: what was reported of its transaction before is compared with what the
    row adds to the chain's word.
    """
    chain = past.chain.with_row(row)
    for report in past.flagged:
        before = _counting(report, past.chain, state.vault_address)
        after = _counting(report, chain, state.vault_address)
        if before != after:
            state = _counted(state, before, after)
    return state


def _counting(report: NewRow, chain: TxFacts, vault: str | None) -> tuple[str, ...]:
    return counted_codes(codes_of(report), chain_word(report, chain, vault))


def _counted(state: MandateState, before: Collection[str], after: Collection[str]) -> MandateState:
    """The state with one report's counting codes changed."""
    counts = Counter(dict(state.violation_counts))
    counts.subtract(set(before))
    counts.update(set(after))
    return changed(
        state,
        violation_counts=tuple(sorted((+counts).items())),
        violations_count=state.violations_count + bool(after) - bool(before),
    )

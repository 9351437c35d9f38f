"""What the mandate's pages should show, computed from the rows alone: limits, progress and the
newest week's statement.

Compare it with what the service shows you. Two fields are not in a record: what closing costs
(`leave_now_est` is then as for an unknown spread) and the wording of the statement's steps, which
is left out.
"""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from api.client.verify.terms_check import RecordSubject
from core.mandate.rules.fold import effective, fold
from core.mandate.rules.limits import LimitsFacts, SpendWindow, limits_block
from core.mandate.rules.progress import ProgressFacts, progress_block
from core.mandate.rules.rows import LedgerRow
from core.mandate.rules.state import MandateState
from core.mandate.rules.statement import flows_of
from core.mandate.rules.weeks import IsoWeek
from core.money import usdc_text
from core.quarantine.rules import ShortLedger


def shown(
    subject: RecordSubject,
    rows: Sequence[LedgerRow],
    state: MandateState,
    window: SpendWindow,
    at: int,
    block_number: int | None,
    short: ShortLedger | None,
) -> dict[str, Any]:
    """{limits, progress, statement} as of `at`, unix seconds, of that block (paper: of none).
    `state` is the fold of the rows, `window` their day.
    """
    limits = LimitsFacts(
        status=state.status,
        market_mode=subject.facts.market_mode,
        terms=subject.terms,
        cash_usdc_e6=state.cash_usdc_e6,
        window=window,
        reverts_count=None if subject.is_paper else state.reverts_count,
        refusals_count=state.refusals_count,
        violations_count=state.violations_count,
        violation_codes=state.violation_codes,
        is_short=short is not None,
    )
    about = ProgressFacts(
        facts=subject.facts, terms=subject.terms, spread_bps=None, now=at, short=short
    )
    return {
        "limits": limits_block(limits, at, block_number),
        "progress": progress_block(state, about),
        "statement": _statement(subject, rows, state, at),
    }


def _statement(
    subject: RecordSubject, rows: Sequence[LedgerRow], end: MandateState, at: int
) -> dict[str, Any]:
    """Cash and flows of the week that `at` lies in; `unexplained` is 0.000000 or the ledger does
    not balance.
    """
    year, week, _ = datetime.fromtimestamp(at, UTC).isocalendar()
    of = IsoWeek(year, week)
    counted = effective(rows)
    start = fold((row for row in counted if row.occurred_at < of.start_at), subject.facts)
    flows = flows_of(row for row in counted if row.occurred_at >= of.start_at)
    unexplained = end.cash_usdc_e6 - start.cash_usdc_e6 - flows.net_usdc_e6
    texts = {
        name.removesuffix("_usdc_e6"): usdc_text(amount) for name, amount in asdict(flows).items()
    }
    return {
        "week": of.label,
        "cash": {"start": usdc_text(start.cash_usdc_e6), "end": usdc_text(end.cash_usdc_e6)},
        "flows": texts | {"unexplained": usdc_text(unexplained)},
    }

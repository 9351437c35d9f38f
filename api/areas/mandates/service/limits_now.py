"""The limits as the ledger has them now: one place for reads, built calls and the judging of
reports (docs/rules.md#limits-in-a-read).
"""

from dataclasses import dataclass
from typing import Any

from api.areas.mandates.service.views import (
    chain_now,
    is_paper,
    reading_of,
    rules_of,
    terms_of,
    vault_of,
)
from api.kernel.operation import Call
from core.mandate import rows as mandate_rows
from core.mandate.kept_days import DayOutflows
from core.mandate.rows import mandate_facts
from core.mandate.rules.ledger import MandateState
from core.mandate.rules.lifecycle import OF_VAULT, Status
from core.mandate.rules.limits import LimitsFacts, SpendWindow, VaultModel, limits_block
from core.mandate.rules.outflows import Outflow
from core.mandate.rules.refusals import REFUSAL_REPORTS_PER_DAY
from core.mandate.rules.terms import ZERO_ADDRESS, MandateTerms
from core.mandate.tables import Mandate, MandateHead
from core.quarantine.readings import Reading
from core.quarantine.rules import ShortLedger
from core.times import start_of_day

VAULT_STATUS = {status: vault for vault, status in OF_VAULT.items()}


@dataclass(frozen=True, slots=True)
class Standing:
    """A mandate as of its newest row.

    `now`: unix seconds of the latest block, for paper of the clock.
    """

    mandate: Mandate
    reading: Reading[MandateState]
    terms: MandateTerms
    day: DayOutflows
    now: int

    @property
    def state(self) -> MandateState:
        return self.reading.said

    @property
    def short(self) -> ShortLedger | None:
        return self.reading.short

    @property
    def outflows(self) -> tuple[Outflow, ...]:
        return self.day.outflows

    @property
    def window(self) -> SpendWindow:
        return self.day.window

    @property
    def status(self) -> Status:
        return self.state.status

    @property
    def is_past_end(self) -> bool:
        return self.now >= self.terms.ends_at


def standing_of(call: Call, mandate: Mandate) -> Standing:
    """Loads the head, and what the ledger has grown by since this process read its day."""
    head = call.db.get(MandateHead, mandate.id)  # held, so that the reading finds it loaded
    now, reading = chain_now(call, mandate), reading_of(call, mandate)
    day = call.deps.days.day_of(call.db, head, mandate_facts(mandate), now)
    return Standing(mandate, reading, terms_of(mandate), day, now)


def limits_view(standing: Standing) -> dict[str, Any]:
    """The block {allowed, used, breaches} of docs/rules.md#limits-in-a-read."""
    state = standing.state
    facts = LimitsFacts(
        status=standing.status,
        market_mode=mandate_facts(standing.mandate).market_mode,
        terms=standing.terms,
        cash_usdc_e6=state.cash_usdc_e6,
        window=standing.window,
        reverts_count=None if is_paper(standing.mandate) else state.reverts_count,
        refusals_count=state.refusals_count,
        violations_count=state.violations_count,
        violation_codes=state.violation_codes,
        is_short=standing.short is not None,
    )
    return limits_block(facts, standing.now)


def vault_model(standing: Standing, vault: str) -> VaultModel:
    """What the vault's own check looks at, from the ledger.

    The factory's pause is not in the record: it counts as off.
    """
    state, terms = standing.state, standing.terms
    agent = state.agent_on_chain if state.agent_known else terms.agent
    return VaultModel(
        address=vault,
        status=VAULT_STATUS[standing.status],
        agent=agent or ZERO_ADDRESS,
        budget=terms.budget_usdc,
        per_tx_cap=terms.per_tx_cap,
        daily_cap=terms.daily_cap,
        ends_at=terms.ends_at,
        rules=rules_of(standing.mandate),
        deposited=state.deposited_usdc_e6,
        spent=state.spent_usdc_e6,
        received=state.received_usdc_e6,
        stopped_at=0 if state.stopped_at is None else int(state.stopped_at.timestamp()),
        window=standing.window,
    )


def refusals_left(call: Call, mandate: Mandate) -> int:
    """How many refusals the record takes today (UTC), reported or noted by the guard."""
    return REFUSAL_REPORTS_PER_DAY - mandate_rows.count_refusal_notes(
        call.db, mandate.id, start_of_day(call.now)
    )


def allowed_addresses(mandate: Mandate) -> frozenset[str]:
    """Lower-case addresses that a report may name: targets of the rules, and the vault, which the
    default list names.
    """
    vault = vault_of(mandate)
    return frozenset(
        {rule.target.lower() for rule in rules_of(mandate)} | ({vault.lower()} if vault else set())
    )

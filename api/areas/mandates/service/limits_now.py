"""The limits as the ledger has them now: one place for reads, built calls and the judging of
reports (docs/rules.md#limits-in-a-read).
"""

from dataclasses import dataclass
from typing import Any

from api.areas.mandates.service.views import (
    chain_moment,
    is_paper,
    reading_of,
    rules_of,
    terms_of,
    vault_of,
)
from api.areas.mandates.views.kept_days import DayOutflows, KeptDays
from api.kernel.operation import Call
from core.chain.blocks import BlockHeader
from core.mandate import rows as mandate_rows
from core.mandate.rows import mandate_facts
from core.mandate.rules.lifecycle import OF_VAULT, Status, VaultStatus
from core.mandate.rules.limits import (
    LimitsFacts,
    LimitsLeft,
    SpendWindow,
    VaultModel,
    as_of_block,
    limits_block,
    used_limits,
)
from core.mandate.rules.rows import REFUSAL_REPORTS_PER_DAY
from core.mandate.rules.state import MandateState
from core.mandate.rules.terms import ZERO_ADDRESS, MandateTerms
from core.mandate.rules.violations import Outflow
from core.mandate.tables import Mandate, MandateHead
from core.quarantine.rules import Reading, ShortLedger
from core.times import start_of_day

VAULT_STATUS = {status: vault for vault, status in OF_VAULT.items()}


@dataclass(frozen=True, slots=True)
class Standing:
    """A mandate as of its newest row.

    `block_number`, `now`: height and unix seconds of the newest indexed block; for paper None, and
    the clock.
    """

    mandate: Mandate
    reading: Reading[MandateState]
    terms: MandateTerms
    day: DayOutflows
    block_number: int | None
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
    (block_number, now), reading = chain_moment(call, mandate), reading_of(call, mandate)
    day = call.deps.parts.of(KeptDays).day_of(call.db, head, mandate_facts(mandate), now)
    return Standing(mandate, reading, terms_of(mandate), day, block_number, now)


def limits_view(standing: Standing) -> dict[str, Any]:
    """The block {as_of, allowed, used, breaches} of docs/rules.md#limits-in-a-read."""
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
    return limits_block(facts, standing.now, standing.block_number)


def remaining_in_record(standing: Standing) -> dict[str, Any]:
    """{remaining, as_of} of a check, as the record has it."""
    view = limits_view(standing)
    return {"remaining": view["used"], "as_of": view["as_of"]}


def remaining_on_chain(
    call: Call, mandate: Mandate, vault: str, block: BlockHeader
) -> dict[str, Any]:
    """The same as the vault says at a block: what it holds then is what a call would meet."""
    chain = call.deps.chain
    found, status = chain.remaining(vault, block.hash), chain.status(vault, block.hash)
    left = LimitsLeft(
        per_action_usdc_e6=found.per_action,
        today_usdc_e6=found.today,
        total_usdc_e6=found.total,
        window_frees_at=found.window_frees_at or None,
    )
    used = used_limits(
        terms_of(mandate),
        left,
        block.timestamp,
        "chain",
        is_working=status is VaultStatus.WORKING,
    )
    return {"remaining": used, "as_of": as_of_block(block.timestamp, block.number)}


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

"""What terms would have done to an agent's recorded actions (docs/what-if.md)."""

from collections.abc import Mapping
from typing import Final

from api.areas.mandates.rules.what_if import RecordedCall, RecordedRun, WhatIf, what_if
from api.areas.mandates.schemas.what_if import (
    AskWhatIf,
    ReplayedActions,
    SmallestCaps,
    StopLine,
    TargetInTheWay,
    WhatIfAnswer,
)
from api.areas.mandates.service.access import agent_of_id
from api.areas.mandates.service.drafts import require_possible, terms_now, written_targets
from api.areas.mandates.service.strategies import strategy_of
from api.areas.mandates.views.recorded import CALLS_REPLAYED, recorded_of
from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.operation import Answer, Call, WriteCall
from core.errors import fields_in
from core.identity.names import is_simulated
from core.mandate.rules.terms import MandateTerms, Rule, TermsDraft
from core.money import usdc_text, usdc_text_or_none
from core.times import utc_text_or_none

NOBODYS_ID: Final = "m_aaaaaaaaaa"
ASSUMES: Final = (
    "Each mandate is replayed on a vault of its own; its first action begins the period.",
    "Amounts are as recorded; what a call took counts as what it asked for.",
    "Recipients count as pinned to the vault: the record keeps no call data.",
    "Paper mandates and reports that the chain does not bear out are left out.",
    "Worth is the keeper's last mark, at cost since.",
)


def ask(
    call: WriteCall, caller: AgentCaller | OwnerCaller, command: AskWhatIf
) -> Answer[WhatIfAnswer]:
    """Reads alone. Errors: Refusal not_found; what a draft is refused with, field by field."""
    agent = agent_of_id(call, command.agent_id)
    with fields_in("terms"):
        terms, rules = _terms(call, command)
    found = recorded_of(call.db, agent.id)
    return Answer(
        _answer(
            command.agent_id,
            terms,
            what_if(found.runs, terms, rules),
            _replayed(found.runs, found.is_whole),
            {**found.data_issue, **({"simulated": True} if is_simulated(agent) else {})},
        )
    )


def _terms(call: Call, command: AskWhatIf) -> tuple[MandateTerms, tuple[Rule, ...]]:
    """The terms as a draft of them would be frozen, with nobody's id and parties."""
    words = command.terms
    require_possible(call, words)
    targets, listed = written_targets(call, words)
    strategy_of(call, words, field="terms.listing_id")  # a draft that names it must be possible
    draft = TermsDraft(
        public_id=NOBODYS_ID,
        owner=call.deps.contracts["factory"],
        agent=None,
        budget_usdc_e6=words.budget_usdc,
        horizon_days=words.horizon_days,
        stop_floor_bps=words.stop_floor_bps,
        per_tx_cap_usdc_e6=words.per_tx_cap_usdc,
        daily_cap_usdc_e6=words.daily_cap_usdc,
        approval_above_usdc_e6=words.approval_above_usdc,
        on_floor=words.on_floor,
        payout_rule=words.payout_rule.model_dump(),
    )
    return terms_now(call, draft, targets, listed, nonce=0)


def _replayed(runs: list[RecordedRun], is_whole: bool) -> ReplayedActions:
    calls = [[fact for fact in run.facts if isinstance(fact, RecordedCall)] for run in runs]
    times = [one.at for run in calls for one in run]
    return ReplayedActions(
        count=sum(len({(one.tx_hash, one.nonce) for one in run}) for run in calls),
        mandates=sum(bool(run) for run in calls),
        from_at=utc_text_or_none(min(times, default=None)),
        to_at=utc_text_or_none(max(times, default=None)),
        complete=is_whole,
        most=CALLS_REPLAYED,
    )


def _answer(
    agent_id: str,
    terms: MandateTerms,
    found: WhatIf,
    replayed: ReplayedActions,
    issue: Mapping[str, object],
) -> WhatIfAnswer:
    smallest = found.smallest
    return WhatIfAnswer.model_validate(
        {
            "agent_id": agent_id,
            "actions": replayed,
            "allowed": found.allowed,
            "refused": dict(found.refused),
            "stop_line": StopLine(
                floor_usdc=usdc_text(terms.stop_floor),
                accepted_loss_usdc=usdc_text(terms.budget_usdc - terms.stop_floor),
                stopped_mandates=found.stopped,
            ),
            "worst_drawdown_usdc": usdc_text_or_none(found.worst_drawdown_usdc_e6),
            "smallest_caps": SmallestCaps(
                per_tx_cap_usdc=usdc_text_or_none(smallest.per_tx_cap_usdc_e6),
                daily_cap_usdc=usdc_text_or_none(smallest.daily_cap_usdc_e6),
                budget_usdc=usdc_text_or_none(smallest.budget_usdc_e6),
                stop_floor_bps=smallest.stop_floor_bps,
                horizon_days=smallest.horizon_days,
            ),
            "targets_not_allowed": [
                TargetInTheWay(address=address, selector=selector, actions=count)
                for address, selector, count in found.targets_not_allowed
            ],
            "assumes": list(ASSUMES),
            **issue,
        }
    )

"""An agent's pages, and what its owner does for it (docs/identity.md).

Law: a figure that is not recorded or cannot be read is the text not_recorded, never zero.
"""

from typing import Literal

from api.areas.agents.schemas import (
    Contributions,
    CreditBuckets,
    Dashboard,
    Fleet,
    FleetAgent,
    Scopes,
    SetScopes,
    Standing,
    Tiers,
    VerifiedRecord,
)
from api.areas.agents.service.access import held
from api.areas.earn.rules.points import points_text
from api.areas.earn.views.payouts import earnings_of
from api.areas.mining.views.stages import NOT_RECORDED, read_or_none, review_stages
from api.areas.records.rules import VerifiedWork
from api.areas.records.views.facts import OwnFacts, agents_with_work, own_facts
from api.areas.records.views.strip import ladder_of
from api.areas.safety import queries as safety
from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.operation import Answer, Call, NoInput, ReadCall, WriteCall
from core.credits.rules.buckets import BUCKETS
from core.hexes import address_or_none
from core.identity import evictions, policies
from core.identity import queries as identity
from core.identity.tables import ApiKey
from core.money import usdc_text_or_none
from core.subscriptions.rules import Tier
from core.times import instant_text, instant_text_or_none

# The key


def scopes(call: Call, caller: AgentCaller, command: NoInput) -> Answer[Scopes]:
    """Needs no scope: a key that may do nothing else may still read why."""
    return Answer(_scopes(caller.account_id, identity.live_key(call.db, caller.account_id)))


def set_scopes(call: WriteCall, caller: OwnerCaller, command: SetScopes) -> Answer[Scopes]:
    """Replace scopes and limits whole: a limit that is left out is none."""
    agent = held(call, caller, command.id)
    granted = None if command.scopes is None else list[str](command.scopes)
    identity.replace_scopes(call.db, agent.id, granted, command.per_order_usd, command.per_day_usd)
    return Answer(_scopes(agent.id, identity.live_key(call.db, agent.id)))


def _scopes(agent_id: int, key: ApiKey) -> Scopes:
    return Scopes(
        user_id=agent_id,
        full_access=key.scopes is None,
        scopes=key.scopes,
        per_order_usd=usdc_text_or_none(key.per_order_usdc_e6),
        per_day_usd=usdc_text_or_none(key.per_day_usdc_e6),
    )


# The fleet


def mine(call: Call, caller: OwnerCaller, command: NoInput) -> Answer[Fleet]:
    fleet = identity.agents_of_owner(call.db, caller.account_id)
    last_calls = identity.last_calls(call.db, [key.id for _, key in fleet])
    locked = safety.locked_agents(call.db, [agent.id for agent, _ in fleet])
    agents = [
        FleetAgent(
            user_id=agent.id,
            agent_name=agent.name,
            status=_status(agent.id, locked),
            scopes=key.scopes,
            per_order_usd=usdc_text_or_none(key.per_order_usdc_e6),
            per_day_usd=usdc_text_or_none(key.per_day_usdc_e6),
            wallet_address=address_or_none(agent.wallet_address),
            wallet_payable_at=instant_text_or_none(agent.wallet_payable_at),
            recovery_can_be_undone=evictions.can_undo_recovery(agent),
            accepts_mandates=policies.accepts_mandates(call.db, agent.id),
            registered_at=instant_text(agent.created_at),
            last_call_at=instant_text_or_none(last_calls.get(key.id)),
        )
        for agent, key in fleet
    ]
    return Answer(
        Fleet(agents=agents, agents_left=max(0, call.deps.limits.agents_per_owner - len(agents)))
    )


def _status(agent_id: int, locked: set[int]) -> Standing:
    return "locked" if agent_id in locked else "active"


# What is known of an agent


def status(call: ReadCall, caller: AgentCaller, command: NoInput) -> Answer[VerifiedRecord]:
    """The verified record: what the service's own ledgers say, and nothing that the agent says of
    itself.
    """
    facts = own_facts(call.db, caller.account_id)
    work = _work(call, caller.account_id)
    return Answer(
        VerifiedRecord(
            user_id=caller.account_id,
            agent_name=facts.name,
            status=_standing(facts),
            owned=facts.is_owned,
            wallet_address=caller.wallet_address,
            registered_at=instant_text(facts.registered_at),
            credit_balance=facts.balance.available,
            credits=CreditBuckets(**{name: getattr(facts.balance, name) for name in BUCKETS}),
            contributions=_contributions(call, caller.account_id, facts, work),
            reputation=NOT_RECORDED if work is None else ladder_of(work),
            tiers=Tiers(
                subscription=_word(facts.tiers.tier_at(call.now)),
                subscription_until=instant_text_or_none(facts.tiers.until),
                standing=NOT_RECORDED if work is None else _tier(work),
            ),
        )
    )


def _work(call: ReadCall, agent_id: int) -> VerifiedWork | None:
    """As the agent's strip counts it (docs/record-strips.md#work); None: it cannot be read."""
    found = read_or_none(call.db, agents_with_work, [agent_id])
    return None if found is None else found[agent_id][1]


def _contributions(
    call: ReadCall, agent_id: int, facts: OwnFacts, work: VerifiedWork | None
) -> Contributions:
    earned = read_or_none(call.db, earnings_of, [agent_id])
    return Contributions(
        mining_submissions=NOT_RECORDED if work is None else work.kg_claims,
        task_claims=NOT_RECORDED if work is None else work.task_claims,
        points=NOT_RECORDED if earned is None else points_text(earned[agent_id].tenths),
        mandates=dict(facts.mandates),
    )


def _tier(work: VerifiedWork) -> Literal["bronze", "none"]:
    return "bronze" if work.has_standing else "none"


def _word(tier: Tier) -> Literal["free", "tier_1", "tier_2"]:
    if tier is Tier.FREE:
        return "free"
    return "tier_1" if tier is Tier.TIER_1 else "tier_2"


def dashboard(call: ReadCall, caller: AgentCaller, command: NoInput) -> Answer[Dashboard]:
    facts = own_facts(call.db, caller.account_id)
    return Answer(
        Dashboard(
            user_id=caller.account_id,
            status=_standing(facts),
            credit_balance=facts.balance.available,
            mandates=dict(facts.mandates),
            review_stages=review_stages(call.db, [caller.account_id]),
        )
    )


def _standing(facts: OwnFacts) -> Standing:
    return "locked" if facts.is_locked else "active"

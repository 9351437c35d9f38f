"""Agents and their policy: one an agent, replaced whole by the owner, each change logged
(docs/rules.md#policy).
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from api.areas.mandates.schemas.answers import Policy, PolicyChange
from api.areas.mandates.schemas.commands import AgentPath, ReplacePolicy
from api.areas.mandates.service.access import agent_of_id
from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.operation import Answer, Call, Refusal, WriteCall
from api.shared.sessions import lock_owner
from core.errors import InvalidNumberError
from core.identity import policies
from core.identity.tables import Account
from core.money import USDC_E6_PER_USDC, usdc_text, usdc_text_or_none
from core.times import instant_text

CHANGES_SHOWN: Final = 10


def read(call: Call, caller: AgentCaller | OwnerCaller, command: AgentPath) -> Answer[Policy]:
    """The policy with its last changes.

    An agent reads its own, an owner those of the owner's agents.
    """
    agent = agent_of_id(call, command.id)
    _require_own(caller, agent)
    return Answer(_shown(call, agent))


def replace(call: WriteCall, caller: OwnerCaller, command: ReplacePolicy) -> Answer[Policy]:
    agent = agent_of_id(call, command.id)
    _require_own(caller, agent)
    lock_owner(call, caller)
    before, after = current_policy(call, agent.id), _policy(command)
    changes = {
        field: {"from": before[field], "to": value}
        for field, value in after.items()
        if before[field] != value
    }
    policies.replace_policy(call.db, agent.id, after, call.now)
    if changes:
        policies.log_change(call.db, agent.id, changes, call.now)
        call.db.flush()
    return Answer(_shown(call, agent))


def current_policy(call: Call, agent_id: int) -> Mapping[str, Any]:
    """The current policy; an agent without one has the default, which accepts no mandates."""
    found = policies.find_policy(call.db, agent_id)
    return _policy(ReplacePolicy(id=str(agent_id))) if found is None else found.policy


def _require_own(caller: AgentCaller | OwnerCaller, agent: Account) -> None:
    """Errors: Refusal not_owner (docs/rules.md#parties-only)."""
    own = agent.id if isinstance(caller, AgentCaller) else agent.owner_id
    if own is None or own != caller.account_id:
        raise Refusal(
            "not_owner",
            f"Agent {agent.id} is not yours; only its owner can read and replace its policy.",
        )


def _policy(command: ReplacePolicy) -> dict[str, Any]:
    """The policy as it is stored and answered: every field, unknown ones null, money as text."""
    return {
        "assets": command.assets,
        "venues": command.venues,
        "networks": command.networks,
        "stop_conditions": None
        if command.stop_conditions is None
        else json.loads(command.stop_conditions),
        "per_tx_cap_usdc": usdc_text_or_none(command.per_tx_cap_usdc),
        "total_cap_usdc": usdc_text_or_none(command.total_cap_usdc),
        "hold_ratio": _ratio(command.hold_ratio),
        "min_net_bps": command.min_net_bps,
        "max_cost_bps": command.max_cost_bps,
        "slippage_bps": command.slippage_bps,
        "credit_budget_daily": command.credit_budget_daily,
        "auto_vs_approval": command.auto_vs_approval,
        "accepts_mandates": command.accepts_mandates,
    }


def _ratio(value_e6: int | None) -> str | None:
    if value_e6 is not None and not 0 <= value_e6 <= USDC_E6_PER_USDC:
        raise InvalidNumberError(
            "hold_ratio", usdc_text(value_e6), "write a share from 0 to 1, such as 0.25"
        )
    return usdc_text_or_none(value_e6)


def _shown(call: Call, agent: Account) -> Policy:
    changes = policies.newest_changes(call.db, agent.id, CHANGES_SHOWN)
    log = [PolicyChange(at=instant_text(change.at), changes=change.changes) for change in changes]
    return Policy(agent_id=str(agent.id), **current_policy(call, agent.id), policy_changelog=log)

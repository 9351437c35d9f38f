"""Where a caller is on the way to a vault of its own."""

from collections.abc import Mapping
from typing import Final

from api.areas.earn.views.payouts import earnings_of
from api.areas.fund.schemas import JourneyApi, JourneyNodeShown, JourneyQuery, JourneyShown
from api.kernel.caller import AgentCaller, BearerCaller, Nobody, OwnerCaller
from api.kernel.operation import Answer, Call, NextCall, ReadCall
from api.kernel.refusals import call_items, fill_path
from core.fund import applications, creation, indices
from core.fund.rules.creation import CreationState
from core.fund.rules.journey import (
    RECORD,
    SPOT_PILOT,
    JourneyFacts,
    JourneyNode,
    NodeState,
    journey,
)
from core.fund.tables import FundVault
from core.identity.queries import agent_ids_of_owner

NONCE: Final = NextCall(
    "identity.nonce", body={"wallet_address": "0x" + "11" * 20, "purpose": "link"}
)
# The calls that lead through a node, first to last; the last is the one that it is done or watched by.
CALLS: Final[Mapping[JourneyNode, tuple[str | NextCall, ...]]] = {
    JourneyNode.REGISTER: ("identity.connect",),
    JourneyNode.LINK_WALLET: (NONCE, "identity.link"),
    JourneyNode.FIRST_EARN: ("tasks.browse",),
    JourneyNode.APPLY: ("fund.indices", "fund.index", "fund.apply"),
    JourneyNode.PILOT: ("fund.vault",),
    JourneyNode.TRACK_RECORD: ("fund.signals",),
    JourneyNode.REQUEST_CREATION: ("fund.request_creation",),
    JourneyNode.VAULT: ("fund.creation_request",),
}
APPLYING: Final = ("fund.own_applications",)  # an operator decides on it
EXAMPLE: Final = JourneyFacts(has_account=True, has_wallet=True, awarded_credits=20)


def read(
    call: ReadCall, caller: Nobody | AgentCaller | OwnerCaller | BearerCaller, command: JourneyQuery
) -> Answer[JourneyShown]:
    """Without a credential it is an example."""
    if isinstance(caller, Nobody):
        return Answer(_shown(call, EXAMPLE, None, is_example=True))
    ids = [caller.account_id]
    if isinstance(caller, OwnerCaller):
        ids += agent_ids_of_owner(call.db, caller.account_id)
    earned = earnings_of(call.db, ids).values()
    pilot = creation.pilot_of(call.db, ids)
    asked = None if pilot is None else creation.last_of(call.db, pilot.id)
    facts = JourneyFacts(
        has_account=True,
        has_wallet=caller.wallet_address is not None,
        awarded_credits=sum(one.credits for one in earned),
        waiting_credits=sum(one.queued_credits for one in earned),
        is_applying=applications.is_applying(call.db, ids),
        pilot_began_at=None if pilot is None else pilot.created_at,
        request=None if asked is None else CreationState(asked.state),
    )
    return Answer(_shown(call, facts, pilot, is_example=False))


def _shown(
    call: Call, facts: JourneyFacts, pilot: FundVault | None, *, is_example: bool
) -> JourneyShown:
    ids = _index_id(call) if pilot is None else {"vaults": str(pilot.id)}
    nodes = [
        _node(call, node, state, ids, is_led=is_example or state is not NodeState.DONE)
        for node, state in journey(facts, call.now).items()
    ]
    example = {"example": True} if is_example else {}
    return JourneyShown(
        nodes=nodes,
        vault_id=None if pilot is None else pilot.id,
        spot_pilot_days=SPOT_PILOT.days,
        perp_record_days=RECORD.days,
        **example,
    )


def _index_id(call: Call) -> dict[str, str]:
    """Of the first index that can be applied for, if there is one."""
    found = next((one for one in indices.all_indices(call.db) if one.has_constituents), None)
    return {} if found is None else {"indices": str(found.id)}


def _node(
    call: Call, node: JourneyNode, state: NodeState, ids: Mapping[str, str], *, is_led: bool
) -> JourneyNodeShown:
    calls = CALLS[node]
    key = str(calls[-1])
    operation = call.deps.catalogue.by_key[key]
    if node is JourneyNode.APPLY and state is NodeState.IN_PROGRESS:
        calls = APPLYING
    return JourneyNodeShown(
        node=node,
        state=state,
        manual_href=f"{call.deps.base_url}/docs#{key.replace('.', '_')}",
        api=JourneyApi(
            endpoint=fill_path(operation.path, {}, ids) or operation.path,
            method=operation.method,
            mcp_tool=None if operation.tool is None else operation.tool.name,
        ),
        next=call_items(calls, ids, call.deps.catalogue) if is_led else [],
        cost="bond" if node is JourneyNode.APPLY else "free",
    )

"""Where a caller stands on the way to a vault of its own."""

from typing import Final

from api.areas.fund.schemas import JourneyApi, JourneyNodeShown, JourneyQuery, JourneyShown
from api.kernel.caller import AgentCaller, BearerCaller, Nobody, OwnerCaller
from api.kernel.operation import Answer, Call, ReadCall
from core.earn.payouts import earnings_of
from core.fund import applications, creation
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

# The call that a node is done or watched by.
CALLS: Final = {
    JourneyNode.REGISTER: "identity.connect",
    JourneyNode.LINK_WALLET: "identity.link",
    JourneyNode.FIRST_EARN: "tasks.browse",
    JourneyNode.APPLY: "fund.apply",
    JourneyNode.PILOT: "fund.vault",
    JourneyNode.TRACK_RECORD: "fund.signals",
    JourneyNode.REQUEST_CREATION: "fund.request_creation",
    JourneyNode.VAULT: "fund.creation_request",
}
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
    nodes = [_node(call, node, state, pilot) for node, state in journey(facts, call.now).items()]
    example = {"example": True} if is_example else {}
    return JourneyShown(
        nodes=nodes,
        vault_id=None if pilot is None else pilot.id,
        spot_pilot_days=SPOT_PILOT.days,
        perp_record_days=RECORD.days,
        **example,
    )


def _node(
    call: Call, node: JourneyNode, state: NodeState, pilot: FundVault | None
) -> JourneyNodeShown:
    key = CALLS[node]
    operation = call.deps.catalogue.by_key[key]
    path = operation.path
    if pilot is not None and "/vaults/" in path:
        path = path.replace("{id}", str(pilot.id))
    return JourneyNodeShown(
        node=node,
        state=state,
        manual_href=f"{call.deps.base_url}/docs#{key.replace('.', '_')}",
        api=JourneyApi(
            endpoint=path,
            method=operation.method,
            mcp_tool=None if operation.tool is None else operation.tool.name,
        ),
        cost="bond" if node is JourneyNode.APPLY else "free",
    )

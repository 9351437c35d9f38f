"""Positions that an adapter reads, and the owner's call that closes one (wallet spec 2.18).

The test venue is the one adapter whose positions are read here; its price has no spread, so closing costs nothing beside gas.
"""

from typing import Any

from api.areas.mandates.schemas import UnwindCall
from api.areas.mandates.service.access import party_of
from api.areas.mandates.service.limits_now import limits_view, standing_of
from api.areas.mandates.service.owner_calls import built, nothing_to_send
from api.areas.mandates.service.views import is_paper, rules_of, state_of, vault_of
from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.operation import Answer, Call
from core.chain import calldata
from core.chain.reader import refusal_name
from core.chain.rpc import RpcRevertedError
from core.db.tables.mandate import Mandate
from core.domain.errors import InvalidParameterError
from core.domain.mandate.close_plan import Adapter, AdapterPosition, OwnerCall
from core.domain.mandate.ledger import MandateState
from core.domain.mandate.refusals import UNKNOWN
from core.domain.mandate.terms import RuleKind, address_from_text

TEST_VENUE = "test_venue"
TEST_VENUE_SPREAD_BPS = 0
UNWIND_HAPPENS = "The position is sold through its adapter and the USDC comes back to the vault; nobody else gets any."


def venue_adapter(call: Call, mandate: Mandate) -> str | None:
    """The test venue's adapter, if the mandate's rules name it."""
    adapter = call.deps.contracts.get("test_venue_adapter")
    return adapter if adapter is not None and any(rule.target == adapter for rule in rules_of(mandate)) else None


def spread_bps(call: Call, mandate: Mandate) -> int | None:
    """What closing costs; None when a target is allowed whose price nobody here knows."""
    adapter = venue_adapter(call, mandate)
    others = [rule for rule in rules_of(mandate) if rule.target != adapter and rule.kind is not RuleKind.COST]
    return None if others or is_paper(mandate) else TEST_VENUE_SPREAD_BPS


def adapter_positions(call: Call, mandate: Mandate, state: MandateState) -> tuple[AdapterPosition, ...]:
    """What the test venue holds for the vault now. Errors: RpcError when the chain cannot be asked."""
    vault, adapter = vault_of(mandate), venue_adapter(call, mandate)
    if vault is None or adapter is None:
        return ()
    units = call.deps.chain.venue_units(call.deps.contracts["test_venue"], vault)
    if units == 0:
        return ()
    return (
        AdapterPosition(
            adapter=Adapter.TEST_VENUE,
            adapter_address=adapter,
            venue=TEST_VENUE,
            label=_label(state, adapter),
            worth_usdc_e6=call.deps.chain.adapter_value_of(adapter, vault),
            unwind=OwnerCall(vault, _unwind_data(adapter, units)),
        ),
    )


def _label(state: MandateState, adapter: str) -> str | None:
    """What the agent calls it, if it reported a position there."""
    named = [one for one in state.positions if one.target and str(one.target["address"]).lower() == adapter.lower()]
    return named[0].name or named[0].id if named else None


def _unwind_data(adapter: str, units: int) -> str:
    return calldata.unwind([calldata.Call(adapter, 0, calldata.venue_sell(units))])


def unwind_call(call: Call, caller: AgentCaller | OwnerCaller, command: UnwindCall) -> Answer:
    """The vault's unwind of one position, whole. Only the owner can send it; an agent hands it to its owner.

    `check` is the call as the owner would send it now, at the latest block; `gas` is null when it would revert. What
    remains of the limits stands beside it: an unwind takes nothing from them.
    """
    mandate = party_of(call, caller, command.id)
    state, vault = state_of(call, mandate), vault_of(mandate)
    adapter = _adapter_named(call, mandate, state, command)
    if vault is None:
        return Answer(nothing_to_send(call, None, "no_vault", "There is no vault, so there is nothing to unwind.") | _unsent(adapter))
    if adapter is None:
        return Answer(nothing_to_send(call, vault, "no_known_exit_adapter", "No adapter can close this position.") | _unsent(None))
    units = call.deps.chain.venue_units(call.deps.contracts["test_venue"], vault)
    if units == 0:
        what = "The adapter holds no position for this vault."
        return Answer(nothing_to_send(call, vault, "nothing_to_unwind", what) | _unsent(adapter))
    data = _unwind_data(adapter, units)
    check, gas = _checked(call, vault, data, mandate)
    remaining = limits_view(standing_of(call, mandate))["used"]
    sent = built(call, vault, data) | {"reason": None, "what_happens": UNWIND_HAPPENS, "locked_until": None}
    shown = {"adapter": adapter, "units": str(units), "who_signs": "owner", "gas": gas}
    return Answer(sent | shown | {"check": check | {"remaining": remaining}})


def _adapter_named(call: Call, mandate: Mandate, state: MandateState, command: UnwindCall) -> str | None:
    """The exit adapter that is meant: by its address, by a position's id, or the only one. Errors: InvalidParameterError."""
    known = venue_adapter(call, mandate)
    if command.adapter is not None:
        return known if command.adapter == known else None
    if command.position_id is None:
        return known
    reported = next((one for one in state.positions if one.id == command.position_id), None)
    address = command.position_id if reported is None else (reported.target or {}).get("address")
    if reported is None and not any(flow.target.lower() == command.position_id.lower() for flow in state.targets):
        raise InvalidParameterError("position_id", "the mandate has no such open position; read progress.positions")
    return known if address is not None and address_from_text(address, "position_id") == known else None


def _checked(call: Call, vault: str, data: str, mandate: Mandate) -> tuple[dict[str, Any], int | None]:
    """(check, gas) of the call as it would run now, sent by the owner."""
    try:
        gas = call.deps.chain.estimate_gas(mandate.terms["owner"], vault, data)
    except RpcRevertedError as error:
        return {"ok": False, "reason": refusal_name(error.revert_data) or UNKNOWN, "source": "chain"}, None
    return {"ok": True, "reason": None, "source": "chain"}, gas


def _unsent(adapter: str | None) -> dict[str, Any]:
    return {"adapter": adapter, "units": None, "who_signs": "owner", "gas": None, "check": None}

"""Positions that adapters read, and the owner's call that closes one (docs/rules.md#leaving).

- A mandate's adapters are the targets of its rules of kind 2: the vault itself adds up their
  valueOf. All are read alike, by IAdapter, at one block; what an adapter says is a claim until it
  is parsed, and one that fails hides no other.
- An adapter is closed by an exit that a venue declares (core.mandate.venues), when the mandate has
  a rule for it. What closing costs is known of declared venues alone.
"""

from dataclasses import dataclass
from typing import Any

from api.areas.mandates.schemas.answers import UnwindBuilt
from api.areas.mandates.schemas.commands import UnwindCall
from api.areas.mandates.service.access import party_of
from api.areas.mandates.service.current import Current, current_of
from api.areas.mandates.service.limits_now import (
    remaining_in_record,
    remaining_on_chain,
    standing_of,
)
from api.areas.mandates.service.owner_calls import built, nothing_to_send
from api.areas.mandates.service.views import is_paper, rules_of, terms_of
from api.kernel.caller import AgentCaller, OwnerCaller
from api.kernel.operation import Answer, Call
from core.chain.errors import RpcCodeFailedError, RpcError, RpcRevertedError
from core.chain.reader import reason_of_run
from core.errors import InvalidParameterError
from core.mandate.chain import calldata
from core.mandate.chain.reader import AdapterReading
from core.mandate.rules.close_plan import LISTED, AdapterPosition, ClosedBy, OwnerCall
from core.mandate.rules.ledger import MandateState
from core.mandate.rules.refusals import UNKNOWN
from core.mandate.rules.terms import RuleKind, address_from_text
from core.mandate.tables import Mandate
from core.mandate.venues.registry import Exit, venue_name, venues

UNWIND_HAPPENS = (
    "The position is sold through its adapter and the USDC comes back to the vault; nobody else "
    "gets any."
)


@dataclass(frozen=True, slots=True)
class AdapterPositions:
    """What the mandate's adapters hold for its vault.

    `is_complete` False: one did not say whether it holds anything.
    """

    known: tuple[AdapterPosition, ...]
    is_complete: bool

    @property
    def has_closable(self) -> bool:
        return any(one.is_closable for one in self.known)


NO_POSITIONS = AdapterPositions((), is_complete=True)


def valuing_adapters(mandate: Mandate) -> tuple[str, ...]:
    """The adapters whose positions count towards the vault's worth, in the order of the rules."""
    return tuple(
        dict.fromkeys(rule.target for rule in rules_of(mandate) if rule.kind is RuleKind.VALUED)
    )


def _exits(call: Call, mandate: Mandate) -> dict[str, Exit]:
    """How the owner can leave those of them whose exit is known here."""
    contracts, rules = call.deps.contracts, rules_of(mandate)
    found = {}
    for adapter in valuing_adapters(mandate):
        selectors = {
            rule.selector for rule in rules if rule.target == adapter and rule.kind is RuleKind.EXIT
        }
        known = venues().exit_of(venues().of(contracts, adapter), selectors)
        if known is not None:
            found[adapter] = known
    return found


def spread_bps(call: Call, mandate: Mandate) -> int | None:
    """What closing costs; None when a target is allowed whose price nobody here knows."""
    targets = {rule.target for rule in rules_of(mandate) if rule.kind is not RuleKind.COST}
    return None if is_paper(mandate) else venues().spread_bps(call.deps.contracts, targets)


def adapter_positions(call: Call, mandate: Mandate, current: Current) -> AdapterPositions:
    """What the mandate's adapters hold for the vault now.

    Errors: RpcUnreachableError when the chain cannot be asked.
    """
    vault, state, adapters = current.require_known().vault, current.state, valuing_adapters(mandate)
    if vault is None or not adapters:
        return NO_POSITIONS
    readings = call.deps.chain.adapter_readings(adapters, vault)
    exits = _exits(call, mandate)
    known = tuple(
        _position(call, state, vault, adapter, reading, exits.get(adapter))
        for adapter, reading in readings.items()
        if reading.units
    )
    return AdapterPositions(
        known, is_complete=all(reading.units is not None for reading in readings.values())
    )


def _position(
    call: Call,
    state: MandateState,
    vault: str,
    adapter: str,
    reading: AdapterReading,
    leave: Exit | None,
) -> AdapterPosition:
    venue = venues().of(call.deps.contracts, adapter)
    return AdapterPosition(
        adapter=LISTED if venue is None else venue.name,
        adapter_address=adapter,
        venue=venue_name(call.deps.contracts, adapter),
        label=_label(state, adapter),
        worth_usdc_e6=reading.worth_usdc_e6,
        unwind=None
        if leave is None
        else OwnerCall(vault, _unwind_data(adapter, leave, reading.units or 0)),
        closed_by=ClosedBy.OWNER if venue is None else venue.closed_by,
    )


def _label(state: MandateState, adapter: str) -> str | None:
    """What the agent calls it, if it reported a position there."""
    named = [
        one
        for one in state.positions
        if one.target and str(one.target["address"]).lower() == adapter.lower()
    ]
    return named[0].name or named[0].id if named else None


def _unwind_data(adapter: str, leave: Exit, units: int) -> str:
    return calldata.unwind([calldata.VaultCall(adapter, 0, leave.data(units))])


def unwind_call(
    call: Call, caller: AgentCaller | OwnerCaller, command: UnwindCall
) -> Answer[UnwindBuilt]:
    """The vault's unwind of one position, whole.

    Only the owner can send it; an agent hands it to its owner.

    `check` is the call as the owner would send it now, at the latest block; `gas` is null when it
    would revert. What remains of the limits is beside it: an unwind takes nothing from them.
    """
    mandate = party_of(call, caller, command.id)
    current = current_of(call, mandate).require_known()
    unwind = _unwind(call, mandate, current, _adapter_named(call, mandate, current, command))
    return Answer(UnwindBuilt.model_validate(unwind | current.data_issue))


def _unwind(call: Call, mandate: Mandate, current: Current, adapter: str | None) -> dict[str, Any]:
    vault = current.vault
    if vault is None:
        return nothing_to_send(
            call, None, "no_vault", "There is no vault, so there is nothing to unwind."
        ) | _unsent(adapter)
    leave = None if adapter is None else _exits(call, mandate).get(adapter)
    if adapter is None or leave is None:
        return nothing_to_send(
            call, vault, "no_known_exit_adapter", "No adapter can close this position."
        ) | _unsent(None)
    units = call.deps.chain.adapter_readings([adapter], vault)[adapter].units
    if units is None:
        what = (
            "The adapter does not say what it holds for this vault. Ask again; if it stays so, "
            "the adapter is out of order."
        )
        return nothing_to_send(call, vault, "adapter_not_read", what) | _unsent(adapter)
    if units == 0:
        what = "The adapter holds no position for this vault."
        return nothing_to_send(call, vault, "nothing_to_unwind", what) | _unsent(adapter)
    data = _unwind_data(adapter, leave, units)
    check, gas = _checked(call, vault, data, mandate)
    sent = built(call, vault, data) | {
        "reason": None,
        "what_happens": UNWIND_HAPPENS,
        "locked_until": None,
    }
    shown = {"adapter": adapter, "units": str(units), "who_signs": "owner", "gas": gas}
    return sent | shown | {"check": check}


def _adapter_named(
    call: Call, mandate: Mandate, current: Current, command: UnwindCall
) -> str | None:
    """The exit adapter that is meant: by its address or name, by a position's id, or the only one, or
    the only one that may hold a position.

    Errors: InvalidParameterError; RpcUnreachableError when the chain cannot be asked.
    """
    known, state = tuple(_exits(call, mandate)), current.state
    if command.adapter is not None:
        adapter = _adapter_of(call, mandate, command.adapter)
        return adapter if adapter in known else None
    if command.position_id is None:
        if len(known) > 1 and current.vault is not None:
            readings = call.deps.chain.adapter_readings(known, current.vault)
            known = tuple(one for one in known if readings[one].units != 0) or known
        if len(known) > 1:
            raise InvalidParameterError(
                "adapter", f"the mandate has several exit adapters; name one of {', '.join(known)}"
            )
        return known[0] if known else None
    reported = next((one for one in state.positions if one.id == command.position_id), None)
    address = command.position_id if reported is None else (reported.target or {}).get("address")
    if reported is None and not any(
        flow.target.lower() == command.position_id.lower() for flow in state.targets
    ):
        raise InvalidParameterError(
            "position_id", "the mandate has no such open position; read progress.positions"
        )
    named = None if address is None else address_from_text(address, "position_id")
    return named if named in known else None


def _adapter_of(call: Call, mandate: Mandate, named: str) -> str:
    """The adapter of this address, or the only one of this name: a step of close-all-plan has the
    two as `adapter` and `venue`.

    Errors: InvalidParameterError.
    """
    if named.startswith("0x"):
        return address_from_text(named, "adapter")
    names = {adapter: _names_of(call, adapter) for adapter in valuing_adapters(mandate)}
    found = [adapter for adapter, own in names.items() if named in own]
    if len(found) != 1:
        rule = (
            f"{len(found)} adapters of this mandate have that name; write adapter_address of "
            "close-all-plan"
        )
        raise InvalidParameterError("adapter", f"{rule}: {', '.join(names) or 'it has none'}")
    return found[0]


def _names_of(call: Call, adapter: str) -> set[str | None]:
    venue = venues().of(call.deps.contracts, adapter)
    return {venue_name(call.deps.contracts, adapter), LISTED if venue is None else venue.name}


def _checked(
    call: Call, vault: str, data: str, mandate: Mandate
) -> tuple[dict[str, Any], int | None]:
    """(check, gas) of the call as it would run now, sent by the owner, and the limits beside it."""
    reason, gas = None, None
    try:
        gas = call.deps.chain.estimate_gas(terms_of(mandate).owner, vault, data)
    except (RpcRevertedError, RpcCodeFailedError) as error:
        reason = reason_of_run(error) or UNKNOWN
    left = _remaining(call, mandate, vault)
    return {"ok": reason is None, "reason": reason, "source": "chain"} | left, gas


def _remaining(call: Call, mandate: Mandate, vault: str) -> dict[str, Any]:
    """The vault's word, or the record's where no node gives it: they bind no owner."""
    try:
        block = call.deps.chain.header()
        if block is not None:
            return remaining_on_chain(call, mandate, vault, block)
    except RpcError:
        pass
    return remaining_in_record(standing_of(call, mandate))


def _unsent(adapter: str | None) -> dict[str, Any]:
    return {"adapter": adapter, "units": None, "who_signs": "owner", "gas": None, "check": None}

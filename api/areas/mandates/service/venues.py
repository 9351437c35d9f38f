"""Positions that adapters read, and the owner's call that closes one (docs/rules.md#leaving).

- A mandate's adapters are the targets of its rules of kind 2: the vault itself adds up their
  valueOf. All are read alike, by IAdapter, at one block; what an adapter says is a claim until it
  is parsed, and one that fails hides no other.
- An adapter is closed by an exit that a venue declares (core.mandate.venues), when the mandate has
  a rule for it. What closing costs is known of declared venues alone.
- What a venue pays now is found by trying that exit as the vault; what it does not pay waits.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from api.areas.mandates.rules.exit_trials import Payable, payable
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
from core.chain.abi import AbiDecodeError
from core.chain.errors import (
    RpcCodeFailedError,
    RpcError,
    RpcRefusedError,
    RpcRevertedError,
)
from core.chain.reader import reason_of_run
from core.errors import InvalidParameterError
from core.mandate.chain import calldata
from core.mandate.chain.reader import AdapterReading
from core.mandate.rules.close_plan import (
    DEFAULT_ALLOWANCE_BPS,
    LISTED,
    MINIMUM_NEEDED,
    AdapterPosition,
    ClosedBy,
    OwnerCall,
    least_usdc_e6,
)
from core.mandate.rules.lifecycle import ACTIVE
from core.mandate.rules.rows import UNKNOWN
from core.mandate.rules.state import MandateState
from core.mandate.rules.terms import RuleKind, address_from_text
from core.mandate.tables import Mandate
from core.mandate.venues.registry import RELEASE, Exit, venue_name, venues
from core.money import usdc_text_or_none

UNWIND_HAPPENS = (
    "The position is sold through its adapter and the USDC comes back to the vault; nobody else "
    "gets any."
)
PART_HAPPENS = (
    "The part that its venue pays now is sold through its adapter and the USDC comes back to the "
    "vault; the rest stays. Read close-all-plan for it."
)
MINIMUM_HAPPENS = (
    "Its worth is unknown, so no minimum can be proposed. Send min_usdc, the least that the sale may "
    "bring; 0 accepts any price."
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


def adapter_positions(
    call: Call, mandate: Mandate, current: Current, allowance_bps: int = DEFAULT_ALLOWANCE_BPS
) -> AdapterPositions:
    """What the mandate's adapters hold for the vault now, and the owner's calls that sell it for its
    worth less the allowance; what a venue does not pay now is a position of its own.

    Errors: RpcUnreachableError when the chain cannot be asked.
    """
    vault, adapters = current.require_known().vault, valuing_adapters(mandate)
    if vault is None or not adapters:
        return NO_POSITIONS
    readings = call.deps.chain.adapter_readings(adapters, vault)
    exits = _exits(call, mandate)
    known = [
        position
        for adapter, reading in readings.items()
        if reading.units
        for position in _parts(
            call,
            _position(call, mandate, current, adapter, reading),
            _Leaving(vault, adapter, exits.get(adapter), reading, allowance_bps),
            current,
        )
    ]
    return AdapterPositions(
        tuple(known), is_complete=all(reading.units is not None for reading in readings.values())
    )


@dataclass(frozen=True, slots=True)
class _Leaving:
    """How a position is left. `leave` None: no exit is known."""

    vault: str
    adapter: str
    leave: Exit | None
    reading: AdapterReading
    allowance_bps: int

    def worth_of(self, units: int) -> int | None:
        """The part of the worth that falls to so many of the units, rounded down."""
        worth, held = self.reading.worth_usdc_e6, self.reading.units or 0
        return None if worth is None else worth * units // held


def _position(
    call: Call, mandate: Mandate, current: Current, adapter: str, reading: AdapterReading
) -> AdapterPosition:
    """What an adapter holds, without a way to leave it."""
    contracts = call.deps.contracts
    venue = venues().of(contracts, adapter)
    can_release = venue is not None and venue.can_release
    release = can_release and any(
        (rule.target, rule.selector, rule.kind) == (adapter, RELEASE.selector, RuleKind.EXIT)
        for rule in rules_of(mandate)
    )
    return AdapterPosition(
        adapter=LISTED if venue is None else venue.name,
        adapter_address=adapter,
        venue=venue_name(contracts, adapter),
        label=_label(current.state, adapter),
        worth_usdc_e6=reading.worth_usdc_e6,
        closed_by=ClosedBy.OWNER if venue is None else venue.closed_by,
        release=OwnerCall(current.vault or "", _unwind_data(adapter, RELEASE.data(0)))
        if release
        else None,
    )


def _parts(
    call: Call, whole: AdapterPosition, how: _Leaving, current: Current
) -> list[AdapterPosition]:
    """The position as it can be left: whole, or what its venue pays now and what waits."""
    if how.leave is None:
        return [whole]
    held = how.reading.units or 0
    pays = _payable(call, how, is_working=current.status in ACTIVE)
    if pays is None or pays.units == held:
        return [_sale(whole, how.leave, how, held, None if pays is None else pays.usdc_e6)]
    waits = replace(whole, worth_usdc_e6=how.worth_of(held - pays.units), waits=True)
    if pays.units == 0:
        return [waits]
    part = replace(whole, worth_usdc_e6=how.worth_of(pays.units))
    return [_sale(part, how.leave, how, pays.units, pays.usdc_e6), waits]


def _sale(
    position: AdapterPosition, leave: Exit, how: _Leaving, units: int, pays: int | None
) -> AdapterPosition:
    least = None
    if leave.takes_minimum:
        least = least_usdc_e6(position.worth_usdc_e6, how.allowance_bps)
    needs_minimum = leave.takes_minimum and least is None
    data = None if needs_minimum else _unwind_data(how.adapter, leave.data(units, least or 0))
    return replace(
        position,
        unwind=None if data is None else OwnerCall(how.vault, data),
        needs_minimum=needs_minimum,
        least_usdc_e6=least,
        pays_now_usdc_e6=pays,
    )


def _payable(call: Call, how: _Leaving, *, is_working: bool) -> Payable | None:
    """What the venue pays now; None: not known. A working mandate's exit is refused too where it
    brings less than the adapter lets an agent accept, which says nothing about the owner's.
    """
    leave = how.leave
    assert leave is not None, "only what has an exit is tried"

    def tried(parts: Sequence[int]) -> list[int | None]:
        found = call.deps.chain.exit_trials(
            how.vault, how.adapter, [leave.data(units) for units in parts]
        )
        return [_brought(one, is_working=is_working) for one in found]

    try:
        return payable(how.reading.units or 0, tried)
    except (RpcError, AbiDecodeError):
        return None


def _brought(trial: int | RpcRefusedError, *, is_working: bool) -> int | None:
    """None: its venue does not pay it. Errors: RpcRefusedError when the trial does not say."""
    if not isinstance(trial, RpcRefusedError):
        return trial
    if not isinstance(trial, (RpcRevertedError, RpcCodeFailedError)):
        raise trial
    if is_working and reason_of_run(trial) == "UnderMinOut":
        raise trial
    return None


def _label(state: MandateState, adapter: str) -> str | None:
    """What the agent calls it, if it reported a position there."""
    named = [
        one
        for one in state.positions
        if one.target and str(one.target["address"]).lower() == adapter.lower()
    ]
    return named[0].name or named[0].id if named else None


def _unwind_data(adapter: str, data: str) -> str:
    return calldata.unwind([calldata.VaultCall(adapter, 0, data)])


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
    adapter = _adapter_named(call, mandate, current, command)
    unwind = _unwind(call, mandate, current, adapter, command.min_usdc)
    return Answer(UnwindBuilt.model_validate(unwind | current.data_issue))


def _unwind(
    call: Call, mandate: Mandate, current: Current, adapter: str | None, least: int | None
) -> dict[str, Any]:
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
    if least is not None and not leave.takes_minimum:
        raise InvalidParameterError(
            "min_usdc", f"{leave.signature} of this adapter takes no minimum; leave it out"
        )
    reading = call.deps.chain.adapter_readings([adapter], vault)[adapter]
    if reading.units is None:
        what = (
            "The adapter does not report what it holds for this vault. Ask again; if that "
            "does not change, the adapter is out of order."
        )
        return nothing_to_send(call, vault, "adapter_not_read", what) | _unsent(adapter)
    if reading.units == 0:
        what = "The adapter holds no position for this vault."
        return nothing_to_send(call, vault, "nothing_to_unwind", what) | _unsent(adapter)
    how = _Leaving(vault, adapter, leave, reading, DEFAULT_ALLOWANCE_BPS)
    pays = _payable(call, how, is_working=current.status in ACTIVE)
    units = (pays.units if pays else 0) or reading.units
    if least is None and leave.takes_minimum:
        least = least_usdc_e6(how.worth_of(units), how.allowance_bps)
        if least is None:
            return nothing_to_send(call, vault, MINIMUM_NEEDED, MINIMUM_HAPPENS) | _unsent(adapter)
    data = _unwind_data(adapter, leave.data(units, least or 0))
    check, gas = _checked(call, vault, data, mandate)
    sent = built(call, vault, data) | {
        "reason": None,
        "what_happens": UNWIND_HAPPENS if units == reading.units else PART_HAPPENS,
        "locked_until": None,
    }
    shown = {"adapter": adapter, "units": str(units), "who_signs": "owner", "gas": gas}
    shown["min_proceeds_usdc"] = usdc_text_or_none(least)
    shown["withdrawable_now_usdc"] = usdc_text_or_none(pays.usdc_e6 if pays else None)
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
    unsent = {"adapter": adapter, "units": None, "who_signs": "owner", "gas": None, "check": None}
    return unsent | {"min_proceeds_usdc": None, "withdrawable_now_usdc": None}

"""The leg of a mandate at the perpetuals venue: bind, unbind, read (docs/perpetuals.md).

Laws
- While the service has no venue every call that can be read answers tw_feature_disabled.
- An owner binds the account that it signs in with and no other: nobody can take the place of
  somebody else's address.
- No key is taken, kept or answered. Each binding and unbinding is a row of the mandate's record.
"""

from api.areas.perps.schemas import BindLeg, LegAnswer, LegPath, LegView
from api.kernel.caller import OwnerCaller
from api.kernel.operation import Answer, Call, NextCall, Refusal, WriteCall
from api.kernel.refusals import feature_off
from core.alerts.queries import HL_KEY_LOST, withdraw_of_mandates
from core.mandate import queries as mandates
from core.mandate.ledger import writer as mandate_ledger
from core.mandate.rules.lifecycle import MarketMode, Status
from core.mandate.tables import Mandate
from core.money import usdc_text_or_none
from core.perps import orders
from core.perps import queries as legs
from core.perps.queries import Leg
from core.perps.rules.closing import Closing, ClosingStatus
from core.perps.rules.leg import Degraded, LegStatus, PerpsTerms, may_bind
from core.perps.rules.notes import BOUND, UNBOUND, leg_note
from core.perps.views import bound_mandate

NOBODY = "0x" + "00" * 20
NOTES = {
    None: "No account is bound. Approve an API wallet at the venue, then bind the wallet that "
    "you sign in with.",
    LegStatus.UNBOUND: "The account is no longer read; its positions at the venue are yours.",
    LegStatus.BOUND: "The account is read about every 30 s. Its worth is shown only here: it is not part "
    "of the vault's worth, floor or record of money.",
}
CLOSING = {
    ClosingStatus.PENDING: "The mandate has ended: the keeper closes the account's positions; the rows "
    "hl_order, hl_order_result and hl_stop_line of the record show the progress.",
    ClosingStatus.CLOSED: "The mandate has ended, and the account's positions were closed. What is "
    "opened from now on is yours: withdraw the approvals of API wallets at the venue, and unbind.",
    ClosingStatus.LEFT_OPEN: "The mandate has ended. The keeper has no key of agent_address, so you have to "
    "close the positions yourself at the venue.",
}
DEGRADED = {
    Degraded.UNREADABLE: "The venue did not answer, or its answer was not in the documented form; the "
    "figures are those of last_read_at.",
    Degraded.ACCOUNT_MODE: "The account is not a plain one (sub-account, vault, or unified with spot), so its "
    "perpetuals worth cannot be read separately.",
    Degraded.KEY_LOST: "The venue does not accept the agent's key for this account: approve agent_address "
    "there again, or unbind.",
}


def read(call: Call, caller: OwnerCaller, command: LegPath) -> Answer[LegAnswer]:
    """Errors: Refusal tw_feature_disabled, not_found."""
    terms = _terms(call)
    mandate = _owned(mandates.find_mandate(call.db, command.id), caller, command.id)
    leg = legs.newest_leg(call.db, mandate.id)
    return Answer(
        _shown(terms, mandate, leg, None if leg is None else orders.find_closing(call.db, leg.id))
    )


def bind(call: WriteCall, caller: OwnerCaller, command: BindLeg) -> Answer[LegAnswer]:
    """Errors: Refusal tw_feature_disabled, not_found, not_owner, invalid_parameter, wrong_status,
    leg_bound.
    """
    terms = _terms(call)
    mandate = _locked(call, caller, command.id)
    _require_bindable(mandate)
    _require_addresses(caller, command)
    leg = legs.bind(
        call.db,
        mandate.id,
        owner_address=command.owner_address,
        agent_address=command.agent_address,
        dex=command.dex,
        now=call.now,
    )
    if leg is None:
        raise _leg_bound(call, mandate, command.owner_address)
    note = leg_note(BOUND, leg.id, leg.parties, call.now)
    mandate_ledger.append(call.db, mandate.id, note, call.now)
    return Answer(_shown(terms, mandate, leg), 201)


def unbind(call: WriteCall, caller: OwnerCaller, command: LegPath) -> Answer[LegAnswer]:
    """Errors: Refusal tw_feature_disabled, not_found, wrong_status."""
    terms = _terms(call)
    mandate = _locked(call, caller, command.id)
    leg = legs.unbind(call.db, mandate.id, call.now)
    if leg is None:
        raise Refusal(
            "wrong_status",
            "The mandate has no live leg; there is nothing to unbind.",
            next_calls=("perps.leg",),
        )
    withdraw_of_mandates(call.db, HL_KEY_LOST, [(caller.account_id, mandate.public_id)], call.now)
    note = leg_note(UNBOUND, leg.id, leg.parties, call.now)
    mandate_ledger.append(call.db, mandate.id, note, call.now)
    return Answer(_shown(terms, mandate, leg))


# What is refused


def _terms(call: Call) -> PerpsTerms:
    found = call.deps.parts.find(PerpsTerms)
    if found is None:
        raise feature_off(
            "The perpetuals leg is off: the operator of this service must set HL_URL. "
            "Mandates work without it."
        )
    return found


def _locked(call: WriteCall, caller: OwnerCaller, public_id: str) -> Mandate:
    """Nobody else moves the mandate until the transaction ends."""
    mandate = _owned(mandates.find_mandate(call.db, public_id), caller, public_id)
    return _owned(mandates.lock_mandate(call.db, mandate.id), caller, public_id)


def _owned(mandate: Mandate | None, caller: OwnerCaller, public_id: str) -> Mandate:
    if mandate is None or mandate.owner_id != caller.account_id:
        raise Refusal("not_found", f"You have no mandate {public_id}.")
    return mandate


def _require_bindable(mandate: Mandate) -> None:
    if not may_bind(Status(mandate.status), MarketMode(mandate.market_mode)):
        raise Refusal(
            "wrong_status",
            f"The mandate is {mandate.status} ({mandate.market_mode}); a leg can be bound "
            "only while a testnet mandate is signed or working.",
        )


def _leg_bound(call: Call, mandate: Mandate, address: str) -> Refusal:
    """Its next call unbinds the leg that is in the way: both mandates are the caller's."""
    public_id = bound_mandate(call.db, address) or mandate.public_id
    return Refusal(
        "leg_bound",
        f"{address} already has a live leg, that of mandate {public_id}; unbind it first. An "
        "address has one live leg, and so does a mandate.",
        next_calls=(NextCall("perps.unbind", {"id": public_id}),),
    )


def _require_addresses(caller: OwnerCaller, command: BindLeg) -> None:
    if command.owner_address.lower() != caller.wallet_address.lower():
        raise Refusal(
            "not_owner",
            f"owner_address: write {caller.wallet_address}, the wallet that you sign in with; to "
            "bind another account, sign in with its wallet.",
        )
    if command.agent_address in (command.owner_address, NOBODY):
        raise Refusal(
            "invalid_parameter",
            "agent_address: write the address of the API wallet that owner_address approved at the "
            "venue; it is not owner_address or the zero address.",
        )


# What is shown


def _shown(
    terms: PerpsTerms, mandate: Mandate, leg: Leg | None, closing: Closing | None = None
) -> LegAnswer:
    is_live = leg is not None and leg.status is LegStatus.BOUND
    return LegAnswer(
        enabled=True,
        mandate=mandate.public_id,
        mandate_status=mandate.status,
        network=terms.network,
        hl_market_on=is_live and mandate.status == Status.WORKING,
        agent_address=leg.agent_address if leg is not None and is_live else None,
        leg=None if leg is None else _view(leg),
        exit_allowance_bps=terms.exit_allowance_bps,
        note=_note(leg, closing),
    )


def _note(leg: Leg | None, closing: Closing | None) -> str:
    is_degraded = leg is not None and leg.state.last_reason is not None
    if leg is not None and leg.status is LegStatus.BOUND and closing is not None:
        is_over = closing.status is not ClosingStatus.PENDING
        if is_over or not is_degraded:
            return CLOSING[closing.status]
    if leg is not None and leg.status is LegStatus.BOUND and leg.state.last_reason is not None:
        return DEGRADED[leg.state.last_reason]
    return NOTES[None if leg is None else leg.status]


def _view(leg: Leg) -> LegView:
    return LegView.of(
        leg,
        **leg.parties,
        last_worth_usdc=usdc_text_or_none(leg.state.last_worth_usdc_e6),
        last_read_at=leg.state.last_read_at,
        last_reason=leg.state.last_reason,
        degraded_ticks=leg.state.degraded_ticks,
    )

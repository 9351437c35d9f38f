"""Calls that the owner's wallet signs and sends: vault, deposits, agent, stop, withdrawal.

Nothing here sends (docs/rules.md#who-signs-and-sends).

A call is {to, data, value, chain_id, transaction}: `value` is in wei and always the number 0. A text would do
for JSON-RPC, and a library that tests it for truth (viem) would encode it as a byte 0, which no
node takes. Where nothing can be sent now, `data` is null and `reason`, `what_happens` and
`locked_until` say why, what would happen and from when on.

All are made of `current_of`: where the ledger is short, of what the chain says, and they carry
`data_issue`. What protects the owner whatever is true (to stop, to remove the agent) is built even
when the chain cannot be asked; everything else is refused then.
"""

from typing import Any

from api.areas.mandates.schemas.answers import (
    AgentCall,
    DeployCall,
    DepositCall,
    StopCall,
    WithdrawCall,
)
from api.areas.mandates.schemas.commands import (
    DeployQuery,
    DepositQuery,
    MandatePath,
    SetAgentQuery,
    WithdrawQuery,
)
from api.areas.mandates.service.access import owned
from api.areas.mandates.service.current import Current, current_of
from api.areas.mandates.service.views import digest_of, is_paper, rules_of, signature_of, terms_of
from api.kernel.caller import OwnerCaller
from api.kernel.operation import Answer, Call, Refusal
from core.chain.errors import RpcError
from core.chain.signatures import kept_signature
from core.errors import InvalidNumberError, InvalidParameterError, SettleGraceError
from core.mandate.chain import calldata
from core.mandate.chain.calldata import vault_address
from core.mandate.chain.typed_data import (
    receive_authorization,
    typed_data_parts,
)
from core.mandate.rules.clauses import fee_stays_words, payee_of
from core.mandate.rules.lifecycle import (
    ACTIVE,
    UNKNOWN_LOCK,
    LockFacts,
    LockReason,
    MarketMode,
    Status,
    StoppedBy,
    WithdrawalLock,
    check_stop,
    lock_of,
)
from core.mandate.rules.state import MandateState
from core.mandate.rules.terms import ZERO_ADDRESS, MandateTerms
from core.mandate.rules.worth import agent_fee_owed_usdc_e6
from core.mandate.tables import Mandate
from core.money import UsdcE6, usdc_text
from core.times import utc_text

STOP_HAPPENS = (
    "The vault stops for good and revokes the agent in the same transaction. Open positions stay "
    "where they are until you unwind them; then you withdraw. Nobody but you can withdraw."
)
GRACE_HAPPENS = (
    "The end date has passed and the agent's fee is settled first; from locked_until on you can "
    "withdraw without a stop."
)
RECORD_GRACE_HAPPENS = (
    "The end date has passed; from locked_until on POST .../stop ends the mandate in the record."
)
MAY_BE_STOPPED = (
    "The record is incomplete and the chain cannot be read right now: if the vault has "
    "already been stopped, the call reverts and changes nothing."
)
NO_WEI = 0
EMPTY_SIGNATURE = "0x"
RECORD_STOP_HAPPENS = (
    "There is no vault to stop: POST .../stop ends the mandate in the record at once."
)
EARLY_STOP_HAPPENS = (
    "The record has no vault for these terms yet. Send cancel_call first: once it is "
    "mined, no vault can be made from them. If it reverts with VaultExists, the vault "
    "was there first: send this call, which stops it for good. While there is no vault, "
    "this call changes nothing, though its transaction succeeds. The status changes "
    "once the chain's block is safe."
)
AGENT_EARLY_STOP_HAPPENS = (
    "The record has no vault for these terms yet. Once there is one, this call stops it "
    "for good; before that it changes nothing, though its transaction succeeds. Only "
    "the owner can cancel the terms, with POST .../cancel. The status changes once the "
    "chain's block is safe."
)
CANCEL_HAPPENS = (
    "From then on no vault can be made from these terms. If it reverts with "
    "VaultExists, the vault was there first: send the stop call instead. The status "
    "says cancelled once the chain's block is safe."
)


def built(call: Call, to: str, data: str) -> dict[str, Any]:
    sent = {"to": to, "data": data, "value": NO_WEI}
    chain_id = call.deps.chain_id
    return sent | {"chain_id": chain_id, "transaction": sent | {"chainId": chain_id}}


def nothing_to_send(
    call: Call, to: str | None, reason: str, what_happens: str, locked_until: str | None = None
) -> dict[str, Any]:
    empty = {"to": to, "data": None, "value": NO_WEI, "chain_id": call.deps.chain_id}
    empty["transaction"] = None
    return empty | {"reason": reason, "what_happens": what_happens, "locked_until": locked_until}


# Creating and funding


def deploy_call(call: Call, caller: OwnerCaller, command: DeployQuery) -> Answer[DeployCall]:
    """The call that makes the vault of the signed terms, at an address that follows from their
    digest alone.

    fund none: an empty vault. approve: two calls, the owner's approval of the vault-to-be and the
    creation that takes the budget. authorization: the EIP-3009 document to sign; asked again with
    its signature, the creation that carries it.
    """
    mandate = owned(call, caller, command.id)
    current = _require_signed(call, mandate)
    vault = current.vault or call.deps.chain.predict_vault(digest_of(mandate))
    shown = {
        "vault_address": vault,
        "digest": digest_of(mandate),
        "fund": command.fund,
    } | current.data_issue
    if command.fund == "approve":
        return Answer(DeployCall.model_validate(_approved(call, mandate, vault) | shown))
    if command.fund == "authorization":
        return Answer(
            DeployCall.model_validate(
                _authorized(call, mandate, vault, command.authorization_signature) | shown
            )
        )
    return Answer(DeployCall.model_validate(_creation(call, mandate, calldata.NO_FUNDING) | shown))


def _require_signed(call: Call, mandate: Mandate) -> Current:
    """Errors: Refusal wrong_status; RpcError of a short ledger while the chain cannot be asked."""
    if is_paper(mandate):
        raise Refusal(
            "wrong_status", "A paper mandate has no vault; it works from the signature on."
        )
    current = current_of(call, mandate).require_known()
    if current.status is not Status.SIGNED:
        raise Refusal(
            "wrong_status",
            f"The mandate is {current.status}; a vault can be made and funded only while the "
            "mandate is signed.",
        )
    return current


def _creation(call: Call, mandate: Mandate, funding: calldata.Funding) -> dict[str, Any]:
    data = calldata.create_vault(
        terms_of(mandate), rules_of(mandate), signature_of(mandate), funding
    )
    return built(call, call.deps.contracts["factory"], data)


def _approved(call: Call, mandate: Mandate, vault: str) -> dict[str, Any]:
    """The creation call itself, and in `calls` both in the order in which the owner sends them."""
    budget = terms_of(mandate).budget_usdc
    creation = _creation(call, mandate, calldata.Funding(amount=budget))
    return creation | {
        "calls": [
            built(call, call.deps.contracts["usdc"], calldata.approve(vault, budget)),
            creation,
        ]
    }


def _authorized(call: Call, mandate: Mandate, vault: str, signature: str | None) -> dict[str, Any]:
    """The authorization is valid until the mandate's end; its nonce is the digest, so it can fund
    this vault alone, once.
    """
    terms, digest = terms_of(mandate), digest_of(mandate)
    signed = receive_authorization(
        call.deps.contracts["usdc"],
        mandate.chain_id,
        *(terms.owner, vault, terms.budget_usdc, 0, terms.ends_at, digest),
    )
    documents = {
        "typed_data": signed.typed_data,
        "typed_data_parts": typed_data_parts(signed.typed_data),
    }
    if signature is None:
        what = (
            "Sign typed_data with eth_signTypedData_v4 and ask again with "
            "authorization_signature; data then carries it."
        )
        factory = call.deps.contracts["factory"]
        return nothing_to_send(call, factory, "authorization_signature_needed", what) | documents
    if signature == EMPTY_SIGNATURE:
        rule = (
            "the vault treats an empty signature as an allowance; send the wallet's "
            "signature, or take fund=approve"
        )
        raise InvalidParameterError("authorization_signature", rule)
    signature = kept_signature(terms.owner, signed.digest, signature)
    funding = calldata.Funding(terms.budget_usdc, 0, terms.ends_at, signature)
    return _creation(call, mandate, funding) | documents


def deposit_call(call: Call, caller: OwnerCaller, command: DepositQuery) -> Answer[DepositCall]:
    """Approval and deposit, in order.

    The vault takes no more than what is missing to the budget.
    """
    mandate = owned(call, caller, command.id)
    current = _require_signed(call, mandate)
    vault = current.vault
    if vault is None:
        what = (
            "There is no vault yet: deploy-call makes it, and can fund it in the same transaction."
        )
        nothing = nothing_to_send(call, None, "no_vault", what) | {
            "calls": [],
            "vault_address": None,
        }
        return Answer(DepositCall.model_validate(nothing | current.data_issue))
    missing = terms_of(mandate).budget_usdc - current.state.deposited_usdc_e6
    if command.amount_usdc > missing:
        raise InvalidNumberError(
            "amount_usdc",
            usdc_text(command.amount_usdc),
            f"the vault takes at most {usdc_text(missing)} more",
        )
    calls = [
        built(call, call.deps.contracts["usdc"], calldata.approve(vault, command.amount_usdc)),
        built(call, vault, calldata.deposit(command.amount_usdc)),
    ]
    return Answer(
        DepositCall.model_validate(
            calls[1] | {"calls": calls, "vault_address": vault} | current.data_issue
        )
    )


def cancel_terms_call(call: Call, mandate: Mandate, current: Current) -> dict[str, Any] | None:
    """The call that keeps signed terms from ever becoming a vault; None where they cannot, or have
    become one.
    """
    if is_paper(mandate) or current.status is not Status.SIGNED or current.vault is not None:
        return None
    data = calldata.cancel_terms(terms_of(mandate))
    return built(call, call.deps.contracts["factory"], data) | {"what_happens": CANCEL_HAPPENS}


# The agent


def set_agent_call(call: Call, caller: OwnerCaller, command: SetAgentQuery) -> Answer[AgentCall]:
    """Without agent_wallet: remove the agent, which pauses.

    With it: set the agent, which resumes, until the end date.
    """
    mandate = owned(call, caller, command.id)
    current = current_of(call, mandate)
    return Answer(
        AgentCall.model_validate(
            _agent_call(call, mandate, current, command.agent_wallet) | current.data_issue
        )
    )


def _agent_call(
    call: Call, mandate: Mandate, current: Current, wallet: str | None
) -> dict[str, Any]:
    """Errors: RpcError, for a new agent of a short ledger while the chain cannot be asked."""
    vault = current.vault
    if vault is None:
        return nothing_to_send(
            call, None, "no_vault", "There is no vault yet, so there is no agent to change."
        )
    if current.status not in ACTIVE:
        return nothing_to_send(
            call,
            vault,
            "mandate_ended",
            "The mandate has ended; its vault cannot have an agent again.",
        )
    if wallet is None:
        what = (
            "The vault obeys no agent until you set one again; the mandate is paused, its limits "
            "and positions stay."
        )
        return built(call, vault, calldata.remove_agent()) | {
            "action": "pause",
            "what_happens": what,
        }
    ends_at = terms_of(mandate).ends_at
    if current.require_known().now >= ends_at:
        what = (
            f"The end date passed at {utc_text(ends_at)}; since then the vault accepts no "
            "new agent, and none could act."
        )
        return nothing_to_send(call, vault, "mandate_ended", what)
    _require_other_than_vault("agent_wallet", wallet, vault)
    what = f"The vault obeys {wallet} inside the signed limits; the day's window is not reset."
    terms = terms_of(mandate)
    stays = fee_stays_words(payee_of(terms, current.state), wallet, terms.agent_fee_bps)
    return built(call, vault, calldata.set_agent(wallet)) | {
        "action": "resume",
        "what_happens": what if stays is None else f"{what} {stays}",
    }


# Leaving


def stop_call(call: Call, caller: OwnerCaller, command: MandatePath) -> Answer[StopCall]:
    """The vault's stop call; of signed terms without a vault in the record also `cancel_call`,
    since either can lose a race.
    """
    mandate = owned(call, caller, command.id)
    current = current_of(call, mandate)
    cancel = cancel_terms_call(call, mandate, current)
    stop = stop_call_of(call, mandate, current, StoppedBy.OWNER)
    return Answer(
        StopCall.model_validate(stop | ({} if cancel is None else {"cancel_call": cancel}))
    )


def stop_call_of(call: Call, mandate: Mandate, current: Current, by: StoppedBy) -> dict[str, Any]:
    """The vault's stop call, or why there is none to send now.

    Nothing is asked of a node: the vault's address follows from its terms.
    """
    return _stop_call(call, mandate, current, by) | current.data_issue


def _stop_call(call: Call, mandate: Mandate, current: Current, by: StoppedBy) -> dict[str, Any]:
    vault = current.vault
    if current.status not in ACTIVE:
        return nothing_to_send(
            call,
            vault,
            "mandate_not_working",
            f"The mandate is {current.status}; there is nothing to stop.",
        )
    try:
        check_stop(by, terms_of(mandate).ends_at, current.now, is_paper=is_paper(mandate))
    except SettleGraceError as grace:
        what = RECORD_GRACE_HAPPENS if is_paper(mandate) else GRACE_HAPPENS
        return nothing_to_send(call, vault, "settle_grace", what, utc_text(grace.until))
    if is_paper(mandate):
        return nothing_to_send(call, None, "no_vault", RECORD_STOP_HAPPENS)
    if vault is None:
        vault = vault_address(call.deps.contracts["factory"], digest_of(mandate))
        what = EARLY_STOP_HAPPENS if by is StoppedBy.OWNER else AGENT_EARLY_STOP_HAPPENS
    else:
        what = STOP_HAPPENS if current.unseen is None else f"{STOP_HAPPENS} {MAY_BE_STOPPED}"
    return built(call, vault, calldata.stop(by.value)) | {
        "reason": None,
        "what_happens": what,
        "locked_until": None,
    }


def withdraw_call(call: Call, caller: OwnerCaller, command: WithdrawQuery) -> Answer[WithdrawCall]:
    """USDC of the vault to `to` (default: the owner's wallet); without an amount all that is not
    owed as a fee.

    Errors: InvalidNumberError; RpcError of a short ledger while the chain cannot be asked.
    """
    mandate = owned(call, caller, command.id)
    current = current_of(call, mandate).require_known()
    lock = lock_now(mandate, current)
    if current.vault is None or not lock.withdrawable:
        until = None if lock.until is None else utc_text(lock.until)
        nothing = nothing_to_send(call, current.vault, str(lock.reason), lock.message, until)
        return Answer(
            WithdrawCall.model_validate(nothing | {"amount_usdc": None} | current.data_issue)
        )
    most, source = withdrawable_now(call, current.vault, mandate, current)
    if most == 0:  # withdrawn already, and not in the record yet
        what = "The vault holds nothing that can be withdrawn right now."
        nothing = nothing_to_send(call, current.vault, LockReason.NOTHING_LEFT.value, what)
        return Answer(
            WithdrawCall.model_validate(nothing | {"amount_usdc": None} | current.data_issue)
        )
    amount = most if command.amount_usdc is None else command.amount_usdc
    if amount > most:
        raise InvalidNumberError(
            "amount_usdc", usdc_text(amount), f"at most {usdc_text(most)} can be withdrawn now"
        )
    to = command.to or caller.wallet_address
    _require_other_than_vault("to", to, current.vault)
    sent = built(call, current.vault, calldata.withdraw(call.deps.contracts["usdc"], to, amount))
    said = {
        "amount_usdc": usdc_text(amount),
        "source": source,
        "what_happens": f"{usdc_text(amount)} USDC go to {to}.",
    }
    return Answer(
        WithdrawCall.model_validate(
            sent | said | {"reason": None, "locked_until": None} | current.data_issue
        )
    )


def _require_other_than_vault(field: str, address: str, vault: str) -> None:
    """The vault would revert with BadAddress. Errors: InvalidParameterError."""
    if address in (ZERO_ADDRESS, vault):
        raise InvalidParameterError(
            field, "the vault pays neither the zero address nor itself; write another wallet's"
        )


def withdrawable_now(call: Call, vault: str, mandate: Mandate, current: Current) -> tuple[int, str]:
    """What the vault would pay out, donated USDC included; the ledger's word while the chain cannot
    be asked.

    Errors: RpcError of a short ledger, which has no such word.
    """
    if current.seen is not None:
        return current.seen.withdrawable_usdc_e6, "chain"
    try:
        return call.deps.chain.vault_seen(vault).withdrawable_usdc_e6, "chain"
    except RpcError:
        return withdrawable_usdc_e6(terms_of(mandate), current.require_known().state), "ledger"


def withdrawable_usdc_e6(terms: MandateTerms, state: MandateState) -> UsdcE6:
    """The mandate's own cash less the fee that the vault still owes; never below 0.

    Source: MandateVault.withdraw.
    """
    return UsdcE6(max(0, state.cash_usdc_e6 - fee_owed_usdc_e6(terms, state)))


def fee_owed_usdc_e6(terms: MandateTerms, state: MandateState) -> UsdcE6:
    """bps of max(0, received - spent), rounded down, less what was paid; 0 while nobody is to be
    paid.

    Source: MandateVault.feeOwed.
    """
    if payee_of(terms, state).address is None:
        return UsdcE6(0)
    gain = state.received_usdc_e6 - state.spent_usdc_e6
    return agent_fee_owed_usdc_e6(gain, terms.agent_fee_bps, state.paid_out_usdc_e6)


def lock_now(mandate: Mandate, current: Current) -> WithdrawalLock:
    """Whether the owner can withdraw now; not known of a short ledger while the chain cannot be
    asked.
    """
    if current.unseen is not None:
        return UNKNOWN_LOCK
    terms, state, seen = terms_of(mandate), current.state, current.seen
    facts = LockFacts(
        status=current.status,
        market_mode=MarketMode(mandate.market_mode),
        has_vault=current.vault is not None,
        ends_at=terms.ends_at,
        withdrawable_usdc_e6=withdrawable_usdc_e6(terms, state)
        if seen is None
        else seen.withdrawable_usdc_e6,
        stopped_at=None if state.stopped_at is None else int(state.stopped_at.timestamp()),
        stopped_by=None if state.stopped_by is None else StoppedBy(state.stopped_by),
    )
    return lock_of(facts, current.now)

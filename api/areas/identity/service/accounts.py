"""Sign-in, registration and wallet link (docs/identity.md).

Secrets leave in the answer that makes them and are kept as hashes alone.
"""

import secrets
from datetime import timedelta

from api.areas.identity.schemas import (
    Connect,
    Connected,
    Done,
    LinkWallet,
    LoggedIn,
    Login,
    Nonce,
    NonceIssued,
    Register,
    RegisteredExternal,
    RegisterExternal,
    WalletStatus,
)
from api.areas.identity.service.registration import admit_owned, admit_owner, admit_unowned, enrol
from api.kernel.caller import BearerCaller, Nobody, OwnerCaller
from api.kernel.operation import Access, Answer, Call, NextCall, NoInput, Refusal, WriteCall
from api.shared.sessions import lock_caller, open_owner_session
from api.shared.siwe import Purpose, TextSubject, issue, time_text, verified_wallet, verify_wallet
from core.alerts import queries as alerts
from core.errors import InvalidParameterError
from core.hexes import address_or_none
from core.identity import queries as identity
from core.identity.tables import Account
from core.times import instant_text, instant_text_or_none, whole_second

RECOVERY_NAME_STEM = 60  # characters of the agent's name that its recovery name begins with


def nonce(call: WriteCall, caller: Nobody, command: Nonce) -> Answer[NonceIssued]:
    """A text to sign; the same one again while more than half of its life is left."""
    purpose = Purpose(command.purpose)
    for name, only in (("record_sha256", Purpose.SELF), ("agent_id", Purpose.UNLINK)):
        if (purpose is only) != (getattr(command, name) is not None):
            raise InvalidParameterError(
                name,
                f"send it only with purpose {only}, which requires it",
            )
    text = issue(
        call, command.wallet_address, TextSubject(purpose, command.record_sha256, command.agent_id)
    )
    return Answer(
        NonceIssued(nonce=text.nonce, message=text.message, expires_at=time_text(text.expires_at))
    )


def login(call: WriteCall, caller: Nobody, command: Login) -> Answer[LoggedIn]:
    """An owner's session; the first sign-in of a wallet makes its account.

    With `end_other_sessions` the wallet's signature ends every session from before, so that a
    stolen one cannot end this one first.
    """
    address = verified_wallet(call, TextSubject(Purpose.LOGIN), command.message, command.signature)
    if identity.find_account_of_wallet(call.db, address) is None:
        admit_owner(call)
    owner = identity.owner_of_wallet(call.db, address, call.client, call.now)
    if owner is None:
        raise Refusal(
            "wallet_taken", f"{address} is linked to an agent; sign in with a wallet of your own."
        )
    if command.end_other_sessions:
        identity.lock_owner(call.db, owner.id)
        identity.revoke_sessions(call.db, owner.id, call.now)
    token, expires_at = open_owner_session(call, owner.id)
    return Answer(
        LoggedIn(bearer_token=token, expires_at=time_text(expires_at), wallet_address=address)
    )


def logout(call: WriteCall, caller: OwnerCaller, command: NoInput) -> Answer[Done]:
    identity.revoke_session(call.db, caller.session_id, call.now)
    return Answer(Done(ok=True))


def connect(call: WriteCall, caller: OwnerCaller | Nobody, command: Connect) -> Answer[Connected]:
    """A new agent: owned when its owner is signed in. A withheld welcome credit is no refusal."""
    if not isinstance(caller, OwnerCaller):
        return Answer(enrol(call, command.agent_name, is_welcome=admit_unowned(call)))
    admit_owned(call, caller)
    return Answer(enrol(call, command.agent_name, owner_id=caller.account_id, is_welcome=True))


def register(call: WriteCall, caller: Nobody, command: Register) -> Answer[Connected]:
    """A new unowned agent whose wallet is linked from the start; the answer is connect's (ADR
    0005).
    """
    address = command.wallet_address
    verify_wallet(call, TextSubject(Purpose.REGISTER), address, command.signature, command.message)
    _refuse_an_operators(call, address)
    made = enrol(call, command.agent_name, is_welcome=admit_unowned(call))
    if not identity.link_wallet(call.db, made.user_id, address, call.now):
        raise _has_account(call, address)
    return Answer(made)


def _refuse_an_operators(call: Call, address: str) -> None:
    """Its holder would decide on its own agent's work. Errors: Refusal wallet_taken."""
    if address.lower() in call.deps.parts.of(Access).operator_addresses:
        raise Refusal(
            "wallet_taken",
            f"{address} belongs to an operator, and operators have no agents; use another wallet.",
        )


def _has_account(call: Call, address: str) -> Refusal:
    """Its holder has just signed, so it may hear which kind of account it has."""
    holder = identity.find_account_of_wallet(call.db, address)
    if holder is not None and holder.kind == "owner":
        sign_in = NextCall(
            "identity.nonce", body={"wallet_address": address, "purpose": Purpose.LOGIN.value}
        )
        detail = (
            f"{address} belongs to an owner; sign in with it at /auth/owner/login and "
            "register the agent with /auth/agent/connect."
        )
        return Refusal("wallet_taken", detail, next_calls=(sign_in,))
    detail = (
        f"{address} already has an agent; if you lost its key, send its recovery_code to "
        "/auth/agent/recover."
    )
    return Refusal("wallet_taken", detail)


def register_external(
    call: WriteCall, caller: Nobody, command: RegisterExternal
) -> Answer[RegisteredExternal]:
    """A new unowned agent under another system's id, once per id; its recovery asks for
    recovery_agent_name too.
    """
    is_welcome = admit_unowned(call)
    if identity.external_id_is_taken(call.db, command.external_id):
        detail = (
            "external_id: an agent is already registered under it. If you lost its key, "
            "send its recovery_code and its recovery_agent_name to /auth/agent/recover; "
            "otherwise register under another id."
        )
        raise Refusal("external_id_taken", detail)
    recovery_name = f"{command.agent_name[:RECOVERY_NAME_STEM]}-{secrets.token_hex(5)}"
    made = enrol(
        call,
        command.agent_name,
        is_welcome=is_welcome,
        external_id=command.external_id,
        recovery_name=recovery_name,
    )
    return Answer(RegisteredExternal(**made.model_dump(), recovery_agent_name=recovery_name))


def link(call: WriteCall, caller: BearerCaller, command: LinkWallet) -> Answer[WalletStatus]:
    """One wallet, one account; linking the same pair again changes nothing
    (docs/rules.md#one-wallet-per-account).

    A starter wallet pays the wallet of an agent without an owner at once. That of an owned agent
    waits, and the owner is notified.
    Errors: Refusal signature_invalid, auth_invalid, account_has_wallet, wallet_taken.
    """
    verify_wallet(
        call, TextSubject(Purpose.LINK), command.wallet_address, command.signature, command.message
    )
    _refuse_an_operators(call, command.wallet_address)
    account = lock_caller(call, caller)
    linked = address_or_none(account.wallet_address)
    if linked not in (None, command.wallet_address):
        detail = (
            f"This account's wallet is {linked}; one account has one wallet, which the agent's "
            "owner can unlink."
        )
        raise Refusal("account_has_wallet", detail)
    if linked is None:
        _link(call, account, command.wallet_address)
    return Answer(_wallet_of(account))


def _link(call: WriteCall, account: Account, address: str) -> None:
    waits_until = whole_second(call.now + timedelta(hours=call.deps.limits.link_wait_hours))
    payable_at = call.now if account.owner_id is None else waits_until
    if not identity.link_wallet(call.db, account.id, address, call.now, payable_at):
        raise Refusal(
            "wallet_taken", f"{address} belongs to another account; link a wallet of your own."
        )
    if account.owner_id is not None:
        args = {
            "agent_name": account.name,
            "wallet_address": address,
            "wallet_payable_at": instant_text(payable_at),
        }
        alerts.add_of_agent(
            call.db, alerts.AGENT_WALLET_LINKED, account.owner_id, account.id, args, call.now
        )


def wallet_status(call: Call, caller: BearerCaller, command: NoInput) -> Answer[WalletStatus]:
    account = identity.find_account(call.db, caller.account_id)
    assert account is not None, "a token has an account"
    return Answer(_wallet_of(account))


def _wallet_of(account: Account) -> WalletStatus:
    return WalletStatus(
        registered=account.wallet_address is not None,
        wallet_address=address_or_none(account.wallet_address),
        wallet_payable_at=instant_text_or_none(account.wallet_payable_at),
    )

"""Sign-in, registration and wallet link (core spec 4.1, 5; decisions 8, 53 to 56, 62 to 64, 66).

Secrets leave in the answer that makes them and are kept as hashes alone.
"""

from datetime import datetime, timedelta

from api.areas.identity.registration import admit_owned, admit_unowned
from api.areas.identity.schemas import Connect, Link, Login, Nonce
from api.kernel.caller import BearerCaller, Nobody, OwnerCaller
from api.kernel.operation import Answer, Call, NoInput, Refusal
from api.kernel.siwe import Purpose, issue, time_text, verified_wallet, verify_wallet
from api.kernel.tokens import TokenKind, mint, token_hash
from core.books import credit_ledger
from core.db.repositories import identity


def nonce(call: Call, caller: Nobody, command: Nonce) -> Answer:
    """A text to sign; the same one again while more than half of its life is left."""
    text = issue(call, command.wallet_address, Purpose(command.purpose))
    return Answer({"nonce": text.nonce, "message": text.message, "expires_at": time_text(text.expires_at)})


def login(call: Call, caller: Nobody, command: Login) -> Answer:
    """An owner's session; the first sign-in of a wallet makes its account."""
    address = verified_wallet(call, Purpose.LOGIN, command.message, command.signature)
    owner = identity.owner_of_wallet(call.db, address, call.now)
    if owner is None:
        raise Refusal("wallet_taken", f"{address} is linked to an agent; sign in with a wallet of your own.")
    expires_at = call.now + timedelta(seconds=call.deps.limits.owner_session_s)
    token = _open_session(call, TokenKind.OWNER_SESSION, "owner", owner.id, expires_at)
    return Answer({"bearer_token": token, "expires_at": time_text(expires_at), "wallet_address": address})


def logout(call: Call, caller: OwnerCaller, command: NoInput) -> Answer:
    identity.revoke_session(call.db, caller.session_id, call.now)
    return Answer({"ok": True})


def connect(call: Call, caller: OwnerCaller | Nobody, command: Connect) -> Answer:
    """A new agent: owned when its owner is signed in. A withheld welcome credit is no refusal."""
    owner_id = caller.account_id if isinstance(caller, OwnerCaller) else None
    is_welcome = admit_unowned(call) if owner_id is None else admit_owned(call, owner_id)
    key, recovery = mint(TokenKind.AGENT_KEY), mint(TokenKind.RECOVERY_CODE)
    agent = identity.add_agent(call.db, command.agent_name, owner_id, call.client, _hash(call, recovery), call.now)
    identity.add_key(call.db, agent.id, _hash(call, key), call.now)
    if is_welcome and call.deps.limits.welcome_credits > 0:
        credit_ledger.grant_welcome(call.db, agent.id, call.deps.limits.welcome_credits, call.now)
    return Answer(
        {
            "api_key": key,
            "recovery_code": recovery,
            "user_id": agent.id,
            "bearer_token": _open_session(call, TokenKind.AGENT_BEARER, "agent", agent.id, None),
            "welcome_credit_granted": is_welcome,
        }
    )


def link(call: Call, caller: BearerCaller, command: Link) -> Answer:
    """One wallet, one account; linking the same pair again changes nothing (decisions 63)."""
    verify_wallet(call, Purpose.LINK, command.wallet_address, command.signature)
    account = identity.lock_account(call.db, caller.account_id)
    linked = identity.address_text(account.wallet_address)
    if linked not in (None, command.wallet_address):
        raise Refusal("account_has_wallet", f"This account's wallet is {linked}; one account has one wallet.")
    if not identity.link_wallet(call.db, account.id, command.wallet_address, call.now):
        raise Refusal("wallet_taken", f"{command.wallet_address} belongs to another account; link a wallet of your own.")
    return Answer({"registered": True, "wallet_address": command.wallet_address})


def wallet_status(call: Call, caller: BearerCaller, command: NoInput) -> Answer:
    return Answer({"registered": caller.wallet_address is not None, "wallet_address": caller.wallet_address})


def _open_session(call: Call, kind: TokenKind, session_kind: str, account_id: int, expires_at: datetime | None) -> str:
    token = mint(kind)
    identity.add_session(call.db, session_kind, account_id, _hash(call, token), call.now, expires_at)
    return token


def _hash(call: Call, token: str) -> bytes:
    return token_hash(call.deps.pepper, token)

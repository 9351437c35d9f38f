"""Secrets as calls make them: sessions, and all that an agent has at once.

Each is shown once and kept as a hash (api/kernel/tokens.py).

Laws
- Connect's token is good for `limits.agent_bearer_hours`, 24 hours at most, an owner's session for
  `limits.owner_session_hours`.
- What replaces secrets holds the account's row. A call whose secrets were replaced since it was let
  in does nothing that counts: it asks for the row and looks again.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from api.kernel.caller import AgentCaller, BearerCaller, OwnerCaller
from api.kernel.operation import Call, Refusal, WriteCall
from api.kernel.tokens import TokenKind, token_hash
from core.identity import evictions
from core.identity import queries as identity
from core.identity.tables import Account


@dataclass(frozen=True, slots=True)
class Evicted:
    """An agent's new secrets. `unlinked`: the wallet that went with the old ones, checksummed."""

    api_key: str
    recovery_code: str
    bearer_token: str
    unlinked: str | None


def hash_of(call: Call, token: str) -> bytes:
    return token_hash(call.deps.pepper, token)


def open_agent_session(call: WriteCall, agent_id: int) -> str:
    """A token of connect."""
    expires_at = call.now + timedelta(hours=call.deps.limits.agent_bearer_hours)
    return _open(call, TokenKind.AGENT_BEARER, "agent", agent_id, expires_at)


def open_owner_session(call: WriteCall, owner_id: int) -> tuple[str, datetime]:
    """The session's token, and when it ends."""
    expires_at = call.now + timedelta(hours=call.deps.limits.owner_session_hours)
    return _open(call, TokenKind.OWNER_SESSION, "owner", owner_id, expires_at), expires_at


def _open(
    call: WriteCall, kind: TokenKind, session_kind: str, account_id: int, expires_at: datetime
) -> str:
    token = call.mint(kind)
    identity.add_session(
        call.db, session_kind, account_id, hash_of(call, token), call.now, expires_at
    )
    return token


def evict(call: WriteCall, agent: Account, *, unlinks: bool = False) -> Evicted:
    """Replace all secrets of an agent whose row is held; a wallet that waits goes with them, with
    `unlinks` any.
    """
    key, code = call.mint(TokenKind.AGENT_KEY), call.mint(TokenKind.RECOVERY_CODE)
    unlinked = evictions.evict(
        call.db, agent, hash_of(call, key), hash_of(call, code), call.now, unlinks=unlinks
    )
    return Evicted(key, code, open_agent_session(call, agent.id), unlinked)


def lock_caller(call: WriteCall, caller: AgentCaller | BearerCaller) -> Account:
    """The caller's account, held until the call ends.

    Errors: Refusal auth_invalid when its secrets were replaced meanwhile.
    """
    account = identity.lock_account(call.db, caller.account_id)
    if account.generation != caller.generation:
        raise Refusal(
            "auth_invalid",
            "The secrets of this account were replaced a moment ago; send the new ones.",
        )
    return account


def lock_owner(call: WriteCall, caller: OwnerCaller) -> None:
    """What an owner does to secrets comes one after the other.

    Errors: Refusal auth_invalid when this session was ended meanwhile.
    """
    identity.lock_owner(call.db, caller.account_id)
    if identity.session_is_revoked(call.db, caller.session_id):
        raise Refusal(
            "auth_invalid",
            "This session was ended a moment ago; sign in again at /auth/owner/login.",
        )

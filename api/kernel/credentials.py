"""What came with a call, who that proves the caller to be, and which of it a route takes.

Laws
- Each credential that is sent must be valid, on every route (docs/rules.md#two-credentials): an
  invalid one is 401. So are two of one header: whose call it is would be somebody's guess.
- Of several valid ones the route's kind decides.
- A token of connect is no owner session, an owner session no token of connect, a key neither.
- A secret's prefix says what it is, so that one in the other's header, or with or without `Bearer`
  before it, counts as sent where it belongs. What belongs in no header is refused with its place.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from ipaddress import IPv6Address, IPv6Network, ip_address
from typing import NoReturn

from sqlalchemy.orm import Session

from api.kernel.auth import BY_KEY_OR_OWNER_UNLESS_PUBLIC, Credential
from api.kernel.caller import AgentCaller, BearerCaller, Caller, Nobody, OperatorCaller, OwnerCaller
from api.kernel.operation import Deps, Family, Operation, Refusal
from api.kernel.quota import Quota, ceilings
from api.kernel.streams import Reopens
from api.kernel.tokens import TokenKind, token_hash
from core.hexes import address_or_none
from core.identity import calls

KEY_HEADER = "X-SVC-User-Key"

_DEAD_SESSION = (
    "The bearer token is not valid or has expired; sign in again (/auth/wallet/nonce with "
    "purpose login, then /auth/owner/login) and send the new one. An operator's key goes into "
    f"{KEY_HEADER}, without Bearer."
)
_DEAD_KEY = (
    f"The key in {KEY_HEADER} is not valid; send a live one, or send the agent's recovery_code to "
    "/auth/agent/recover."
)
UNKNOWN = "unknown"
LONGEST = 64  # letters of an address with its zone; a longer text is none
_AROUND = " \t\"'"
_OTHER_SCHEME = (
    "Authorization takes only the scheme Bearer; send Authorization: Bearer <token>, or a key "
    f"in {KEY_HEADER}."
)
_RECOVERY_CODE = (
    "This is an agent's recovery code, which never goes into a header; send it as "
    "recovery_code in the body of POST /auth/agent/recover, which answers with a new key."
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """`key` and `bearer` as sent (None: not sent); `client` is the network address as limits count
    it.
    """

    key: str | None
    bearer: str | None
    client: str


def client_address(peer: str | None) -> str:
    """Which network address a call counts for (docs/rules.md#client-address): IPv4 in IPv6 is IPv4, and
    IPv6 counts by /64, since one subscriber has at least that. uvicorn has put the client in the place
    of a trusted proxy by then.
    """
    return UNKNOWN if peer is None or len(peer) > LONGEST else _counted(peer)


@lru_cache(maxsize=4_096)  # the same few call again and again
def _counted(peer: str) -> str:
    try:
        address = ip_address(peer)
    except ValueError:
        return UNKNOWN
    if not isinstance(address, IPv6Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(IPv6Network((int(address) >> 64 << 64, 64)))


def credentials_sent(
    keys: Sequence[str], authorizations: Sequence[str], client: str
) -> Credentials:
    """Of both headers' values. Another scheme than Bearer is a credential that was sent and proves
    nothing: it stays, and is refused as invalid.
    """
    as_key, as_bearer = list[str](), list[str]()
    for place, values in ((as_key, keys), (as_bearer, authorizations)):
        for value in values:
            token = _bare(value)
            belongs = as_key if token.startswith(TokenKind.AGENT_KEY) else place
            if token.startswith((TokenKind.OWNER_SESSION, TokenKind.AGENT_BEARER)):
                belongs = as_bearer
            belongs.append(token)
    return Credentials(one_of(as_key), one_of(as_bearer), client)


def _bare(value: str) -> str:
    """Without `Bearer`, which forms and clients write a second time, and quotes of a file of settings."""
    token = value.strip(_AROUND)
    for _ in range(2):
        scheme, _, rest = token.partition(" ")
        token = rest.strip(_AROUND) if scheme.lower() == "bearer" else token
    return token


def one_of(values: Sequence[str]) -> str | None:
    """A header's value, None if it was not sent; of several different ones their list (RFC 9110, 5.3),
    which no token and no key equals.
    """
    return ", ".join(dict.fromkeys(values)) if values else None


@dataclass(frozen=True, slots=True)
class Proven:
    """Who each credential belongs to."""

    by_key: AgentCaller | OperatorCaller | None
    by_bearer: OwnerCaller | BearerCaller | None


def prove_key(
    key: str, deps: Deps, now: datetime, *, opens_stream: bool
) -> tuple[AgentCaller | OperatorCaller, Quota]:
    """Whose key it is; the call is counted with it, and committed. Of opens of streams the first in an
    hour alone is counted (api.kernel.streams.Reopens). Errors: Refusal auth_invalid.
    """
    key_hash, reopens = token_hash(deps.pepper, key), deps.parts.of(Reopens)
    is_paid = opens_stream and reopens.take(key_hash, now)
    find = calls.find_call if is_paid else calls.count_call
    with deps.database.statements() as connection:
        found = find(connection, key_hash, now, ceilings(deps.limits))
    if found is None:
        is_code = key.startswith(TokenKind.RECOVERY_CODE)
        raise Refusal("auth_invalid", _RECOVERY_CODE if is_code else _DEAD_KEY)
    if opens_stream and not is_paid and found.number is not None:
        reopens.counted(key_hash, now)
    return _key_caller(found), Quota(found.ceiling, found.number, now)


def _key_caller(found: calls.KeyCall) -> AgentCaller | OperatorCaller:
    if found.kind == "operator":
        return OperatorCaller(account_id=found.account_id, key_id=found.key_id)
    return AgentCaller(
        account_id=found.account_id,
        key_id=found.key_id,
        name=found.name,
        owner_id=found.owner_id,
        wallet_address=address_or_none(found.wallet_address),
        came_from=found.came_from,
        scopes=None if found.scopes is None else tuple(found.scopes),
        per_order_usdc_e6=None if found.per_order is None else int(found.per_order),
        per_day_usdc_e6=None if found.per_day is None else int(found.per_day),
        generation=found.generation,
    )


def prove_bearer(
    session: Session, token: str, deps: Deps, now: datetime
) -> OwnerCaller | BearerCaller:
    """Whose session it is. Errors: Refusal auth_invalid."""
    found = calls.find_session(session, token_hash(deps.pepper, token), now)
    if found is None:
        raise _dead(token)
    row, account = found
    address = address_or_none(account.wallet_address)
    if row.kind == "owner":
        assert address is not None, "an owner's account is made from its wallet"
        return OwnerCaller(account_id=account.id, wallet_address=address, session_id=row.id)
    return BearerCaller(
        account_id=account.id,
        name=account.name,
        wallet_address=address,
        generation=account.generation,
    )


def _dead(token: str) -> Refusal:
    if token.startswith(TokenKind.RECOVERY_CODE):
        return Refusal("auth_invalid", _RECOVERY_CODE)
    if token.startswith(TokenKind.AGENT_BEARER):
        detail = (
            "The bearer token is not valid or has expired: the token of connect lasts at most "
            "24 hours and ends when the agent's secrets are replaced. /auth/agent/recover "
            "gives a new one, and so does the owner's /agents/{id}/keys/rotate."
        )
        return Refusal("auth_invalid", detail)
    scheme, blank, _ = token.partition(" ")
    is_other_scheme = blank and not scheme.endswith(",")  # which a list of two tokens has
    return Refusal("auth_invalid", _OTHER_SCHEME if is_other_scheme else _DEAD_SESSION)


def caller_for(operation: Operation, proven: Proven, operator_addresses: frozenset[str]) -> Caller:
    """The one caller that this operation sees.

    `operator_addresses` (lower case) are wallets whose sign-in makes an operator.

    Errors: Refusal auth_required, auth_invalid, scope_denied, not_authorized.
    """
    takes, operator = operation.auth.takes, _operator(proven, operator_addresses)
    if takes == {Credential.OPERATOR}:
        return operator or _no_operator(proven)
    if gives_keys(operation) and operator is not None:
        raise _operators_only("leave it out, or sign in with another wallet, to have an agent")
    if takes == {Credential.BEARER}:
        return _bearer(proven)
    if Credential.KEY in takes and isinstance(proven.by_key, AgentCaller):
        return proven.by_key
    if Credential.OPERATOR in takes and operator is not None:
        return operator
    is_operator = _is_operators(proven.by_bearer, operator_addresses)
    takes_session = Credential.SESSION in takes or (Credential.OWNER in takes and not is_operator)
    if takes_session and isinstance(proven.by_bearer, OwnerCaller):
        return proven.by_bearer
    if Credential.BEARER in takes and isinstance(proven.by_bearer, BearerCaller):
        return proven.by_bearer
    is_optional = operation.auth is not BY_KEY_OR_OWNER_UNLESS_PUBLIC
    if Credential.NOTHING in takes and (is_optional or proven == Proven(None, None)):
        return Nobody()
    if operation.auth.takes_owner and is_operator:
        raise _operators_only("sign in with another wallet to be an owner")
    raise _lacking(operation, proven)


def _operators_only(instead: str) -> Refusal:
    return Refusal("not_authorized", f"An operator can make only operators' calls; {instead}.")


def gives_keys(operation: Operation) -> bool:
    """Whether it makes its caller the holder of an agent, whoever that is."""
    return operation.secrets is not None and operation.auth.is_free


def _is_operators(
    session: OwnerCaller | BearerCaller | None, operator_addresses: frozenset[str]
) -> bool:
    """Whether it is of a wallet that makes an operator."""
    return isinstance(session, OwnerCaller) and session.wallet_address.lower() in operator_addresses


def _operator(proven: Proven, operator_addresses: frozenset[str]) -> OperatorCaller | None:
    if isinstance(proven.by_key, OperatorCaller):
        return proven.by_key
    session = proven.by_bearer
    if session is not None and _is_operators(session, operator_addresses):
        return OperatorCaller(account_id=session.account_id, key_id=None)
    return None


def _no_operator(proven: Proven) -> NoReturn:
    if proven == Proven(None, None):
        raise Refusal(
            "auth_required",
            f"Only the operator can make this call; send the operator's key in {KEY_HEADER}.",
            next_calls=(),
        )
    raise Refusal("not_authorized", "not authorized")


def _bearer(proven: Proven) -> BearerCaller:
    if isinstance(proven.by_bearer, BearerCaller):
        return proven.by_bearer
    if proven.by_bearer is not None:
        raise Refusal(
            "auth_invalid",
            "An owner's session is not an agent's token; send the bearer_token that "
            "/auth/agent/connect returned.",
        )
    raise Refusal(
        "auth_required",
        "Send the bearer_token that /auth/agent/connect returned: Authorization: Bearer <token>.",
    )


def _lacking(operation: Operation, proven: Proven) -> Refusal:
    takes = operation.auth.takes
    if takes == {Credential.KEY}:
        return Refusal(
            "auth_required",
            f"Only the agent can make this call; send the agent's key in {KEY_HEADER}.",
        )
    if isinstance(proven.by_bearer, BearerCaller):
        return Refusal(
            "auth_invalid",
            "An agent's bearer token is not an owner's session; sign in with /auth/owner/login.",
        )
    if takes >= {Credential.KEY, Credential.OWNER}:
        return Refusal(
            "auth_required",
            f"Send an agent's key in {KEY_HEADER}, or an owner's session: Authorization: "
            "Bearer <token>.",
        )
    if proven.by_key is not None and operation.family is Family.WALLET:
        return Refusal(
            "scope_denied",
            "Only the owner's signed session may do this; an agent's key cannot.",
            missing="owner session",
        )
    detail = (
        "Only the owner can make this call; sign in with /auth/owner/login and send "
        "Authorization: Bearer <token>."
    )
    return Refusal("auth_required", detail, next_calls=())  # a new agent's key would not help

"""Who may make a call: the set of credentials that an operation takes, with the kind of caller that
each proves.

Handlers name the caller that they serve, and an operation's `auth` is generic over it: mypy refuses
a handler of another one. What a set means is read in three places alone: the caller of a call
(api.kernel.credentials.caller_for), the refusals that follow (api.kernel.reasons) and OpenAPI
(`security`).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, TypeVar

from api.kernel.caller import AgentCaller, BearerCaller, Caller, Nobody, OperatorCaller, OwnerCaller

CallerT = TypeVar("CallerT", bound=Caller, covariant=True)


class Credential(Enum):
    """One way to prove who calls. Others that are sent must still be valid (docs/identity.md)."""

    NOTHING = auto()
    KEY = auto()  # X-SVC-User-Key of an agent
    OWNER = auto()  # Authorization: Bearer, the session of a wallet that makes no operator
    SESSION = auto()  # Authorization: Bearer, any wallet's session
    BEARER = auto()  # Authorization: Bearer, the token that connect returned
    OPERATOR = auto()  # an operator's key, or the session of a wallet that makes an operator


@dataclass(frozen=True, slots=True)
class Auth(Generic[CallerT]):
    """`name`: as clients read it in the catalogue and in OpenAPI."""

    name: str
    takes: frozenset[Credential]

    def __str__(self) -> str:
        return self.name

    @property
    def is_free(self) -> bool:
        """Whether nothing need be sent."""
        return Credential.NOTHING in self.takes

    @property
    def takes_owner(self) -> bool:
        return not self.takes.isdisjoint({Credential.OWNER, Credential.SESSION})

    @property
    def security(self) -> list[dict[str, list[str]]]:
        """As OpenAPI has it: alternatives, `{}` for none of them."""
        if self.takes == {Credential.NOTHING}:
            return []
        schemes = [
            scheme
            for credential in Credential
            if credential in self.takes
            for scheme in SCHEMES[credential]
        ]
        return [{} if scheme is None else {scheme: []} for scheme in dict.fromkeys(schemes)]


SCHEMES: Mapping[Credential, tuple[str | None, ...]] = {
    Credential.NOTHING: (None,),
    Credential.KEY: ("AgentKey",),
    Credential.OWNER: ("OwnerSession",),
    Credential.SESSION: ("OwnerSession",),
    Credential.BEARER: ("AgentBearer",),
    Credential.OPERATOR: ("AgentKey", "OwnerSession"),
}

ANYBODY: Auth[Nobody] = Auth("none", frozenset({Credential.NOTHING}))
BY_KEY: Auth[AgentCaller] = Auth("key", frozenset({Credential.KEY}))
BY_OWNER: Auth[OwnerCaller] = Auth("owner", frozenset({Credential.OWNER}))
BY_SESSION: Auth[OwnerCaller] = Auth("owner", frozenset({Credential.SESSION}))
BY_BEARER: Auth[BearerCaller] = Auth("bearer", frozenset({Credential.BEARER}))
BY_OPERATOR: Auth[OperatorCaller] = Auth("operator", frozenset({Credential.OPERATOR}))
BY_KEY_OR_OWNER: Auth[AgentCaller | OwnerCaller] = Auth(
    "key or owner", frozenset({Credential.KEY, Credential.OWNER})
)
BY_KEY_OWNER_OR_BEARER: Auth[AgentCaller | OwnerCaller | BearerCaller] = Auth(
    "key, owner or bearer", frozenset({Credential.KEY, Credential.OWNER, Credential.BEARER})
)
ANY_CREDENTIAL: Auth[AgentCaller | OwnerCaller | BearerCaller | OperatorCaller] = Auth(
    "key, owner, bearer or operator",
    frozenset({Credential.KEY, Credential.OWNER, Credential.BEARER, Credential.OPERATOR}),
)
ANYBODY_OR_OWNER: Auth[Nobody | OwnerCaller] = Auth(
    "none or owner", frozenset({Credential.NOTHING, Credential.OWNER})
)
ANYBODY_OR_KEY_OR_OWNER: Auth[Nobody | AgentCaller | OwnerCaller] = Auth(
    "optional", frozenset({Credential.NOTHING, Credential.KEY, Credential.OWNER})
)
# some of its things anybody may read; of others a key or an owner
BY_KEY_OR_OWNER_UNLESS_PUBLIC: Auth[Nobody | AgentCaller | OwnerCaller] = Auth(
    BY_KEY_OR_OWNER.name, ANYBODY_OR_KEY_OR_OWNER.takes
)
ANYBODY_OR_ACCOUNT: Auth[Nobody | AgentCaller | OwnerCaller | BearerCaller] = Auth(
    "none, key, owner or bearer",
    frozenset({Credential.NOTHING, Credential.KEY, Credential.OWNER, Credential.BEARER}),
)
EVERY: tuple[Auth[Caller], ...] = (
    ANYBODY,
    BY_KEY,
    BY_OWNER,
    BY_BEARER,
    BY_OPERATOR,
    BY_KEY_OR_OWNER,
    BY_KEY_OWNER_OR_BEARER,
    ANY_CREDENTIAL,
    ANYBODY_OR_OWNER,
    ANYBODY_OR_KEY_OR_OWNER,
    ANYBODY_OR_ACCOUNT,
)

"""Which caller a route sees, given what the credentials proved."""

from dataclasses import replace

import pytest

from api.catalogue import catalogue
from api.kernel.auth import (
    ANYBODY,
    ANYBODY_OR_ACCOUNT,
    ANYBODY_OR_KEY_OR_OWNER,
    ANYBODY_OR_OWNER,
    BY_BEARER,
    BY_KEY,
    BY_KEY_OR_OWNER,
    BY_KEY_OWNER_OR_BEARER,
    BY_OPERATOR,
    BY_OWNER,
    BY_SESSION,
    Auth,
)
from api.kernel.caller import AgentCaller, BearerCaller, Caller, Nobody, OperatorCaller, OwnerCaller
from api.kernel.credentials import Credentials, Proven, caller_for, credentials_sent
from api.kernel.operation import Family, Operation, Refusal
from api.kernel.scopes import require_scope
from tests.each import each

WALLET = "0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A"
AGENT = AgentCaller(
    account_id=1001,
    key_id=1,
    name="a",
    owner_id=None,
    wallet_address=None,
    came_from=None,
    scopes=None,
)
OWNER = OwnerCaller(account_id=1002, wallet_address=WALLET, session_id=1)
BEARER = BearerCaller(account_id=1001, name="a", wallet_address=None)
OPERATOR = OperatorCaller(account_id=1003, key_id=2)


def operation(
    auth: Auth[Caller], family: Family = Family.WALLET, scope: str | None = None
) -> Operation:
    return replace(
        catalogue().by_key["discovery.live"], key="x.y", auth=auth, family=family, scope=scope
    )


def proven(*callers: Caller) -> Proven:
    by_key = next((one for one in callers if isinstance(one, AgentCaller | OperatorCaller)), None)
    by_bearer = next((one for one in callers if isinstance(one, OwnerCaller | BearerCaller)), None)
    return Proven(by_key, by_bearer)


@each(
    ("auth", "sent", "seen"),
    [
        (ANYBODY, (AGENT, OWNER), Nobody()),
        (BY_KEY, (AGENT, OWNER), AGENT),
        (BY_OWNER, (AGENT, OWNER), OWNER),
        (BY_BEARER, (AGENT, BEARER), BEARER),
        (BY_KEY_OR_OWNER, (AGENT, OWNER), AGENT),
        (BY_KEY_OR_OWNER, (OWNER,), OWNER),
        (BY_KEY_OWNER_OR_BEARER, (AGENT, OWNER), AGENT),
        (BY_KEY_OWNER_OR_BEARER, (OWNER,), OWNER),
        (BY_KEY_OWNER_OR_BEARER, (BEARER,), BEARER),
        (ANYBODY_OR_OWNER, (AGENT,), Nobody()),
        (ANYBODY_OR_OWNER, (OWNER,), OWNER),
        (ANYBODY_OR_KEY_OR_OWNER, (), Nobody()),
        (ANYBODY_OR_KEY_OR_OWNER, (AGENT,), AGENT),
        (ANYBODY_OR_ACCOUNT, (), Nobody()),
        (ANYBODY_OR_ACCOUNT, (BEARER,), BEARER),
        (BY_OPERATOR, (OPERATOR,), OPERATOR),
        (BY_OPERATOR, (OWNER,), OperatorCaller(account_id=1002, key_id=None)),
    ],
)
def test_of_several_credentials__the_routes_kind_decides(
    auth: Auth[Caller], sent: tuple[Caller, ...], seen: Caller
) -> None:
    operators = frozenset({WALLET.lower()}) if auth is BY_OPERATOR else frozenset[str]()
    assert caller_for(operation(auth), proven(*sent), operators) == seen


@each("auth", [BY_OWNER, BY_KEY_OR_OWNER, BY_KEY_OWNER_OR_BEARER])
def test_an_operators_session__is_no_owners(auth: Auth[Caller]) -> None:
    with pytest.raises(Refusal) as refused:
        caller_for(operation(auth), proven(OWNER), frozenset({WALLET.lower()}))
    assert refused.value.reason == "not_authorized"


@each("auth", [ANYBODY, ANYBODY_OR_OWNER, ANYBODY_OR_KEY_OR_OWNER])
def test_an_operators_session__is_nobodys_where_nobody_may_call(auth: Auth[Caller]) -> None:
    assert caller_for(operation(auth), proven(OWNER), frozenset({WALLET.lower()})) == Nobody()


def test_an_operators_session__may_end_itself() -> None:
    assert caller_for(operation(BY_SESSION), proven(OWNER), frozenset({WALLET.lower()})) == OWNER


@each(
    ("auth", "family", "sent", "reason"),
    [
        (BY_KEY, Family.WALLET, (), "auth_required"),
        (BY_KEY, Family.WALLET, (OWNER,), "auth_required"),
        (BY_KEY, Family.WALLET, (OPERATOR,), "auth_required"),
        (BY_OWNER, Family.WALLET, (AGENT,), "scope_denied"),
        (BY_OWNER, Family.CORE, (AGENT,), "auth_required"),
        (BY_OWNER, Family.WALLET, (BEARER,), "auth_invalid"),
        (BY_BEARER, Family.CORE, (OWNER,), "auth_invalid"),
        (BY_BEARER, Family.CORE, (AGENT,), "auth_required"),
        (BY_KEY_OWNER_OR_BEARER, Family.CORE, (), "auth_required"),
        (BY_KEY_OWNER_OR_BEARER, Family.CORE, (OPERATOR,), "auth_required"),
        (BY_OPERATOR, Family.CORE, (), "auth_required"),
        (BY_OPERATOR, Family.CORE, (BEARER,), "not_authorized"),
        (BY_OPERATOR, Family.CORE, (AGENT,), "not_authorized"),
        (BY_OPERATOR, Family.CORE, (OWNER,), "not_authorized"),
    ],
)
def test_without_the_routes_kind_of_credential__the_call_is_refused(
    auth: Auth[Caller], family: Family, sent: tuple[Caller, ...], reason: str
) -> None:
    with pytest.raises(Refusal) as refused:
        caller_for(operation(auth, family), proven(*sent), frozenset())
    assert refused.value.reason == reason


def narrowed(*scopes: str) -> AgentCaller:
    return AgentCaller(
        account_id=1001,
        key_id=1,
        name="a",
        owner_id=None,
        wallet_address=None,
        came_from=None,
        scopes=scopes,
    )


@each("caller", [AGENT, narrowed("tx"), OWNER])
def test_a_scope__full_access_the_scope_itself_or_an_owner__passes(caller: Caller) -> None:
    require_scope(operation(BY_KEY_OR_OWNER, scope="tx"), caller)


@each(("family", "reason"), [(Family.WALLET, "scope_denied"), (Family.CORE, "agent_key_scope")])
@each("caller", [narrowed(), narrowed("read")])
def test_a_scope_that_the_key_lacks__is_refused_under_the_familys_name(
    family: Family, reason: str, caller: AgentCaller
) -> None:
    with pytest.raises(Refusal) as refused:
        require_scope(operation(BY_KEY, family, scope="tx"), caller)
    assert (refused.value.reason, refused.value.missing) == (reason, "tx")
    assert refused.value.extra == (
        {"error": "agent_key_scope", "scope": "tx"} if family is Family.CORE else {}
    )


@each(
    ("keys", "authorizations", "key", "bearer"),
    [
        (["svc_key_a"], [], "svc_key_a", None),
        ([], ["Bearer svc_key_a"], "svc_key_a", None),
        ([], ["svc_key_a"], "svc_key_a", None),
        (["Bearer svc_key_a"], [], "svc_key_a", None),
        (["bearer  svc_key_a "], ["BEARER svc_key_a"], "svc_key_a", None),
        (["svc_own_a"], [], None, "svc_own_a"),
        (["Bearer svc_agt_a"], [], None, "svc_agt_a"),
        ([], ["svc_own_a"], None, "svc_own_a"),
        (["svc_own_a"], ["Bearer svc_key_a"], "svc_key_a", "svc_own_a"),
        (["svc_key_a"], ["Bearer svc_own_a"], "svc_key_a", "svc_own_a"),
        (["Bearer operators-key"], [], "operators-key", None),
        ([], ["Bearer operators-key"], None, "operators-key"),
        ([], ["Basic svc_key_a"], None, "Basic svc_key_a"),
        ([], ["Bearer Bearer svc_key_a"], "svc_key_a", None),
        (['"svc_key_a"'], ["Bearer 'svc_own_a'"], "svc_key_a", "svc_own_a"),
        (['"Bearer svc_key_a"'], [], "svc_key_a", None),
        ([], ["Bearer"], None, ""),
    ],
)
def test_a_secret__counts_as_sent_where_its_prefix_belongs(
    keys: list[str], authorizations: list[str], key: str | None, bearer: str | None
) -> None:
    """`Bearer svc_key_..` was a session that had expired, and `Bearer` before a key made it invalid."""
    assert credentials_sent(keys, authorizations, "c") == Credentials(key, bearer, "c")


def test_two_keys_in_two_headers__are_none() -> None:
    """Whose call it is would be a guess: no key equals their list."""
    sent = credentials_sent(["svc_key_a"], ["Bearer svc_key_b"], "c")
    assert sent == Credentials("svc_key_a, svc_key_b", None, "c")

"""Each reason of the document's section 7: how it comes about, by HTTP and as a tool's call, and
what its caller is told.

The table is the document's; who_fixes, which it names and does not fill in, follows from its
sentences: who holds what has to change. Contract reasons stand in test_s7_contract_reasons.py.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from api.catalogue import catalogue
from api.kernel.operation import Deps
from api.kernel.reasons import reasons_of
from api.kernel.tool import Profile
from api.main import routed
from core.db import migrate
from core.db.embedded import EmbeddedPostgres
from tests.integration.api.document import provocations as p
from tests.integration.api.document.refusal_cases import (
    DOORS,
    WALLET,
    Attempt,
    Scene,
    Told,
    admit,
    by_http,
    set_up,
)
from tests.integration.api.mandates.stage import DRAFT, Stage

# reason -> status, retry_safe, who_fixes
DOCUMENT: Mapping[str, tuple[int, bool, str]] = {
    "auth_required": (401, False, "caller"),
    "auth_invalid": (401, False, "caller"),
    "scope_denied": (403, False, "owner"),
    "spend_limit_reached": (403, True, "owner"),
    "not_owner": (403, False, "owner"),
    "not_found": (404, False, "caller"),
    "wrong_status": (409, False, "caller"),
    "invalid_parameter": (400, False, "caller"),
    "invalid_number": (400, False, "caller"),
    "agent_not_designated": (409, False, "owner"),
    "agent_not_accepting": (409, False, "owner"),
    "agent_owner_mismatch": (403, False, "owner"),
    "insufficient_idle": (409, False, "agent"),
    "mandate_budget_exceeded": (402, True, "owner"),
    "signature_invalid": (400, False, "caller"),
    "idempotency_key_reused": (409, False, "caller"),
    "idempotency_in_flight": (409, True, "caller"),
    "rate_limited": (429, True, "caller"),
    "temporarily_unavailable": (503, True, "service"),
    "schema_not_applied": (503, True, "service"),
}

# Only the owner's wallet signs, and no tool takes a signature (docs/rules.md#who-signs-and-sends):
# a call of a tool has none to be wrong.
NOT_BY_TOOL = {"signature_invalid"}

CATALOGUE = ("GET /agent/catalog", 200)
CONNECT = ("POST /auth/agent/connect", 200)
READ = ("GET /mandate-wallet/mandates/{id}", 200)
MIDNIGHT = "2026-11-22T00:00:00Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`shown`: further fields of the block, exactly.

    `next`: method and path -> the status of making the call as written.

    `later`: makes time pass or the world change, after which the same call succeeds.
    """

    provoke: Callable[[Scene], Attempt]
    shown: Mapping[str, Any] = field(default_factory=dict)
    next: tuple[tuple[str, int], ...] = (CATALOGUE,)
    later: Callable[[Scene], None] | None = None


@pytest.fixture
def scene(
    stage: Stage, deps: Deps, postgres: EmbeddedPostgres, database_url: str
) -> Iterator[Scene]:
    with set_up(stage, deps, postgres, database_url) as ready:
        yield ready


CASES: Mapping[str, Case] = {
    "auth_required": Case(provoke=p.without_a_key, next=(CONNECT, CATALOGUE)),
    "auth_invalid": Case(provoke=p.with_an_unknown_key, next=(CONNECT, CATALOGUE)),
    "scope_denied": Case(provoke=p.outside_its_scopes, shown={"missing": "tx"},
    next=(("GET /agent/scopes", 200), CATALOGUE)),
    "spend_limit_reached": Case(
        provoke=p.above_the_keys_day,
        shown={"remaining": {"per_day_usd": "25.000000"}, "retry_at": MIDNIGHT},
        next=(("GET /agent/scopes", 200), CATALOGUE),
        later=p.at_midnight,
    ),
    "not_owner": Case(provoke=p.of_anothers_agent),
    "not_found": Case(provoke=p.of_an_unknown_mandate, next=(("GET /mandate-wallet/mandates", 200),
    CATALOGUE)),
    "wrong_status": Case(provoke=p.of_a_draft, next=(READ, CATALOGUE)),
    "invalid_parameter": Case(provoke=p.beyond_the_longest_page),
    "invalid_number": Case(provoke=p.with_seven_decimals),
    "agent_not_designated": Case(
        provoke=p.of_a_mandate_that_names_another,
            next=(("GET /mandate-wallet/agents/{agent}/offers", 200), CATALOGUE)
    ),
    "agent_not_accepting": Case(
        provoke=p.with_a_policy_that_says_no, next=(("PUT /mandate-wallet/agents/{agent}/policy",
            200), CATALOGUE)
    ),
    "agent_owner_mismatch": Case(provoke=p.of_an_agent_without_an_owner,
    next=(("GET /mandate-wallet/board", 200), CATALOGUE)),
    "insufficient_idle": Case(
        provoke=p.of_more_than_is_idle,
        shown={"remaining": "0.000000"},
        next=(("GET /mandate-wallet/agents/{agent}/policy", 200), CATALOGUE),
    ),
    "mandate_budget_exceeded": Case(
        provoke=p.above_the_mandates_cash,
        shown={"remaining": {"left_total": "600.000000"}},
        next=(READ, CATALOGUE),
        later=p.once_money_came_back,
    ),
    "signature_invalid": Case(
        provoke=p.signed_by_another_wallet, next=(("GET /mandate-wallet/mandates/{id}/terms", 200),
            CATALOGUE)
    ),
    "idempotency_key_reused": Case(provoke=p.with_a_used_key),
    "idempotency_in_flight": Case(provoke=p.while_the_first_is_served,
    later=p.once_the_first_is_served),
    "rate_limited": Case(
        provoke=p.above_the_days_calls, shown={"remaining": {"calls_today": 0},
            "retry_at": MIDNIGHT}, later=p.at_midnight
    ),
    # Readiness says 503 with the part that is down; that is its answer, not a refusal.
    "temporarily_unavailable": Case(
        provoke=p.without_a_database, next=(("GET /health/ready", 503), CATALOGUE),
            later=lambda scene: admit(scene, is_admitting=True)
    ),
    "schema_not_applied": Case(
        provoke=p.without_migrations,
        next=(("GET /health/ready", 503), CATALOGUE),
        later=lambda scene: migrate.upgrade(scene.database_url),
    ),
}  # fmt: skip

BY_DOOR = [
    pytest.param(door, reason, marks=[pytest.mark.slow] if door == "tool" else [])
    for door in DOORS
    for reason in CASES
    if (door, reason) not in {("tool", one) for one in NOT_BY_TOOL}
]


def block_of(told: Told, reason: str) -> dict[str, Any]:
    """The block without its next calls, once it says what the document's table says."""
    status, retry_safe, who_fixes = DOCUMENT[reason]
    block = dict(told.body["service"])
    standing = {
        name: block.pop(name) for name in ("reason", "error", "retry_safe", "who_fixes", "next")
    }
    assert told.status == status, told.body
    standing.pop("next")
    assert standing == {
        "reason": reason,
        "error": reason,
        "retry_safe": retry_safe,
        "who_fixes": who_fixes,
    }
    assert isinstance(told.body["detail"], str) and told.body["detail"]
    return block


def followed(scene: Scene, attempt: Attempt, told: Told) -> list[tuple[str, int]]:
    """Method and path of each next call, and the status of making it."""
    items = told.body["service"]["next"]
    return [(f"{item['method']} {item['path']}", scene.follow(attempt, item)) for item in items]


@pytest.mark.row(
    "7 auth_required", "7 auth_invalid", "7 scope_denied", "7 spend_limit_reached", "7 not_owner",
    "7 not_found", "7 wrong_status",
    "7 invalid_parameter", "7 invalid_number", "7 agent_not_designated", "7 agent_not_accepting",
    "7 agent_owner_mismatch",
    "7 insufficient_idle", "7 mandate_budget_exceeded", "7 signature_invalid",
    "7 idempotency_key_reused", "7 idempotency_in_flight",
    "7 rate_limited", "7 temporarily_unavailable", "7 schema_not_applied",
    "7 every refusal body has the object service with reason, error, retry_safe, who_fixes "
    "and next",
    "7 next calls are executable as written", "7 remaining where it applies",
    "7 retry_at where it applies",
    "7 retry_safe true means the same request can succeed later unchanged",
    "7 a refusal with rate_limited carries retry_at",
    "7 approval_url is left out while the approval link is not live",
)  # fmt: skip
@pytest.mark.parametrize(("door", "reason"), BY_DOOR)
def test_a_reason__says_what_the_document_says_and_leads_on(
    scene: Scene, door: str, reason: str
) -> None:
    case = CASES[reason]
    attempt = case.provoke(scene)
    told = DOORS[door](scene.client, attempt)
    assert block_of(told, reason) == dict(case.shown)
    assert followed(scene, attempt, told) == [
        (attempt.filled(call), status) for call, status in case.next
    ]
    assert (case.later is not None) is DOCUMENT[reason][1]
    if case.later is not None:
        case.later(scene)
        assert DOORS[door](scene.client, attempt).status == 200


def test_the_cases__are_the_documents_reasons() -> None:
    assert list(CASES) == list(DOCUMENT)


def test_the_reasons_that_no_tool_meets__are_those_that_no_tool_declares() -> None:
    tools = {row.key for row in catalogue().tools(Profile.FULL).values()}
    met = {
        reason
        for operation in routed(catalogue())
        if operation.key in tools
        for reason in reasons_of(operation, catalogue())
    }
    assert set(DOCUMENT) - met == NOT_BY_TOOL


# Other ways to the same reasons


@pytest.mark.parametrize("door", DOORS)
def test_a_chain_that_does_not_answer__is_temporarily_unavailable(scene: Scene, door: str) -> None:
    attempt = p.without_a_chain(scene)
    assert block_of(DOORS[door](scene.client, attempt), "temporarily_unavailable") == {}
    scene.stage.chain.is_down = False
    assert DOORS[door](scene.client, attempt).status == 201


def test_a_key_above_its_order_limit__has_no_time_to_wait_for(scene: Scene) -> None:
    attempt = p.building(scene, scene.stage.working(), "50.000001")
    p.set_scopes(scene, per_order_usd="50")
    told = by_http(scene.client, attempt)
    assert block_of(told, "spend_limit_reached") == {"remaining": {"per_order_usd": "50.000000"}}


def test_an_owner_that_designates_anothers_agent__is_led_to_the_owners_own(scene: Scene) -> None:
    other_id, _ = scene.stage.new_agent(scene.stage.new_owner())
    fields = {
        "purpose": "Buy units.",
        "budget_usdc": "1000",
        "horizon_days": 30,
        "stop_floor_bps": 500,
        "agent_id": other_id,
    }
    attempt = Attempt(
        method="POST", path=f"{WALLET}/mandates", who=scene.stage.owner, fields=fields
    )
    told = by_http(scene.client, attempt)
    assert block_of(told, "agent_owner_mismatch") == {}
    assert followed(scene, attempt, told) == [("GET /agents/mine", 200), CATALOGUE]


@pytest.mark.parametrize("door", DOORS)
def test_a_stranger_that_accepts_too_early__is_led_to_its_own_offers(
    scene: Scene, door: str
) -> None:
    """It was led to the mandate, which it may not read: the call as written answered 404."""
    other_id, other = scene.stage.new_agent()
    attempt = p.accepting(scene, scene.stage.draft(), other)
    told = DOORS[door](scene.client, attempt)
    assert block_of(told, "wrong_status") == {}
    assert followed(scene, attempt, told) == [
        (f"GET /mandate-wallet/agents/{other_id}/offers", 200),
        CATALOGUE,
    ]


def test_a_policy_that_says_no__says_yes_by_the_next_call_and_keeps_its_limits(
    scene: Scene,
) -> None:
    """The call as written once replaced the whole policy by its yes, and the owner's caps were
    gone.
    """
    people = scene.stage
    attempt = p.with_a_policy_that_says_no(scene)
    policy = {
        "accepts_mandates": False,
        "total_cap_usdc": "250.000000",
        "hold_ratio": "0.250000",
        "assets": ["USDC"],
        "slippage_bps": 30,
    }
    assert (
        people.call("PUT", f"/agents/{people.agent_id}/policy", people.owner, policy).status_code
        == 200
    )
    told = by_http(scene.client, attempt)
    assert block_of(told, "agent_not_accepting") == {}
    before = people.get(f"/agents/{people.agent_id}/policy", people.owner)
    assert followed(scene, attempt, told)[0] == (
        f"PUT /mandate-wallet/agents/{people.agent_id}/policy",
        200,
    )
    after = people.get(f"/agents/{people.agent_id}/policy", people.owner)
    before.pop("policy_changelog")
    assert after.pop("policy_changelog")[0]["changes"] == {
        "accepts_mandates": {"from": False, "to": True}
    }
    assert after == before | {"accepts_mandates": True}
    assert by_http(scene.client, attempt).status == 200


def test_an_owners_call_without_a_session__leads_to_no_agents_key(scene: Scene) -> None:
    attempt = Attempt(method="GET", path=f"{WALLET}/me/statement")
    told = by_http(scene.client, attempt)
    assert block_of(told, "auth_required") == {}
    assert followed(scene, attempt, told) == [CATALOGUE]
    assert "/auth/owner/login" in told.body["detail"]


def test_a_stopped_database__is_temporarily_unavailable_whoever_calls_and_whatever(
    scene: Scene,
) -> None:
    """A call with a key took another way to the database, and was answered 500."""
    people = scene.stage
    nonce = {"wallet_address": people.owner_wallet.address, "purpose": "login"}
    calls = (
        Attempt(method="GET", path=f"{WALLET}/board"),
        Attempt(method="GET", path=f"{WALLET}/me/statement", who=people.owner),
        Attempt(method="POST", path=f"{WALLET}/mandates", who=people.owner, fields=DRAFT),
        Attempt(method="GET", path="/agent/scopes", who=people.agent),
        Attempt(method="POST", path="/auth/wallet/nonce", fields=nonce),
    )
    admit(scene, is_admitting=False)
    for attempt in calls:
        assert block_of(by_http(scene.client, attempt), "temporarily_unavailable") == {}
    assert by_http(scene.client, Attempt(method="GET", path="/health/live")).status == 200
    admit(scene, is_admitting=True)
    assert [by_http(scene.client, attempt).status for attempt in calls] == [200, 200, 201, 200, 200]

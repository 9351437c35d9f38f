"""Each reason of the document's section 7: how it comes about, by HTTP and as a tool's call, and what its caller is told.

The table is the document's; who_fixes, which it names and does not fill in, follows from its sentences: who holds what has to
change. Contract reasons stand in test_s7_contract_reasons.py.
"""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from eth_account import Account
from psycopg import sql
from sqlalchemy import make_url
from starlette.testclient import TestClient

from api.catalog import Profile, rows_by_tool
from api.kernel.metrics import Metrics
from api.kernel.operation import Deps
from api.kernel.reasons import reasons_of
from api.main import OPERATIONS, create_app
from core.db import migrate
from core.db.embedded import EmbeddedPostgres
from core.db.engine import Database
from tests.integration.api import probe
from tests.integration.api.conftest import BASE_URL, KEY
from tests.integration.api.document.refusal_cases import (
    DOORS,
    WAIT_S,
    WALLET,
    Attempt,
    Scene,
    Told,
    administration,
    admit,
    by_http,
    plain,
    use_up_calls,
    wait_for_a_blocked_call,
)
from tests.integration.api.mandates.conftest import chain, deps, stage  # noqa: F401 (fixtures)
from tests.integration.api.mandates.stage import ADAPTER, USDC, Stage
from tests.integration.api.probe import Gate

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

# Only the owner's wallet signs, and no tool takes a signature (wallet spec 2, 5.5): a call of a tool has none to be wrong.
NOT_BY_TOOL = {"signature_invalid"}

NOWHERE = "m_aaaaaaaaaa"
TX = "0x" + "ab" * 32
CATALOGUE = ("GET /agent/catalog", 200)
CONNECT = ("POST /auth/agent/connect", 200)
READ = ("GET /mandate-wallet/mandates/{id}", 200)
BUY = {"target": ADAPTER, "function": "buy(uint256)", "args": ["1"]}
MIDNIGHT = "2026-11-22T00:00:00Z"

Provoke = Callable[[Scene], Attempt]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`shown`: further fields of the block, exactly. `next`: method and path -> the status of making the call as written.

    `later`: makes time pass or the world change, after which the same call succeeds.
    """

    provoke: Provoke
    shown: Mapping[str, Any] = field(default_factory=dict)
    next: tuple[tuple[str, int], ...] = (CATALOGUE,)
    later: Callable[[Scene], None] | None = None


@pytest.fixture
def scene(stage: Stage, deps: Deps, postgres: EmbeddedPostgres, database_url: str) -> Iterator[Scene]:  # noqa: F811
    with ExitStack() as ends:
        yield Scene(stage, deps, postgres, database_url, stage.client, ends)


# Who calls


def without_a_key(scene: Scene) -> Attempt:
    return Attempt(method="GET", path=f"{WALLET}/mandates/{{id}}", ids={"id": NOWHERE}, tool="mandate_get")


def with_an_unknown_key(scene: Scene) -> Attempt:
    return replace(without_a_key(scene), who={KEY: "svc_key_x"})


def outside_its_scopes(scene: Scene) -> Attempt:
    mandate_id = scene.stage.signed()
    set_scopes(scene, scopes=["read"])
    return accepting(scene, mandate_id, scene.stage.agent)


def set_scopes(scene: Scene, **scopes: Any) -> None:
    answer = scene.client.put(f"/agents/{scene.stage.agent_id}/scopes", json={"scopes": None} | scopes, headers=scene.stage.owner)
    assert answer.status_code == 200, answer.text


def above_the_keys_day(scene: Scene) -> Attempt:
    mandate_id = scene.stage.working()
    set_scopes(scene, per_day_usd="100")
    scene.stage.executed(mandate_id, 75 * USDC)
    return building(scene, mandate_id, "25.000001")


def of_anothers_agent(scene: Scene) -> Attempt:
    other, _ = scene.stage.new_agent()
    return Attempt(method="GET", path=f"{WALLET}/agents/{{id}}/policy", who=scene.stage.agent, ids={"id": other}, tool="agent_policy_get")


def above_the_days_calls(scene: Scene) -> Attempt:
    listing = Attempt(method="GET", path=f"{WALLET}/mandates", who=scene.stage.agent, tool="mandate_list")
    use_up_calls(scene, listing, 2_000)
    return listing


# What is called


def of_an_unknown_mandate(scene: Scene) -> Attempt:
    return replace(without_a_key(scene), who=scene.stage.agent)


def reporting(scene: Scene, mandate_id: str, **fields: Any) -> Attempt:
    path = f"{WALLET}/mandates/{{id}}/events"
    return Attempt(method="POST", path=path, who=scene.stage.agent, ids={"id": mandate_id}, fields=fields, tool="mandate_report_event")


def of_a_draft(scene: Scene) -> Attempt:
    return reporting(scene, scene.stage.draft(), kind="note", why="Too early.")


def beyond_the_longest_page(scene: Scene) -> Attempt:
    return Attempt(method="GET", path=f"{WALLET}/mandates", who=scene.stage.agent, fields={"limit": 201}, tool="mandate_list")


def with_seven_decimals(scene: Scene) -> Attempt:
    return reporting(scene, scene.stage.working(), kind="fee", amount_usdc="0.0000001")


def accepting(scene: Scene, mandate_id: str, who: dict[str, str], **names: str) -> Attempt:
    path = f"{WALLET}/mandates/{{id}}/accept"
    return Attempt(method="POST", path=path, who=who, ids={"id": mandate_id}, tool="mandate_accept", names=names)


def of_a_mandate_that_names_another(scene: Scene) -> Attempt:
    other_id, other = scene.stage.new_agent(scene.stage.owner)
    return accepting(scene, scene.stage.signed(), other, agent=other_id)


def with_a_policy_that_says_no(scene: Scene) -> Attempt:
    mandate_id = scene.stage.signed()
    scene.stage.accept_mandates(scene.stage.agent_id, accepts=False)
    return accepting(scene, mandate_id, scene.stage.agent, agent=scene.stage.agent_id)


def of_an_agent_without_an_owner(scene: Scene) -> Attempt:
    agent_id, agent = scene.stage.new_agent()
    goal = {"budget_usdc": "1000", "horizon_days": 30, "stop_floor_bps": 500}
    fields = {"agent_id": agent_id, "title": "Buy units.", "goal": goal}
    return Attempt(method="POST", path=f"{WALLET}/proposals", who=agent, fields=fields, tool="mandate_propose")


def of_more_than_is_idle(scene: Scene) -> Attempt:
    fields = {"chain_id": 84532, "asset": "USDC", "amount": "0.000001", "tx_hash": TX, "direction": "out"}
    names = {"agent": scene.stage.agent_id}
    return Attempt(
        method="POST", path=f"{WALLET}/transfers/report", who=scene.stage.agent, fields=fields, tool="transfer_report", names=names
    )


def building(scene: Scene, mandate_id: str, amount: str) -> Attempt:
    path = f"{WALLET}/mandates/{{id}}/execute-call"
    fields = {**BUY, "amount_usdc": amount}
    return Attempt(method="POST", path=path, who=scene.stage.agent, ids={"id": mandate_id}, fields=fields, tool="mandate_execute_call")


def above_the_mandates_cash(scene: Scene) -> Attempt:
    mandate_id = scene.stage.working(per_tx_cap_usdc=None, daily_cap_usdc=None)
    scene.stage.executed(mandate_id, 400 * USDC)
    return building(scene, mandate_id, "600.000001")


def signed_by_another_wallet(scene: Scene) -> Attempt:
    mandate_id = scene.stage.draft()
    signature = scene.stage.sign_terms(mandate_id, Account.create())
    path = f"{WALLET}/mandates/{{id}}/sign"
    return Attempt(method="POST", path=path, who=scene.stage.owner, ids={"id": mandate_id}, fields={"signature": signature})


# What is sent twice


def with_a_used_key(scene: Scene) -> Attempt:
    first = replace(reporting(scene, scene.stage.working(), kind="note", why="One."), idempotency_key="a")
    assert by_http(scene.client, first).status == 200
    return replace(first, fields={"kind": "note", "why": "Another."})


def while_the_first_is_served(scene: Scene) -> Attempt:
    """The first call holds its key and waits for the mandate's row, which the test has locked."""
    attempt = replace(reporting(scene, scene.stage.working(), kind="note", why="Once."), idempotency_key="a")
    holder = scene.ends.enter_context(psycopg.connect(plain(scene.database_url)))
    holder.execute("select 1 from mandate where public_id = %s for update", [attempt.ids["id"]])
    pool = scene.ends.enter_context(ThreadPoolExecutor(1))
    first: Future[Told] = pool.submit(by_http, scene.client, attempt)
    scene.ends.callback(holder.rollback)  # before the pool is waited for, however the test ends
    scene.first_call = (holder, first)
    wait_for_a_blocked_call(scene)
    return attempt


def once_the_first_is_served(scene: Scene) -> None:
    assert scene.first_call is not None
    holder, first = scene.first_call
    holder.rollback()
    assert first.result(WAIT_S).status == 200


# What is not there


def without_a_database(scene: Scene) -> Attempt:
    listing = Attempt(method="GET", path=f"{WALLET}/mandates", who=scene.stage.agent, tool="mandate_list")
    assert by_http(scene.client, listing).status == 200
    admit(scene, is_admitting=False)
    return listing


def without_migrations(scene: Scene) -> Attempt:
    """Another application, on a database that no migration was ever applied to."""
    name = f"{make_url(scene.database_url).database}_empty"
    with administration(scene.postgres) as connection:
        connection.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    scene.ends.callback(drop, scene, name)
    scene.database_url = make_url(scene.database_url).set(database=name).render_as_string(hide_password=False)
    database = scene.ends.enter_context(closing(Database(scene.database_url)))
    operations = (*OPERATIONS, probe.operation(Gate()))  # the stage's client has put the probe into the catalogue
    app = create_app(replace(scene.deps, database=database, metrics=Metrics(database)), operations)
    scene.client = scene.ends.enter_context(TestClient(app, base_url=BASE_URL))
    return Attempt(method="POST", path="/auth/agent/connect", fields={"agent_name": "quant"}, tool="agent_connect")


def drop(scene: Scene, name: str) -> None:
    with administration(scene.postgres) as connection:
        connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def without_a_chain(scene: Scene) -> Attempt:
    """A draft needs what the factory lists, and no node answers."""
    goal = {"budget_usdc": "1000", "horizon_days": 30, "stop_floor_bps": 500}
    fields = {"agent_id": scene.stage.agent_id, "title": "Buy units.", "goal": goal}
    scene.stage.chain.is_down = True
    return Attempt(method="POST", path=f"{WALLET}/proposals", who=scene.stage.agent, fields=fields, tool="mandate_propose")


# When the same call succeeds


def at_midnight(scene: Scene) -> None:
    scene.stage.clock.now = datetime(2026, 11, 22, tzinfo=UTC)


def once_money_came_back(scene: Scene) -> None:
    mandate_id = scene.stage.get("/mandates", scene.stage.agent)["mandates"][0]["id"]
    scene.stage.executed(mandate_id, 0, received=1)


CASES: Mapping[str, Case] = {
    "auth_required": Case(provoke=without_a_key, next=(CONNECT, CATALOGUE)),
    "auth_invalid": Case(provoke=with_an_unknown_key, next=(CONNECT, CATALOGUE)),
    "scope_denied": Case(provoke=outside_its_scopes, shown={"missing": "tx"}, next=(("GET /agent/scopes", 200), CATALOGUE)),
    "spend_limit_reached": Case(
        provoke=above_the_keys_day,
        shown={"remaining": {"per_day_usd": "25.000000"}, "retry_at": MIDNIGHT},
        next=(("GET /agent/scopes", 200), CATALOGUE),
        later=at_midnight,
    ),
    "not_owner": Case(provoke=of_anothers_agent),
    "not_found": Case(provoke=of_an_unknown_mandate, next=(("GET /mandate-wallet/mandates", 200), CATALOGUE)),
    "wrong_status": Case(provoke=of_a_draft, next=(READ, CATALOGUE)),
    "invalid_parameter": Case(provoke=beyond_the_longest_page),
    "invalid_number": Case(provoke=with_seven_decimals),
    "agent_not_designated": Case(
        provoke=of_a_mandate_that_names_another, next=(("GET /mandate-wallet/agents/{agent}/offers", 200), CATALOGUE)
    ),
    "agent_not_accepting": Case(
        provoke=with_a_policy_that_says_no, next=(("PUT /mandate-wallet/agents/{agent}/policy", 200), CATALOGUE)
    ),
    "agent_owner_mismatch": Case(provoke=of_an_agent_without_an_owner, next=(("GET /mandate-wallet/board", 200), CATALOGUE)),
    "insufficient_idle": Case(
        provoke=of_more_than_is_idle,
        shown={"remaining": "0.000000"},
        next=(("GET /mandate-wallet/agents/{agent}/policy", 200), CATALOGUE),
    ),
    "mandate_budget_exceeded": Case(
        provoke=above_the_mandates_cash,
        shown={"remaining": {"left_total": "600.000000"}},
        next=(READ, CATALOGUE),
        later=once_money_came_back,
    ),
    "signature_invalid": Case(
        provoke=signed_by_another_wallet, next=(("GET /mandate-wallet/mandates/{id}/terms", 200), CATALOGUE)
    ),
    "idempotency_key_reused": Case(provoke=with_a_used_key),
    "idempotency_in_flight": Case(provoke=while_the_first_is_served, later=once_the_first_is_served),
    "rate_limited": Case(
        provoke=above_the_days_calls, shown={"remaining": {"calls_today": 0}, "retry_at": MIDNIGHT}, later=at_midnight
    ),
    # Readiness says 503 with the part that is down; that is its answer, not a refusal.
    "temporarily_unavailable": Case(
        provoke=without_a_database, next=(("GET /health/ready", 503), CATALOGUE), later=lambda scene: admit(scene, is_admitting=True)
    ),
    "schema_not_applied": Case(
        provoke=without_migrations,
        next=(("GET /health/ready", 503), CATALOGUE),
        later=lambda scene: migrate.upgrade(scene.database_url),
    ),
}  # fmt: skip

BY_DOOR = [(door, reason) for reason in CASES for door in DOORS if (door, reason) not in {("tool", one) for one in NOT_BY_TOOL}]


def block_of(told: Told, reason: str) -> dict[str, Any]:
    """The block without its next calls, once it says what the document's table says."""
    status, retry_safe, who_fixes = DOCUMENT[reason]
    block = dict(told.body["service"])
    standing = {name: block.pop(name) for name in ("reason", "error", "retry_safe", "who_fixes", "next")}
    assert told.status == status, told.body
    standing.pop("next")
    assert standing == {"reason": reason, "error": reason, "retry_safe": retry_safe, "who_fixes": who_fixes}
    assert isinstance(told.body["detail"], str) and told.body["detail"]
    return block


def followed(scene: Scene, attempt: Attempt, told: Told) -> list[tuple[str, int]]:
    """Method and path of each next call, and the status of making it."""
    items = told.body["service"]["next"]
    return [(f"{item['method']} {item['path']}", scene.follow(attempt, item)) for item in items]


@pytest.mark.row(
    "7 auth_required", "7 auth_invalid", "7 scope_denied", "7 spend_limit_reached", "7 not_owner", "7 not_found", "7 wrong_status",
    "7 invalid_parameter", "7 invalid_number", "7 agent_not_designated", "7 agent_not_accepting", "7 agent_owner_mismatch",
    "7 insufficient_idle", "7 mandate_budget_exceeded", "7 signature_invalid", "7 idempotency_key_reused", "7 idempotency_in_flight",
    "7 rate_limited", "7 temporarily_unavailable", "7 schema_not_applied",
    "7 every refusal body has the object service with reason, error, retry_safe, who_fixes and next",
    "7 next calls are executable as written", "7 remaining where it applies", "7 retry_at where it applies",
    "7 retry_safe true means the same request can succeed later unchanged", "7 a refusal with rate_limited carries retry_at",
    "7 approval_url is left out while the approval link is not live",
)  # fmt: skip
@pytest.mark.parametrize(("door", "reason"), BY_DOOR)
def test_a_reason__says_what_the_document_says_and_leads_on(scene: Scene, door: str, reason: str) -> None:
    case = CASES[reason]
    attempt = case.provoke(scene)
    told = DOORS[door](scene.client, attempt)
    assert block_of(told, reason) == dict(case.shown)
    assert followed(scene, attempt, told) == [(attempt.filled(call), status) for call, status in case.next]
    assert (case.later is not None) is DOCUMENT[reason][1]
    if case.later is not None:
        case.later(scene)
        assert DOORS[door](scene.client, attempt).status == 200


def test_the_cases__are_the_documents_reasons() -> None:
    assert list(CASES) == list(DOCUMENT)


def test_the_reasons_that_no_tool_meets__are_those_that_no_tool_declares() -> None:
    tools = {row.key for row in rows_by_tool(Profile.FULL).values()}
    met = {reason for operation in OPERATIONS if operation.key in tools for reason in reasons_of(operation)}
    assert set(DOCUMENT) - met == NOT_BY_TOOL


# Other ways to the same reasons


@pytest.mark.parametrize("door", DOORS)
def test_a_chain_that_does_not_answer__is_temporarily_unavailable(scene: Scene, door: str) -> None:
    attempt = without_a_chain(scene)
    assert block_of(DOORS[door](scene.client, attempt), "temporarily_unavailable") == {}
    scene.stage.chain.is_down = False
    assert DOORS[door](scene.client, attempt).status == 201


def test_a_key_above_its_order_limit__has_no_time_to_wait_for(scene: Scene) -> None:
    attempt = building(scene, scene.stage.working(), "50.000001")
    set_scopes(scene, per_order_usd="50")
    told = by_http(scene.client, attempt)
    assert block_of(told, "spend_limit_reached") == {"remaining": {"per_order_usd": "50.000000"}}


def test_an_owner_that_designates_anothers_agent__is_led_to_the_owners_own(scene: Scene) -> None:
    other_id, _ = scene.stage.new_agent(scene.stage.new_owner())
    fields = {"purpose": "Buy units.", "budget_usdc": "1000", "horizon_days": 30, "stop_floor_bps": 500, "agent_id": other_id}
    attempt = Attempt(method="POST", path=f"{WALLET}/mandates", who=scene.stage.owner, fields=fields)
    told = by_http(scene.client, attempt)
    assert block_of(told, "agent_owner_mismatch") == {}
    assert followed(scene, attempt, told) == [("GET /agents/mine", 200), CATALOGUE]


@pytest.mark.parametrize("door", DOORS)
def test_a_stranger_that_accepts_too_early__is_led_to_its_own_offers(scene: Scene, door: str) -> None:
    """It was led to the mandate, which it may not read: the call as written answered 404."""
    other_id, other = scene.stage.new_agent()
    attempt = accepting(scene, scene.stage.draft(), other)
    told = DOORS[door](scene.client, attempt)
    assert block_of(told, "wrong_status") == {}
    assert followed(scene, attempt, told) == [(f"GET /mandate-wallet/agents/{other_id}/offers", 200), CATALOGUE]


def test_a_policy_that_says_no__says_yes_by_the_next_call_and_keeps_its_limits(scene: Scene) -> None:
    """The call as written once replaced the whole policy by its yes, and the owner's caps were gone."""
    people = scene.stage
    attempt = with_a_policy_that_says_no(scene)
    policy = {"accepts_mandates": False, "total_cap_usdc": "250.000000", "hold_ratio": "0.250000", "assets": ["USDC"], "slippage_bps": 30}
    assert people.call("PUT", f"/agents/{people.agent_id}/policy", people.owner, policy).status_code == 200
    told = by_http(scene.client, attempt)
    assert block_of(told, "agent_not_accepting") == {}
    before = people.get(f"/agents/{people.agent_id}/policy", people.owner)
    assert followed(scene, attempt, told)[0] == (f"PUT /mandate-wallet/agents/{people.agent_id}/policy", 200)
    after = people.get(f"/agents/{people.agent_id}/policy", people.owner)
    before.pop("policy_changelog")
    assert after.pop("policy_changelog")[0]["changes"] == {"accepts_mandates": {"from": False, "to": True}}
    assert after == before | {"accepts_mandates": True}
    assert by_http(scene.client, attempt).status == 200


def test_an_owners_call_without_a_session__leads_to_no_agents_key(scene: Scene) -> None:
    attempt = Attempt(method="GET", path=f"{WALLET}/me/statement")
    told = by_http(scene.client, attempt)
    assert block_of(told, "auth_required") == {}
    assert followed(scene, attempt, told) == [CATALOGUE]
    assert "/auth/owner/login" in told.body["detail"]

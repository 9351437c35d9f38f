"""The body of a refusal, and that its next calls can be made as written."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from api.catalogue import catalogue
from api.kernel.operation import NextCall, Refusal
from api.kernel.refusals import fill_path, lacks_credits, next_items, path_ids, refused, route_path
from tests.each import each

ROOT = Path(__file__).parents[4]
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
CATALOG_CALL = {"method": "GET", "path": "/agent/catalog", "auth": "optional", "cost": 0}
SENTENCE_ONLY = replace(catalogue().by_key["credits.balance"], key="x.y", block=False)

# docs/rules.md#wallet-reasons
SPECIFIED = """
auth_required 401 false|auth_invalid 401 false|scope_denied 403 false|spend_limit_reached 403 true|not_owner 403 false
not_found 404 false|wrong_status 409 false|invalid_parameter 400 false|invalid_number 400 false|agent_not_designated 409 false
agent_not_accepting 409 false|agent_owner_mismatch 403 false|insufficient_idle 409 false|mandate_budget_exceeded 402 true
signature_invalid 400 false|idempotency_key_reused 409 false|idempotency_in_flight 409 true|rate_limited 429 true
temporarily_unavailable 503 true|schema_not_applied 503 true
"""


@each("line", SPECIFIED.replace("\n", "|").strip("|").split("|"))
def test_the_reasons_of_the_specification__have_their_status_and_retry_safe(line: str) -> None:
    name, status, retry_safe = line.split()
    assert (catalogue().reasons[name].status, catalogue().reasons[name].retry_safe) == (
        int(status),
        retry_safe == "true",
    )


@each("reason", ["auth_required", "auth_invalid"])
def test_a_401__leads_to_connect_and_has_one_challenge(reason: str) -> None:
    """Core specification, 7.2."""
    outcome = refused(Refusal(reason, "Not valid."), None, {}, NOW, catalogue())
    first, last = outcome.body["service"]["next"]
    assert (first["path"], first["cost"]) == ("/auth/agent/connect", 0)
    assert last["path"] == "/agent/catalog"
    assert outcome.headers["WWW-Authenticate"].count("Bearer") == 1


def test_a_credential_that_is_not_valid__leads_to_the_catalogue_without_it() -> None:
    """With the refused key the catalogue is 401 as well."""
    outcome = refused(Refusal("auth_invalid", "Not valid."), None, {}, NOW, catalogue())
    assert outcome.body["service"]["next"][-1] == CATALOG_CALL | {"auth": "none"}


def test_a_lack_of_credit__says_how_much_and_leads_to_what_earns_some() -> None:
    lacks = lacks_credits("A bond of 20.", 20, 3, "safety.defense")
    block = refused(lacks, SENTENCE_ONLY, {}, NOW, catalogue()).body["service"]
    assert block["credit"] == {"needed": 20, "available": 3, "shortfall": 17}
    assert block["next"][0]["path"] == "/tasks/browse"
    assert [one["path"] for one in block["next"]][-2:] == ["/public/defense", "/agent/catalog"]


def test_each_lack_of_credit__is_made_where_its_counts_are() -> None:
    """A refusal of a room's fee said nothing of what was lacking."""
    makes = re.compile(r'(?:Refusal|unpaid)\((?:read, )?\s*"credit_insufficient"')
    made = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "api").rglob("*.py")
        if makes.search(path.read_text())
    }
    assert made == {"api/kernel/refusals.py", "api/payments/metering.py"}


def test_a_refusal__names_reason_who_fixes_it_and_what_to_call() -> None:
    outcome = refused(Refusal("auth_required", "Send a key."), None, {}, NOW, catalogue())
    connect = {
        "method": "POST",
        "path": "/auth/agent/connect",
        "auth": "none or owner",
        "cost": 0,
        "body": {"agent_name": "my-agent"},
    }
    assert outcome.status == 401
    assert outcome.body == {
        "detail": "Send a key.",
        "service": {
            "reason": "auth_required",
            "error": "auth_required",
            "retry_safe": False,
            "who_fixes": "caller",
            "next": [connect, CATALOG_CALL],
        },
    }


def test_a_time__is_rounded_up_and_answered_as_retry_after_too() -> None:
    outcome = refused(
        Refusal("rate_limited", "Wait.", retry_at=NOW + timedelta(seconds=9, microseconds=1)),
        None,
        {},
        NOW,
        catalogue(),
    )
    assert outcome.body["service"]["retry_at"] == "2026-11-21T12:00:10Z"
    assert outcome.headers == {"Retry-After": "10"}


def test_extra_keys__stand_beside_the_detail() -> None:
    outcome = refused(
        Refusal("wrong_status", "Ended.", extra={"recorded": True}), None, {}, NOW, catalogue()
    )
    assert outcome.body["recorded"] is True


def test_a_lacking_scope__carries_the_block_on_every_route() -> None:
    refusal = Refusal(
        "agent_key_scope", "No.", missing="tx", extra={"error": "agent_key_scope", "scope": "tx"}
    )
    body = refused(refusal, SENTENCE_ONLY, {}, NOW, catalogue()).body
    assert (body["detail"], body["error"], body["scope"]) == ("No.", "agent_key_scope", "tx")
    assert (body["service"]["reason"], body["service"]["missing"]) == ("agent_key_scope", "tx")


@each(
    ("reason", "has_block"), [("not_found", False), ("auth_invalid", True), ("rate_limited", True)]
)
def test_a_core_route_without_the_block__still_carries_it_on_401_402_and_429(
    reason: str, has_block: bool
) -> None:
    assert (
        "service" in refused(Refusal(reason, "No."), SENTENCE_ONLY, {}, NOW, catalogue()).body
    ) is has_block


def test_a_next_call__whose_id_is_unknown__is_left_out() -> None:
    assert next_items(("mandates.read",), {}, catalogue()) == [CATALOG_CALL]


def test_a_next_call__is_filled_with_the_ids_of_the_refused_call() -> None:
    ids = path_ids("/mandate-wallet/mandates/{id}/events", {"id": "m_aaaaaaaaaa"})
    assert (
        next_items(("mandates.read",), ids, catalogue())[0]["path"]
        == "/mandate-wallet/mandates/m_aaaaaaaaaa"
    )


def test_a_next_call__that_needs_a_body__is_left_out_without_one() -> None:
    assert next_items(("identity.nonce",), {}, catalogue()) == [CATALOG_CALL]
    with_body = next_items(
        (NextCall("identity.nonce", body={"wallet_address": "0x1"}),), {}, catalogue()
    )
    assert with_body[0]["body"] == {"wallet_address": "0x1"}


def test_a_filled_path__cannot_leave_its_segment() -> None:
    assert fill_path("/mandates/{id}", {"id": "../agents?x"}, {}) == "/mandates/..%2Fagents%3Fx"


@pytest.mark.parametrize(
    ("path", "of_a_route"), [("/web/{path}", "/web/{path:path}"), ("/agents/{id}", "/agents/{id}")]
)
def test_route_path__lets_only_the_placeholder_path_take_several_segments(
    path: str, of_a_route: str
) -> None:
    assert route_path(path) == of_a_route


@each("reason", catalogue().reasons)
def test_a_refusal_with_a_time__is_safe_to_send_again_whatever_its_reason(reason: str) -> None:
    outcome = refused(
        Refusal(reason, "Later.", retry_at=NOW + timedelta(seconds=5)), None, {}, NOW, catalogue()
    )
    assert outcome.body["service"]["retry_safe"] is True


@each("operation", ["mandates.sign", "tasks.claim", "fund.apply", None])
def test_a_409__has_its_code_beside_the_sentence(operation: str | None) -> None:
    row = None if operation is None else catalogue().by_key[operation]
    body = refused(Refusal("wrong_status", "No."), row, {}, NOW, catalogue()).body
    assert (body["detail"], body["error"]) == ("No.", "wrong_status")

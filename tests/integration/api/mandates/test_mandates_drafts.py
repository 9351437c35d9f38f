from typing import Any

import pytest

from api.areas.mandates.service.drafts import NEVER_TARGETS
from core.mandate.rules.expansion import PERMIT2
from tests.each import each
from tests.integration.api.mandates.stage import ADAPTER, CONTRACTS, DRAFT, Stage, address, reason

PAYOUT = {"kind": "share_of_verified_gain", "bps": 1000}
PINNED = {
    "kind": "contract",
    "chain_id": 84532,
    "address": ADAPTER,
    "functions": None,
    "unpinned": False,
}


def create(stage: Stage, **changes: Any) -> Any:
    return stage.call("POST", "/mandates", stage.owner, {**DRAFT, **changes})


@each(
    ("changes", "kind", "says"),
    [
        ({"budget_usdc": 100.1234567}, "invalid_number", "budget_usdc"),
        ({"per_tx_cap_usdc": "1000.000001"}, "invalid_number", "per_tx_cap_usdc"),
        ({"on_floor": "sell"}, "invalid_parameter", "on_floor"),
        ({"chain_id": 1}, "invalid_parameter", "chain_id"),
        ({"allowed_targets": [address(7)]}, "invalid_parameter", "recipient_word"),
        ({"api_secret": "x"}, "secret_field_refused", "api_secret"),
    ],
)
def test_create__a_broken_rule__is_refused_with_the_field_and_the_rule(
    stage: Stage, changes: dict[str, Any], kind: str, says: str
) -> None:
    answer = create(stage, **changes)
    assert reason(answer) == (400, kind)
    assert says in answer.json()["detail"]


@each(
    ("target", "name"),
    [*((CONTRACTS[key], name) for key, name in NEVER_TARGETS.items()), (PERMIT2, "Permit2")],
    ids=[*NEVER_TARGETS, "permit2"],
)
def test_create__a_contract_that_is_never_a_target__is_refused_by_its_name(
    stage: Stage, target: str, name: str
) -> None:
    """The factory's validator was let through: the factory refuses it, so the signed terms could
    never become a vault.
    """
    functions = [{"signature": "transfer(address,uint256)", "recipient_word": 0}]
    answer = create(stage, allowed_targets=[{"address": target, "functions": functions}])
    assert reason(answer) == (400, "invalid_parameter")
    assert f"allowed_targets[0].address: {name} is never a target" in answer.json()["detail"]


@each(
    ("changes", "field", "kept"),
    [
        ({"payout_rule": {"bps": 1500.0}}, "payout_rule", PAYOUT | {"bps": 1500}),
        ({"payout_rule": {"kind": None, "bps": None}}, "payout_rule", PAYOUT),
        ({"payout_rule": None}, "payout_rule", PAYOUT),
        ({"allowed_targets": [PINNED | {"chain_id": 84532.0}]}, "allowed_targets", [PINNED]),
        ({"allowed_targets": [PINNED | {"kind": None}]}, "allowed_targets", [PINNED]),
    ],
)
def test_create__whole_numbers_and_nulls_in_objects__are_read_as_those_beside_them(
    stage: Stage, changes: dict[str, Any], field: str, kept: object
) -> None:
    assert create(stage, **changes).json()["mandate"][field] == kept


def test_create__while_no_adapter_can_be_known__says_try_later(stage: Stage) -> None:
    stage.chain.is_down = True
    assert reason(create(stage)) == (503, "temporarily_unavailable")


@pytest.mark.row("4 PUT /mandates/{id}")
def test_update__replaces_the_draft_and_its_terms(stage: Stage) -> None:
    mandate_id = stage.draft()
    before = stage.get(f"/mandates/{mandate_id}/terms", stage.owner)["digest"]
    body = {**DRAFT, "budget_usdc": "500", "per_tx_cap_usdc": None, "daily_cap_usdc": None}
    answer = stage.call("PUT", f"/mandates/{mandate_id}", stage.owner, body)
    mandate = answer.json()["mandate"]
    assert (mandate["budget_usdc"], mandate["per_tx_cap_usdc"], mandate["agent_id"]) == (
        "500.000000",
        None,
        stage.agent_id,
    )
    terms = stage.get(f"/mandates/{mandate_id}/terms", stage.owner)
    assert terms["digest"] != before
    assert (terms["terms"]["perTxCap"], terms["terms"]["dailyCap"]) == ("500000000", "500000000")


@each("field", ["horizon_days", "stop_floor_bps", "budget_usdc"])
def test_update__a_number_that_no_column_holds__is_refused_with_its_field(
    stage: Stage, field: str
) -> None:
    """It reached the database before it was judged: 503, as if the database were busy, for whoever
    sent it again.
    """
    answer = stage.call("PUT", f"/mandates/{stage.draft()}", stage.owner, {**DRAFT, field: 2**53})
    assert (reason(answer), answer.json()["detail"].split(":")[0]) == (
        (400, "invalid_number"),
        field,
    )


@pytest.mark.row("4 PUT /mandates/{id}")
def test_update__of_a_signed_mandate__is_wrong_status(stage: Stage) -> None:
    mandate_id = stage.signed()
    assert reason(stage.call("PUT", f"/mandates/{mandate_id}", stage.owner, DRAFT)) == (
        409,
        "wrong_status",
    )


def test_assign__an_unknown_agent__is_not_found(stage: Stage) -> None:
    body = {"agent_id": "999999"}
    answer = stage.call("POST", f"/mandates/{stage.draft()}/assign", stage.owner, body)
    assert reason(answer) == (404, "not_found")


def test_list__shows_own_mandates_newest_first_in_pages(stage: Stage) -> None:
    made = [stage.draft() for _ in range(3)]
    first = stage.get("/mandates", stage.owner, limit=2)
    assert [one["id"] for one in first["mandates"]] == made[:0:-1]
    second = stage.get("/mandates", stage.owner, limit=2, cursor=first["next_cursor"])
    assert [one["id"] for one in second["mandates"]] == made[:1]
    assert second["next_cursor"] is None
    assert stage.get("/mandates", stage.new_owner())["mandates"] == []


@pytest.mark.row("4 GET /door")
def test_door__answers_402_and_has_nothing_to_pay(stage: Stage) -> None:
    answer = stage.call("GET", "/door", {})
    assert answer.status_code == 402
    body = answer.json()
    assert "budget_usdc" in body["schema"]["properties"] and body["charged"] is False
    assert "accepts" not in body and "payment-required" not in answer.headers
    assert body["service"]["next"][0]["path"] == "/auth/agent/connect"

import pytest

from tests.integration.api.mandates.stage import Stage, reason


def test_policy__replaced_whole__a_field_left_out_falls_back(stage: Stage) -> None:
    path = f"/agents/{stage.agent_id}/policy"
    body = {
        "accepts_mandates": True,
        "per_tx_cap_usdc": "5",
        "hold_ratio": 0.25,
        "stop_conditions": {"loss": 0.1},
        "assets": ["USDC"],
    }
    first = stage.call("PUT", path, stage.owner, body).json()
    assert (first["per_tx_cap_usdc"], first["hold_ratio"], first["accepts_mandates"]) == (
        "5.000000",
        "0.250000",
        True,
    )
    second = stage.call("PUT", path, stage.owner, {"assets": ["USDC"]}).json()
    assert (second["per_tx_cap_usdc"], second["accepts_mandates"], second["assets"]) == (
        None,
        False,
        ["USDC"],
    )
    newest = second["policy_changelog"][0]["changes"]
    assert newest["accepts_mandates"] == {"from": True, "to": False}
    assert "assets" not in newest


def test_policy__an_agent_without_one__accepts_nothing(stage: Stage) -> None:
    agent_id, key = stage.new_agent()
    read = stage.get(f"/agents/{agent_id}/policy", key)
    assert (read["accepts_mandates"], read["policy_changelog"]) == (False, [])


def test_policy__of_anothers_agent__is_not_owner_and_of_nobody__not_found(stage: Stage) -> None:
    stranger = stage.new_owner()
    assert reason(stage.call("GET", f"/agents/{stage.agent_id}/policy", stranger)) == (
        403,
        "not_owner",
    )
    assert reason(
        stage.call("PUT", f"/agents/{stage.agent_id}/policy", stranger, {"accepts_mandates": True})
    ) == (403, "not_owner")
    assert reason(stage.call("GET", "/agents/999999/policy", stranger)) == (404, "not_found")


def test_policy__a_ratio_above_one__is_refused(stage: Stage) -> None:
    answer = stage.call(
        "PUT", f"/agents/{stage.agent_id}/policy", stage.owner, {"hold_ratio": "1.000001"}
    )
    assert reason(answer) == (400, "invalid_number")


@pytest.mark.row("4 GET /agents/me")
def test_me__tells_what_the_agent_holds_and_no_owners_id(stage: Stage) -> None:
    held, ended = stage.working(), stage.paper()
    stage.post(f"/mandates/{ended}/stop", stage.owner)
    me = stage.get("/agents/me", stage.agent)
    assert (me["agent_id"], me["wallet_address"], me["accepts_mandates"]) == (
        stage.agent_id,
        stage.agent_wallet.address,
        True,
    )
    assert [one["id"] for one in me["agent_status"]["active_mandates"]] == [held]
    assert [(one["id"], one["net_basis"]) for one in me["agent_status"]["ended_mandates"]] == [
        (ended, "realized")
    ]
    assert not any("owner_id" in key for key in me)

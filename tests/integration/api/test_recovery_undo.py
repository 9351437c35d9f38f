"""A recovery is told to the owner once, and undone once."""

import pytest
from eth_account import Account

from tests.integration.api.conftest import KEY, login, reason
from tests.integration.api.test_evictions import THIEF, Robbed, recovery, robbed  # noqa: F401 (a fixture)


def test_a_recovery__is_told_once_and_undone_once(robbed: Robbed) -> None:
    first = robbed.recover(robbed.taken["recovery_code"]).json()
    again = robbed.recover(first["recovery_code"]).json()
    assert (robbed.alerts(), robbed.fleet()["recovery_can_be_undone"]) == (
        [("agent_recovered", True)],
        True,
    )
    assert robbed.post(f"/agents/{robbed.id}/recovery/undo").status_code == 200
    assert (robbed.alerts(), robbed.fleet()["recovery_can_be_undone"]) == (
        [("agent_recovered", False)],
        False,
    )
    assert robbed.client.get("/agent/status", headers={KEY: again["api_key"]}).status_code == 401
    refused = robbed.post(f"/agents/{robbed.id}/recovery/undo")
    assert reason(refused) == (409, "wrong_status")
    assert refused.json()["service"]["next"][0]["path"] == f"/agents/{robbed.id}/keys/rotate"


def test_the_alert_of_a_recovery__says_what_to_call(robbed: Robbed) -> None:
    recovery(robbed)
    (alert,) = robbed.client.get("/mandate-wallet/me/alerts", headers=robbed.owner).json()["alerts"]
    assert alert["args"] == {"user_id": robbed.id, "agent_name": "quant"}
    assert f"POST /agents/{robbed.id}/recovery/undo" in alert["next_step"]
    assert (alert["mandate_id"], alert["chain_id"], alert["at"]) == (
        None,
        None,
        "2026-11-21T12:00:00Z",
    )


def test_undo__takes_the_wallet_of_the_recovery_also_when_it_waits_no_more(robbed: Robbed) -> None:
    first = robbed.recover(robbed.taken["recovery_code"]).json()
    robbed.link(first["bearer_token"])
    robbed.clock.pass_(hours=48)
    robbed.recover(first["recovery_code"])
    robbed.owner = login(robbed.client, robbed.wallet)
    answer = robbed.post(f"/agents/{robbed.id}/recovery/undo").json()
    assert (answer["unlinked_wallet"], robbed.linked()) == (THIEF.address, None)


@pytest.mark.parametrize("hours", [0, 48])
def test_undo_of_an_old_recovery__keeps_the_wallet_that_the_owner_confirmed_since(
    robbed: Robbed, hours: int
) -> None:
    """The agent recovered itself and linked its wallet; weeks later the owner answered the alert,
    and custody's destination was gone.
    """
    own = Account.create()
    first = robbed.recover(robbed.taken["recovery_code"]).json()
    robbed.link(first["bearer_token"], own)
    robbed.clock.pass_(hours=hours)
    robbed.owner = login(robbed.client, robbed.wallet)
    assert (
        robbed.post(f"/agents/{robbed.id}/wallet/confirm", wallet_address=own.address).status_code
        == 200
    )
    robbed.recover(first["recovery_code"])
    answer = robbed.post(f"/agents/{robbed.id}/recovery/undo").json()
    assert (answer["unlinked_wallet"], robbed.linked()) == (None, own.address.lower())


def test_undo__keeps_the_wallet_from_before_the_recovery(robbed: Robbed) -> None:
    own = Account.create()
    robbed.link(robbed.taken["bearer_token"], own)
    robbed.clock.pass_(hours=24)
    robbed.recover(robbed.taken["recovery_code"])
    robbed.owner = login(robbed.client, robbed.wallet)
    answer = robbed.post(f"/agents/{robbed.id}/recovery/undo").json()
    assert (answer["unlinked_wallet"], robbed.linked()) == (None, own.address.lower())

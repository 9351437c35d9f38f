"""While a record is held back, the owner gets out by what the chain says, and reads the chain's
numbers or none.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from core.mandate.chain import calldata
from core.mandate.rules.lifecycle import VaultStatus
from tests.integration.api.document.conftest import live  # noqa: F401 (fixture)
from tests.integration.api.document.live import Live
from tests.integration.api.mandates.stage import Stage
from tests.integration.indexer.conftest import follower, leadership  # noqa: F401 (fixtures)
from tests.integration.indexer.refusing import Refusals
from tests.personas import KEEPER, OWNER


@dataclass
class Held:
    """A mandate at work whose record is held back from its second move on.

    The vault bought for 10, 20 (held), 5 and 100.
    """

    live: Live
    mandate_id: str
    vault: str

    @property
    def stage(self) -> Stage:
        return self.live.stage

    def stop_by_keeper(self) -> None:
        """The price falls to 0.4: of 135 spent 54 is left, so that the vault is worth 919."""
        self.live.price(400_000)
        self.live.send(KEEPER, {"to": self.vault, "data": calldata.mark()})
        assert self.live.deployed.reader.status(self.vault) is VaultStatus.STOPPED

    def read(self) -> dict[str, Any]:
        return self.live.read(self.mandate_id)

    def owners(self, call: str, **query: Any) -> dict[str, Any]:
        return self.live.owners(self.mandate_id, call, **query)

    def plan(self) -> dict[str, Any]:
        return self.stage.get(f"/mandates/{self.mandate_id}/close-all-plan", self.stage.owner)


@pytest.fixture
def held(live: Live) -> Held:
    mandate_id, vault = live.working()
    refusals = Refusals(live.follower.database)
    live.execute(mandate_id, "buy(uint256)", 10)
    receipt = live.deployed.buy(vault, 20_000_000)
    log = next(log for log in receipt.logs if log.address == vault)
    refusals.add(f"log:{receipt.tx_hash}:{log.log_index}")
    live.deployed.buy(vault, 5_000_000)
    live.deployed.buy(vault, 100_000_000)
    live.follower.catch_up()
    return Held(live, mandate_id, vault)


@pytest.mark.slow
def test_the_alert__says_what_it_means_and_what_to_do(held: Held) -> None:
    # before it, that the agent linked its wallet
    alert, *_ = held.stage.get("/me/alerts", held.stage.owner)["alerts"]
    assert (alert["kind"], alert["mandate_id"]) == ("record_held", held.mandate_id)
    assert "Your money is in the vault" in alert["message"]
    assert "withdraw-call as usual" in alert["next_step"]


# Getting out of a vault that is stopped


@pytest.mark.slow
def test_calls_that_a_stopped_vault_would_refuse__have_nothing_to_send(held: Held) -> None:
    held.stop_by_keeper()
    for name, why in (("stop-call", "mandate_not_working"), ("set-agent-call", "mandate_ended")):
        call = held.owners(name)
        assert (call["data"], call["reason"], call["data_issue"]) == (None, why, True)


@pytest.mark.slow
def test_the_owner__unwinds_and_withdraws_all_by_built_calls_as_the_plan_says(held: Held) -> None:
    held.stop_by_keeper()
    plan = held.plan()
    assert [step["type"] for step in plan["steps"]] == ["unwind", "withdraw"]
    assert (plan["gets_back_est"], plan["data_issue"]) == ("919.000000", True)
    unwind = held.stage.post(f"/mandates/{held.mandate_id}/unwind-call", held.stage.owner)
    assert (unwind["check"]["ok"], unwind["data_issue"]) == (True, True)
    held.live.send(OWNER, unwind)
    call = held.owners("withdraw-call")
    assert (call["amount_usdc"], call["source"], call["data_issue"]) == (
        "919.000000",
        "chain",
        True,
    )
    held.live.send(OWNER, call)
    assert held.live.deployed.reader.usdc_balance(held.vault) == 0
    assert held.owners("withdraw-call")["reason"] == "nothing_left"


# Getting out of one that works


def test_the_owner_of_a_working_vault__stops_by_the_built_call(held: Held) -> None:
    call = held.owners("stop-call")
    assert call["data_issue"] is True
    held.live.send(OWNER, call)
    assert held.live.deployed.reader.status(held.vault) is VaultStatus.STOPPED


def test_a_vault_whose_creation_is_held__is_found_by_its_terms(live: Live) -> None:
    live.deployed.mint(OWNER.address, 1_000_000_000)
    mandate_id = live.stage.signed()
    refusals = Refusals(live.follower.database)
    asked = live.owners(mandate_id, "deploy-call", fund="approve")
    live.deployed.succeed(OWNER, asked["calls"][0]["to"], asked["calls"][0]["data"])
    receipt = live.deployed.succeed(OWNER, asked["calls"][1]["to"], asked["calls"][1]["data"])
    for log in receipt.logs:
        refusals.add(f"log:{receipt.tx_hash}:{log.log_index}")
    live.follower.catch_up()
    call = live.owners(mandate_id, "stop-call")
    assert (call["to"], call["data_issue"]) == (asked["vault_address"], True)
    live.send(OWNER, call)
    live.send(OWNER, live.owners(mandate_id, "withdraw-call"))
    assert live.deployed.reader.usdc_balance(asked["vault_address"]) == 0


# What is shown


@pytest.mark.slow
def test_a_read__shows_the_chains_numbers(held: Held) -> None:
    held.stop_by_keeper()
    read = held.read()
    progress = read["progress"]
    assert (progress["worth_est"], progress["worth_source"]) == ("919.000000", "chain")
    assert (progress["cash"], progress["positions_est"], progress["leave_now_est"]) == (
        "865.000000",
        "54.000000",
        "919.000000",
    )
    assert progress["fees"]["net_after_fees_est"]["value"] == "-81.000000"
    assert (read["mandate"]["status"], progress["status"]) == ("stopped", "stopped")
    assert progress["public_stop"] == {
        "on": None,
        "reason": "mandate_not_working",
        "at_cost_usdc": "0.000000",
    }
    assert read["lock"]["withdrawable"] is True
    assert read["chain_state"] == {
        "stopped": True,
        "settled": False,
        "agent": None,
        "agent_known": True,
    }
    assert read["how_to_act"] == "The mandate is stopped. The agent cannot act."


@pytest.mark.slow
def test_a_read__states_nothing_that_only_the_missing_facts_could_tell(held: Held) -> None:
    read = held.read()
    progress = read["progress"]
    assert {rule["ok"] for rule in progress["rules"]} == {None}
    assert (
        progress["realized"],
        progress["fees"]["tools"],
        progress["fees"]["realized_total"],
    ) == (None, None, None)
    breaches = read["limits"]["breaches"]
    assert (breaches["reverts"]["count"], breaches["refusals"]["count"]) == (None, None)


@pytest.mark.slow
def test_execute_call__of_a_vault_that_is_stopped__is_told_by_the_chain(held: Held) -> None:
    held.stop_by_keeper()
    body = {
        "target": held.live.adapter,
        "function": "buy(uint256)",
        "args": ["1000000"],
        "amount_usdc": "1.000000",
    }
    asked = held.stage.post(f"/mandates/{held.mandate_id}/execute-call", held.stage.agent, body)
    assert (asked["check"]["ok"], asked["check"]["source"], asked["data_issue"]) == (
        False,
        "chain",
        True,
    )
    unasked = held.stage.post(
        f"/mandates/{held.mandate_id}/execute-call", held.stage.agent, body | {"dry_run": False}
    )
    assert (unasked["check"]["ok"], unasked["check"]["reason"], unasked["check"]["source"]) == (
        None,
        "data_issue",
        "none",
    )

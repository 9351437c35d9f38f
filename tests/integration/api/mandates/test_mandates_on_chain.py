"""The built calls, sent to a real chain; the indexer's rounds bring back what came of them."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_typed_data

from api.kernel.operation import Deps
from api.main import create_app
from core.db.engine import Database
from tests.integration.api.conftest import BASE_URL, Clock
from tests.integration.api.in_process import AppClient
from tests.integration.api.mandates.stage import Stage, StageChain
from tests.integration.chain_fixtures import BUDGET, USDC, DeployedChain
from tests.integration.indexer.conftest import Follower, follower, leadership  # noqa: F401 (fixtures)
from tests.personas import AGENT, OWNER, STRANGER, Persona


@pytest.fixture
def stage(
    deps: Deps, deployed: DeployedChain, database: Database, clock: Clock, chain: StageChain
) -> Iterator[Stage]:
    """People with anvil's accounts, and an API that reads the real chain."""
    clock.now = datetime.now(UTC)
    real = replace(deps, chain=deployed.reader, contracts=deployed.contracts)
    with AppClient(create_app(real), base_url=BASE_URL) as client:
        owner, agent = Account.from_key(OWNER.private_key), Account.from_key(AGENT.private_key)
        yield Stage(client, database, clock, chain, owner_wallet=owner, agent_wallet=agent).enter()


@pytest.fixture
def working(stage: Stage, deployed: DeployedChain, follower: Follower) -> tuple[str, str]:
    """A mandate whose vault was deployed and funded by the two calls of fund=approve."""
    deployed.mint(OWNER.address, BUDGET)
    mandate_id = stage.signed()
    call = stage.get(f"/mandates/{mandate_id}/deploy-call", stage.owner, fund="approve")
    for one in call["calls"]:
        send(deployed, OWNER, one)
    follower.catch_up()
    mandate = stage.get(f"/mandates/{mandate_id}", stage.owner)["mandate"]
    assert (mandate["status"], mandate["vault_address"]) == ("working", call["vault_address"])
    return mandate_id, call["vault_address"]


def send(deployed: DeployedChain, sender: Persona, call: dict[str, Any]) -> None:
    deployed.succeed(sender, call["to"], call["data"])


def execute(
    stage: Stage,
    deployed: DeployedChain,
    mandate_id: str,
    function: str,
    argument: int,
    amount: str,
) -> dict[str, Any]:
    body = {
        "target": deployed.contracts["test_venue_adapter"],
        "function": function,
        "args": [str(argument)],
        "amount_usdc": amount,
    }
    return stage.post(f"/mandates/{mandate_id}/execute-call", stage.agent, body)


def test_deploy_call__by_authorization__is_sent_by_anybody(
    stage: Stage, deployed: DeployedChain, follower: Follower
) -> None:
    deployed.mint(OWNER.address, BUDGET)
    mandate_id = stage.signed()
    path = f"/mandates/{mandate_id}/deploy-call"
    asked = stage.get(path, stage.owner, fund="authorization")
    signature = stage.owner_wallet.sign_message(
        encode_typed_data(full_message=asked["typed_data"])
    ).signature.to_0x_hex()
    send(
        deployed,
        STRANGER,
        stage.get(path, stage.owner, fund="authorization", authorization_signature=signature),
    )
    follower.catch_up()
    assert stage.get(f"/mandates/{mandate_id}", stage.owner)["progress"]["cash"] == "1000.000000"


@pytest.mark.slow
def test_who_acts__follows_the_agent_that_the_owner_set_on_chain(
    stage: Stage,
    deployed: DeployedChain,
    working: tuple[str, str],
    follower: Follower,
) -> None:
    """The card named the terms' agent and execute-call was checked as sent by the linked wallet,
    neither of which the vault obeys.
    """
    mandate_id, _ = working
    path = f"/mandates/{mandate_id}"
    removal = stage.get(f"{path}/set-agent-call", stage.owner)
    assert (
        removal["action"],
        stage.get(f"{path}/set-agent-call", stage.owner, agent_wallet=""),
    ) == ("pause", removal)
    resume = stage.get(f"{path}/set-agent-call", stage.owner, agent_wallet=STRANGER.address)
    send(deployed, OWNER, resume)
    follower.catch_up()
    read = stage.get(path, stage.owner)
    stays = f"The agent's fee stays with {AGENT.address}; "
    assert (stays in resume["what_happens"], read["mandate"]["fee_payee"]) == (
        True,
        {
            "address": AGENT.address,
            "is_agent": False,
            "text_en": f"paid to {AGENT.address}, which is not the agent",
        },
    )
    assert read["mandate"]["fee_payee"]["text_en"] in read["clauses"][8]["text_en"]
    assert (read["card_header"]["who"]["params"]["wallet"], read["chain_state"]["agent"]) == (
        STRANGER.address,
        STRANGER.address,
    )
    call = execute(stage, deployed, mandate_id, "buy(uint256)", USDC, "1.000000")
    check = call["check"]
    assert (check["ok"], check["reason"], check["source"], check["agent"]) == (
        True,
        None,
        "chain",
        STRANGER.address,
    )
    assert check["note"].startswith(f"The vault obeys {STRANGER.address}; not {AGENT.address}")
    assert deployed.send(AGENT, call["to"], call["data"]).status == 0
    assert deployed.send(STRANGER, call["to"], call["data"]).status == 1


@pytest.mark.slow
def test_a_vault_of_terms_without_a_wallet__is_paused_until_its_owner_sets_the_agent(
    stage: Stage,
    deployed: DeployedChain,
    follower: Follower,
) -> None:
    """Its agent had linked no wallet: the API said nothing before the signature, and not paused
    after it.
    """
    deployed.mint(OWNER.address, BUDGET)
    agent_id, agent = stage.new_agent(stage.owner)
    stage.accept_mandates(agent_id)
    mandate_id = stage.draft(agent_id=agent_id)
    path = f"/mandates/{mandate_id}"
    assert stage.get(f"{path}/terms", stage.owner)["notice"].startswith(
        "These terms name no agent: quant has no linked wallet."
    )
    stage.post(f"{path}/sign", stage.owner, {"signature": stage.sign_terms(mandate_id)})
    for one in stage.get(f"{path}/deploy-call", stage.owner, fund="approve")["calls"]:
        send(deployed, OWNER, one)
    follower.catch_up()

    def said() -> tuple[Any, ...]:
        read, held = (
            stage.get(path, stage.owner),
            stage.get("/agents/me", agent)["agent_status"]["active_mandates"],
        )
        return (
            read["mandate"]["paused"],
            held[0]["paused"],
            read["card_header"]["who"]["params"]["wallet"],
            read["how_to_act"],
        )

    assert said() == (
        True,
        True,
        None,
        "The vault obeys no agent. One can act once the owner sets it.",
    )
    assert stage.get(path, stage.owner)["mandate"]["paused_at"] is not None
    body = {
        "target": deployed.contracts["test_venue_adapter"],
        "function": "buy(uint256)",
        "args": ["1"],
        "amount_usdc": "1",
    }
    for dry_run in (True, False):
        check = stage.post(f"{path}/execute-call", agent, {**body, "dry_run": dry_run})["check"]
        assert (check["ok"], check["reason"], check["agent"]) == (False, "NoAgent", None)
    send(
        deployed,
        OWNER,
        stage.get(f"{path}/set-agent-call", stage.owner, agent_wallet=STRANGER.address),
    )
    follower.catch_up()
    assert said()[:3] == (False, False, STRANGER.address)
    # terms without an agent: the fee is that of who first spends, not of the first that was set
    assert stage.get(path, stage.owner)["mandate"]["fee_payee"]["address"] is None
    body = {**body, "args": [str(USDC)], "amount_usdc": "1.000000"}
    send(deployed, STRANGER, stage.post(f"{path}/execute-call", agent, body))
    follower.catch_up()
    mandate = stage.get(path, stage.owner)["mandate"]
    named = deployed.reader.payee(mandate["vault_address"])
    assert (mandate["fee_payee"]["address"], mandate["fee_payee"]["is_agent"], named) == (
        STRANGER.address,
        True,
        STRANGER.address,
    )


@pytest.mark.slow
def test_unwind_and_withdraw_calls__name_the_adapter_in_any_form_and_end_with_what_is_there(
    stage: Stage,
    deployed: DeployedChain,
    working: tuple[str, str],
    follower: Follower,
) -> None:
    mandate_id, vault = working
    path = f"/mandates/{mandate_id}"
    buy = execute(stage, deployed, mandate_id, "buy(uint256)", 200 * USDC, "200.000000")
    send(deployed, AGENT, buy)
    deployed.mint(vault, 7 * USDC)  # a donation: the owner's, never the agent's
    follower.catch_up()
    step = stage.get(f"{path}/close-all-plan", stage.owner)["steps"][1]
    send(deployed, OWNER, stage.get(f"{path}/stop-call", stage.owner))
    follower.catch_up()
    names = (step["adapter"], step["venue"], step["adapter_address"].lower())
    unwinds = [stage.post(f"{path}/unwind-call", stage.owner, {"adapter": name}) for name in names]
    assert {one["data"] for one in unwinds} == {step["data"]}
    nowhere = stage.call("POST", f"{path}/unwind-call", stage.owner, {"adapter": "nowhere"})
    assert nowhere.status_code == 400
    send(deployed, OWNER, unwinds[0])
    follower.catch_up()
    assert stage.post(f"{path}/unwind-call", stage.agent)["reason"] == "nothing_to_unwind"
    call = stage.get(f"{path}/withdraw-call", stage.owner)
    assert (call["amount_usdc"], call["source"]) == ("1007.000000", "chain")
    assert deployed.send(AGENT, call["to"], call["data"]).status == 0
    send(deployed, OWNER, call)
    # the record does not know yet: a withdrawal of 0 would revert
    again = stage.get(f"{path}/withdraw-call", stage.owner)
    assert (again["data"], again["reason"], again["amount_usdc"]) == (None, "nothing_left", None)
    follower.catch_up()
    flows = stage.get(f"{path}/statement", stage.owner)["flows"]
    assert (flows["withdrawals"], flows["donated_withdrawn"]) == ("1000.000000", "7.000000")

"""Wallet document 4 and 4.2 on a real chain: execute-call and unwind-call are tried before they are
sent, and send nothing.
"""

from typing import Any

import pytest
from eth_account import Account
from web3 import Web3
from web3.middleware import SignAndSendRawMiddlewareBuilder

from core.mandate.chain import calldata
from core.times import utc_text
from tests.integration.api.document.on_chain import World, world  # noqa: F401 (fixtures)
from tests.integration.api.mandates.stage import reason
from tests.integration.chain_fixtures import USDC
from tests.personas import AGENT, KEEPER, OPERATOR, OWNER, STRANGER

UNKNOWN = {"value": None, "source": "none", "basis": "mandate_not_working"}


@pytest.mark.row(
    "4 execute-call",
    "4 execute-call says what remains",
    "4.2 read left_today and per_action_max before every action",
)
def test_execute_call__says_yes_with_gas_and_what_remains__and_nothing_was_sent(
    world: World,
) -> None:
    before = (
        world.chain.reader.block_number(),
        world.chain.reader.transaction_count(AGENT.address),
    )
    call = world.buy(200)
    assert (call["check"]["ok"], call["check"]["reason"], call["check"]["source"]) == (
        True,
        None,
        "chain",
    )
    assert (call["to"], call["value"], call["chain_id"], call["amount_usdc"]) == (
        world.vault,
        0,
        84532,
        "200.000000",
    )
    assert (
        world.chain.reader.block_number(),
        world.chain.reader.transaction_count(AGENT.address),
    ) == before
    world.send(AGENT, call)
    receipt_gas = call["gas"]
    used = world.read()["limits"]["used"]
    assert used["left_today"]["value"] == "250.000000"
    again = world.buy(200)
    assert again["check"]["remaining"] == used
    assert 21_000 < again["gas"] <= receipt_gas * 2


def test_a_built_call__is_sent_by_web3_as_it_stands(world: World) -> None:
    web3 = Web3(Web3.HTTPProvider(world.chain.anvil.url))
    account = Account.from_key(AGENT.private_key)
    web3.middleware_onion.inject(SignAndSendRawMiddlewareBuilder.build(account), layer=0)
    web3.eth.default_account = account.address
    call = world.buy(200)
    assert web3.eth.estimate_gas(call["transaction"]) == call["gas"]
    sent = web3.eth.send_transaction(call["transaction"])
    assert web3.eth.wait_for_transaction_receipt(sent)["status"] == 1
    fees = {"gas": 500_000, "maxFeePerGas": 10**10, "maxPriorityFeePerGas": 10**9}
    nonce = web3.eth.get_transaction_count(account.address)
    signed = account.sign_transaction(world.buy(100)["transaction"] | fees | {"nonce": nonce})
    sent = web3.eth.send_raw_transaction(signed.raw_transaction)
    assert web3.eth.wait_for_transaction_receipt(sent)["status"] == 1
    world.follower.catch_up()
    assert world.read()["limits"]["used"]["left_today"]["value"] == "150.000000"


def test_what_remains__is_the_vaults_at_the_block_that_judges__while_the_record_is_behind(
    world: World,
) -> None:
    call, before = world.buy(200), world.read()["limits"]
    assert world.chain.send(AGENT, call["to"], call["data"]).status == 1  # mined, not indexed
    block = world.chain.reader.header()
    assert block is not None
    check = world.buy(200)["check"]
    assert (check["source"], check["remaining"]["left_today"]["value"]) == ("chain", "250.000000")
    assert check["as_of"] == {"block_number": block.number, "at": utc_text(block.timestamp)}
    behind = world.read()["limits"]
    assert (behind, behind["used"]["left_today"]["value"]) == (before, "450.000000")
    assert behind["as_of"]["block_number"] < block.number


@pytest.mark.row(
    "4 execute-call dry run names the exact refusal", "4 execute-call says what remains"
)
def test_execute_call__each_refusal_of_the_contract__is_named_as_the_chain_then_gives_it(
    world: World,
) -> None:
    usdc, adapter = world.chain.contracts["usdc"], world.chain.contracts["test_venue_adapter"]
    whole_budget = {
        "function": "approve(address,uint256)",
        "args": [STRANGER.address, "1"],
        "target": usdc,
    }
    refused = [
        (world.buy(1, "0", **whole_budget), "TargetNotAllowed"),
        (world.buy(1, function="donate(uint256)"), "TargetNotAllowed"),
        (world.buy(201), "OverPerTxCap"),
        (world.buy(1, "0.999999"), "ERC20InsufficientAllowance"),
        (world.buy(5, "0", target=adapter, function="sell(uint256)"), "OverPosition"),
    ]
    for call, name in refused:
        check = call["check"]
        assert (check["ok"], check["reason"], check["source"], call["gas"]) == (
            False,
            name,
            "chain",
            None,
        ), name
        assert check["remaining"]["per_action_max"]["value"] == "200.000000"
        assert world.chain.send(AGENT, call["to"], call["data"]).status == 0
    for _ in range(2):
        world.send(AGENT, world.buy(200))
    over = world.buy(50, "50.000001")
    assert (over["check"]["ok"], over["check"]["reason"]) == (False, "OverDailyCap")
    assert over["check"]["remaining"]["left_today"]["value"] == "50.000000"
    assert world.buy(50)["check"]["ok"] is True
    shown = [one["payload"]["refusal"] for one in ledger(world) if "refusal" in one["payload"]]
    assert sorted(one["reason"] for one in shown) == [
        "OverPerTxCap",
        "TargetNotAllowed",
        "TargetNotAllowed",
        "unknown",
        "unknown",
    ]


def test_execute_call__of_an_exit_with_an_amount__is_refused_by_name_and_of_0_is_built(
    world: World,
) -> None:
    adapter = world.chain.contracts["test_venue_adapter"]
    world.send(AGENT, world.buy(50))
    body = {"target": adapter, "function": "sell(uint256)", "args": [str(50 * USDC)]}
    for dry_run in (True, False):
        refused = world.stage.call(
            "POST",
            f"{world.path}/execute-call",
            world.stage.agent,
            body | {"amount_usdc": "1", "dry_run": dry_run},
        )
        assert reason(refused) == (400, "invalid_number")
        assert "is an exit and spends nothing; send 0" in refused.text
    assert (
        world.stage.post(
            f"{world.path}/execute-call", world.stage.agent, body | {"amount_usdc": "0"}
        )["check"]["ok"]
        is True
    )


def ledger(world: World) -> list[dict[str, Any]]:
    return list(world.stage.get(f"{world.path}/ledger", world.stage.owner, limit=200)["events"])


def drain(world: World, venue: str) -> None:
    """The venue's USDC is gone, so that it can't pay for what it holds."""
    call, usdc = world.chain.rpc.call, world.chain.contracts["usdc"]
    call("anvil_impersonateAccount", [venue])
    call("anvil_setBalance", [venue, hex(10**18)])
    data = calldata.transfer(OPERATOR.address, world.chain.reader.usdc_balance(venue))
    call("eth_sendTransaction", [{"from": venue, "to": usdc, "data": data, "gas": hex(500_000)}])
    world.chain.anvil.mine()
    assert world.chain.reader.usdc_balance(venue) == 0


@pytest.mark.row(
    "4 execute-call dry run names the exact refusal",
    "3.2 agent removal on chain pauses",
    "3.2 agent set on chain resumes",
)
def test_execute_call__while_paused__is_refused_and_resumed__passes(world: World) -> None:
    stage = world.stage
    world.send(OWNER, stage.get(f"{world.path}/set-agent-call", stage.owner))
    paused = world.read()
    assert (
        paused["mandate"]["paused"],
        paused["mandate"]["status"],
        paused["chain_state"]["agent"],
    ) == (True, "working", None)
    assert paused["mandate"]["paused_at"] == paused["mandate"]["last_paused_at"] is not None
    assert paused["steps"][0]["note"] == "Paused: agent removed on chain"
    check = world.buy(1)["check"]
    assert (check["ok"], check["reason"], check["source"]) == (False, "NoAgent", "chain")
    world.send(
        OWNER, stage.get(f"{world.path}/set-agent-call", stage.owner, agent_wallet=AGENT.address)
    )
    resumed = world.read()["mandate"]
    assert (resumed["paused"], resumed["paused_at"]) == (False, None)
    assert (resumed["last_paused_at"], resumed["last_resumed_at"] is not None) == (
        paused["mandate"]["last_paused_at"],
        True,
    )
    assert world.buy(1)["check"]["ok"] is True


@pytest.mark.row("4 execute-call dry run names the exact refusal")
def test_execute_call__before_the_budget_is_in_the_vault__says_so(world: World) -> None:
    world.mandate_id = world.stage.signed()
    world.send(OWNER, world.stage.get(f"{world.path}/deploy-call", world.stage.owner))
    call = world.buy(1)
    assert (call["check"]["ok"], call["check"]["reason"], call["gas"]) == (
        False,
        "MandateNotFunded",
        None,
    )
    assert set(map(str, call["check"]["remaining"].values())) == {str(UNKNOWN)}
    modelled = world.buy(1, dry_run=False)["check"]
    assert (modelled["ok"], modelled["reason"], modelled["source"]) == (
        False,
        "MandateNotFunded",
        "ledger",
    )


@pytest.mark.row(
    "4 unwind-call",
    "4 unwind-call says what remains",
    "4 unwind-call dry run names the exact refusal",
)
def test_unwind_call__is_tried_as_the_owner_with_gas_and_names_the_refusal(world: World) -> None:
    stage, venue = world.stage, world.chain.contracts["test_venue"]
    path = f"{world.path}/unwind-call"
    nothing = stage.post(path, stage.owner)
    assert (nothing["data"], nothing["reason"], nothing["gas"], nothing["check"]) == (
        None,
        "nothing_to_unwind",
        None,
        None,
    )
    world.send(AGENT, world.buy(40))
    call = stage.post(path, stage.agent)
    assert call == stage.post(path, stage.owner)
    assert (call["units"], call["who_signs"], call["to"], call["value"]) == (
        str(40 * USDC),
        "owner",
        world.vault,
        0,
    )
    assert (call["check"]["ok"], call["check"]["reason"], call["check"]["source"]) == (
        True,
        None,
        "chain",
    )
    assert call["check"]["remaining"] == world.read()["limits"]["used"]
    assert call["gas"] > 21_000
    for thief in (AGENT, STRANGER, KEEPER):
        assert world.chain.send(thief, call["to"], call["data"]).status == 0
    drain(world, venue)
    refused = stage.post(path, stage.owner)
    assert (refused["check"]["ok"], refused["gas"], refused["data"]) == (False, None, call["data"])
    assert refused["check"]["reason"] == "ERC20InsufficientBalance"
    assert refused["check"]["remaining"]["left_today"]["value"] == "410.000000"

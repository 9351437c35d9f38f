"""The way out by clicks alone, with the service gone: stop, close the position, withdraw."""

from collections.abc import Callable
from typing import Any

from core.chain.abi import function
from core.mandate.chain import calldata
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.exit.conftest import Visit
from tests.integration.exit.scripted_wallet import ScriptedWallet
from tests.personas import OWNER

Open = Callable[..., Visit]
DAY_S = 86_400


def status_of(chain: DeployedChain, vault: str) -> int:
    answer = chain.rpc.call(
        "eth_call", [{"to": vault, "data": function("MandateVault", "status").selector}, "latest"]
    )
    return int(answer, 16)


def test_the_whole_way__by_clicks__brings_the_money_home(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet
) -> None:
    vault = deployed.create_vault(deployed.terms("m_exit"))
    deployed.buy(vault, 50 * USDC)
    before = deployed.reader.usdc_balance(OWNER.address)
    page = visit(owner_wallet)
    page.connect()
    page.find()
    page.see("All blocks were looked at: 1 vault found.")
    page.see("The agent can still act. Stop the mandate first.")

    page.press("Stop the mandate")
    page.see("Close the open positions")
    page.press("Close the position")
    page.see("The money can be withdrawn now.")
    page.press("Withdraw 1,000.000000 USDC")
    page.see("There is nothing left to take out.")

    assert status_of(deployed, vault) == 2
    assert deployed.reader.usdc_balance(OWNER.address) - before == 1000 * USDC
    assert len(owner_wallet.sent) == 3
    assert page.errors == []
    assert [url for url in page.requests if not url.startswith("data:")] == [
        page.page.url.split("#")[0]
    ]


def test_a_wallet_that_batches__stops_and_withdraws_in_one_request(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet
) -> None:
    vault = deployed.create_vault(deployed.terms("m_batch"))
    hashes: list[str] = []

    def send_calls(batch: dict[str, Any]) -> dict[str, str]:
        sender = {"from": batch["from"]}
        hashes.extend(owner_wallet._eth_sendTransaction(one | sender) for one in batch["calls"])
        return {"id": "batch-1"}

    def status(_id: str) -> dict[str, Any]:
        receipts = [{"transactionHash": one, "status": "0x1"} for one in hashes]
        return {"status": 200, "atomic": True, "receipts": receipts}

    owner_wallet.answers |= {
        "wallet_getCapabilities": lambda *_: {"0x14a34": {"atomic": {"status": "supported"}}},
        "wallet_sendCalls": send_calls,
        "wallet_getCallsStatus": status,
    }
    page = visit(owner_wallet)
    page.connect()
    page.paste(vault)
    page.press("Stop and withdraw at once")
    page.see("There is nothing left to take out.")

    assert (status_of(deployed, vault), deployed.reader.usdc_balance(vault)) == (2, 0)
    assert owner_wallet.methods().count("wallet_sendCalls") == 1


def test_a_deposit_before_the_budget_is_full__can_be_taken_back_without_a_stop(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet
) -> None:
    vault = deployed.create_vault(deployed.terms("m_funding"), fund=False)
    deployed.mint(OWNER.address, 5 * USDC)
    deployed.succeed(OWNER, deployed.contracts["usdc"], calldata.approve(vault, 5 * USDC))
    deployed.succeed(OWNER, vault, calldata.deposit(5 * USDC))
    page = visit(owner_wallet)
    page.connect()
    page.paste(vault)
    page.press("Withdraw 5.000000 USDC")
    page.see("There is nothing left to take out.")

    assert deployed.reader.usdc_balance(vault) == 0


def test_the_day_after_the_end__is_waited_for_and_then_no_stop_is_needed(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet
) -> None:
    terms = deployed.terms("m_grace")
    vault = deployed.create_vault(terms)
    deployed.rpc.call("evm_setNextBlockTimestamp", [terms.ends_at])
    deployed.anvil.mine()
    page = visit(owner_wallet)
    page.connect()
    page.paste(vault)
    page.see("The agent's fee is settled first; withdraw from")
    assert page.page.get_by_role("button", name="Stop the mandate", exact=True).count() == 0

    deployed.rpc.call("evm_setNextBlockTimestamp", [terms.ends_at + DAY_S])
    deployed.anvil.mine()
    page.press("Read the vault again")
    page.press("Withdraw 1,000.000000 USDC")
    page.see("There is nothing left to take out.")

    assert deployed.reader.usdc_balance(vault) == 0

"""The way out by clicks alone, with the service gone: stop, close the position, withdraw."""

from collections.abc import Callable

from core.chain.abi import function
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.exit.browser_wallet import BrowserWallet
from tests.integration.exit.conftest import Visit
from tests.personas import OWNER

Open = Callable[..., Visit]


def status_of(chain: DeployedChain, vault: str) -> int:
    answer = chain.rpc.call(
        "eth_call", [{"to": vault, "data": function("MandateVault", "status").selector}, "latest"]
    )
    return int(answer, 16)


def test_the_whole_way__by_clicks__brings_the_money_home(
    visit: Open, deployed: DeployedChain, owner_wallet: BrowserWallet
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

"""A wallet that answers late, and a node that gives no verdict: nothing is sent twice, and a stop goes out."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from core.mandate.chain import calldata
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.exit.conftest import Visit
from tests.integration.exit.scripted_wallet import ScriptedWallet, WalletRefusal
from tests.integration.exit.test_exit_story import status_of
from tests.personas import AGENT, OWNER

Open = Callable[..., Visit]
PATIENCE = "10:01"


@pytest.fixture
def vault(deployed: DeployedChain) -> str:
    return deployed.create_vault(deployed.terms("m_late"))


@pytest.fixture
def leaving(visit: Open, owner_wallet: ScriptedWallet, vault: str) -> Visit:
    """The owner, before the vault's steps."""
    page = visit(owner_wallet)
    page.page.clock.install()
    page.connect()
    page.paste(vault)
    page.see("The agent can still act.")
    return page


def unanswered(page: Visit, button: str) -> None:
    page.wallet.is_asleep = True
    page.press(button)
    page.see("Confirm it in your wallet.")
    while "eth_sendTransaction" not in page.wallet.methods():
        page.page.wait_for_timeout(50)
    page.page.clock.fast_forward(PATIENCE)
    page.see("Your wallet has not answered yet.")


def test_a_withdrawal_confirmed_after_ten_minutes__is_followed_to_its_block(
    leaving: Visit, deployed: DeployedChain, vault: str
) -> None:
    deployed.succeed(OWNER, vault, calldata.stop("owner"))
    leaving.press("Read the vault again")
    unanswered(leaving, "Withdraw 1,000.000000 USDC")
    leaving.press("Withdraw 1,000.000000 USDC")
    leaving.see("“Withdraw” is still under way: see below.")
    leaving.wake()

    leaving.see("There is nothing left to take out.")
    assert leaving.wallet.sent[0] in leaving.card("mined")
    assert len(leaving.wallet.sent) == 1
    assert deployed.reader.usdc_balance(vault) == 0


def test_a_stop_whose_answer_was_lost__is_found_on_the_chain_and_not_sent_again(
    leaving: Visit, deployed: DeployedChain, vault: str
) -> None:
    unanswered(leaving, "Stop the mandate")
    call = {"from": OWNER.address, "to": vault, "data": calldata.stop("owner")}
    tx_hash = leaving.wallet._eth_sendTransaction(call)
    for _ in range(40):
        deployed.anvil.mine()
    leaving.press("Try again")

    leaving.see("The money can be withdrawn now.")
    assert tx_hash in leaving.card("mined")
    assert leaving.wallet.methods().count("eth_sendTransaction") == 1


def test_a_stop_still_in_the_wallet_after_a_reload__is_found_and_not_sent_again(
    leaving: Visit,
) -> None:
    leaving.wallet.is_asleep = True
    leaving.press("Stop the mandate")
    while not leaving.wallet.held:
        leaving.page.wait_for_timeout(50)
    leaving.page.reload()
    leaving.see("The agent can still act.")
    leaving.see("before the page was loaded again")
    leaving.wallet.is_asleep = False
    leaving.press("Stop the mandate")
    leaving.see("“Stop the mandate” is still under way: see below.")
    leaving.wallet._eth_sendTransaction(leaving.wallet.held.pop())

    leaving.see("The money can be withdrawn now.")
    assert len(leaving.wallet.sent) == 1


def test_another_transaction_meanwhile__is_named_before_anything_is_sent_again(
    leaving: Visit, deployed: DeployedChain
) -> None:
    def lost(*_: Any) -> Any:
        raise WalletRefusal(-32603, "relay closed")

    leaving.wallet.answers["eth_sendTransaction"] = lost
    leaving.press("Stop the mandate")
    leaving.see("Your wallet or its node could not complete the request.")
    other = leaving.wallet._eth_sendTransaction({"from": OWNER.address, "to": AGENT.address})
    del leaving.wallet.answers["eth_sendTransaction"]
    leaving.press("Try again")
    leaving.see("Your account has sent another transaction since.")
    assert other in leaving.card("built")
    assert leaving.wallet.sent == [other]

    leaving.press("Send it all the same")
    leaving.see("The money can be withdrawn now.")
    assert len(leaving.wallet.sent) == 2


def test_a_stop_that_could_not_be_simulated__can_be_sent(
    leaving: Visit, deployed: DeployedChain, vault: str
) -> None:
    def none(*_: Any) -> Any:
        raise WalletRefusal(-32601, "no")

    leaving.wallet.answers["eth_call"] = none
    leaving.press("Stop the mandate")
    leaving.see("This could not be simulated")
    assert leaving.wallet.sent == []
    leaving.press("Send anyway")

    leaving.page.locator('article[data-phase="mined"]').wait_for()
    assert status_of(deployed, vault) == 2


def test_a_vault_that_cannot_be_read_at_all__can_be_stopped(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet, vault: str
) -> None:
    def none(*_: Any) -> Any:
        raise WalletRefusal(-32601, "no")

    owner_wallet.answers["eth_call"] = none
    page = visit(owner_wallet)
    page.connect()
    page.paste(vault)
    page.see("The vault could not be read.")
    page.press("Stop the mandate unread")
    page.press("Send anyway")

    page.page.locator('article[data-phase="mined"]').wait_for()
    assert status_of(deployed, vault) == 2


def test_what_the_factory_did_not_make__has_no_stop(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet
) -> None:
    page = visit(owner_wallet)
    page.connect()
    page.paste(deployed.contracts["test_venue"])
    page.see("Do not send it anything.")

    expect(page.page.get_by_role("button", name="unread")).to_have_count(0)


def test_a_stop_that_would_revert__can_be_sent_by_the_owner_s_word(
    leaving: Visit, deployed: DeployedChain, vault: str
) -> None:
    deployed.succeed(AGENT, vault, calldata.stop("agent"))
    leaving.press("Stop the mandate")
    leaving.see("The contract would refuse it. Nothing was sent.")
    assert leaving.wallet.sent == []
    leaving.press("Send anyway")

    leaving.see("It was mined and changed nothing; only the gas is gone.")
    assert len(leaving.wallet.sent) == 1

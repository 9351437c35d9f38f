"""What goes wrong on the way out, and what the page says then."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from core.chain.abi import function
from core.mandate.chain import calldata
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.exit.conftest import Visit
from tests.integration.exit.scripted_wallet import ScriptedWallet, WalletRefusal, rejected
from tests.integration.exit.test_exit_story import status_of
from tests.personas import AGENT, OWNER, STRANGER

Open = Callable[..., Visit]
HOSTILE = "<img src=x onerror=alert(1)>\u202egnp.exe" + "w" * 10_000


@pytest.fixture
def vault(deployed: DeployedChain) -> str:
    return deployed.create_vault(deployed.terms("m_refused"))


@pytest.fixture
def leaving(visit: Open, owner_wallet: ScriptedWallet, vault: str) -> Visit:
    """The owner, before the vault's steps."""
    page = visit(owner_wallet)
    page.connect()
    page.paste(vault)
    page.see("The agent can still act.")
    return page


def test_a_signature_that_is_rejected__sends_nothing_and_can_be_asked_again(
    leaving: Visit, deployed: DeployedChain, vault: str
) -> None:
    leaving.wallet.answers["eth_sendTransaction"] = rejected
    leaving.press("Stop the mandate")
    leaving.see("You declined the request in your wallet. Nothing was sent.")
    assert leaving.wallet.sent == []

    del leaving.wallet.answers["eth_sendTransaction"]
    leaving.press("Try again")
    leaving.see("The money can be withdrawn now.")
    assert status_of(deployed, vault) == 2


def test_another_network__offers_no_step_until_the_wallet_is_back(leaving: Visit) -> None:
    leaving.wallet.chain_id = 1
    leaving.emit("chainChanged", "0x1")
    leaving.see("Your wallet is on network 1; this vault is on Base Sepolia.")
    assert leaving.page.get_by_role("button", name="Stop the mandate", exact=True).count() == 0

    leaving.press("Switch the wallet to Base Sepolia")
    leaving.page.get_by_role("button", name="Stop the mandate", exact=True).wait_for()


def test_a_network_that_changed_unseen__is_noticed_before_anything_is_signed(
    leaving: Visit,
) -> None:
    leaving.wallet.chain_id = 1
    leaving.press("Stop the mandate")

    leaving.see("Your wallet is on network 1; this needs network 84532.")
    assert "eth_sendTransaction" not in leaving.wallet.methods()


def test_another_account__is_followed_at_once_and_offered_no_step(leaving: Visit) -> None:
    leaving.wallet.persona = STRANGER
    leaving.emit("accountsChanged", [STRANGER.address])

    leaving.see("Your wallet's account is not the owner")
    assert leaving.page.get_by_role("button", name="Stop the mandate", exact=True).count() == 0


def test_a_call_that_would_revert__is_not_sent(
    leaving: Visit, deployed: DeployedChain, vault: str
) -> None:
    deployed.succeed(AGENT, vault, calldata.stop("agent"))
    leaving.press("Stop the mandate")

    leaving.see("The contract would refuse it. Nothing was sent. The mandate was stopped at")
    assert "MandateStopped(" in leaving.card("refused")
    assert leaving.wallet.sent == []
    leaving.see("The money can be withdrawn now.")  # the vault is read again


def test_a_transaction_that_reverts__says_why(
    leaving: Visit, deployed: DeployedChain, vault: str
) -> None:
    send = leaving.wallet._eth_sendTransaction

    def after_the_agent(call: dict[str, str]) -> str:
        deployed.succeed(AGENT, vault, calldata.stop("agent"))
        return send(call)

    leaving.wallet.answers["eth_sendTransaction"] = after_the_agent
    leaving.press("Stop the mandate")

    leaving.see(
        "It was mined and changed nothing; only the gas is gone. The mandate was stopped at"
    )
    assert "MandateStopped(" in leaving.card("reverted")
    leaving.see("The money can be withdrawn now.")


def test_a_reload_in_the_middle__loses_nothing(
    leaving: Visit, deployed: DeployedChain, vault: str
) -> None:
    deployed.rpc.call("evm_setAutomine", [False])
    leaving.press("Stop the mandate")
    leaving.see("On its way.")
    leaving.page.reload()

    leaving.see("The agent can still act.")
    assert leaving.wallet.sent[0] in leaving.card("sent")
    deployed.rpc.call("evm_mine", [])
    leaving.see("Done.")
    deployed.rpc.call("evm_setAutomine", [True])
    assert status_of(deployed, vault) == 2


def test_a_browser_without_a_wallet__says_how_to_get_on(visit: Open) -> None:
    page = visit()

    page.see("This browser has no wallet.")
    page.press("Find my vaults")
    page.see("Connect your wallet first: it is what reads the chain.")


def test_two_wallets__are_both_offered_and_their_words_are_text(
    visit: Open, deployed: DeployedChain
) -> None:
    plain = ScriptedWallet(deployed.rpc)
    hostile = ScriptedWallet(
        deployed.rpc,
        name=HOSTILE,
        uuid="2",
        rdns="<b>",
        icon="https://example.org/i.svg",
        persona=STRANGER,
    )
    page = visit(plain, hostile)

    assert page.page.get_by_role("button", name="Connect").count() == 2
    shown = page.page.get_by_role("button", name="Connect <img").inner_text()
    assert (len(shown), "\u202e" in shown) == (len("Connect ") + 40, False)
    assert page.page.locator("#wallet img").count() == 1  # the icon that is a data: URI
    assert not [url for url in page.requests if "example.org" in url]
    page.press("Connect <img")
    page.see(STRANGER.address.lower())


def test_a_wallet_that_only_injects_itself__is_called_browser_wallet(
    visit: Open, owner_wallet: ScriptedWallet
) -> None:
    owner_wallet.is_announced, owner_wallet.is_injected = False, True
    page = visit(owner_wallet)

    page.page.get_by_role("button", name="Connect Browser wallet").click()
    page.see(OWNER.address.lower())


def test_a_node_that_refuses_long_ranges__is_asked_for_shorter_ones(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet, vault: str
) -> None:
    spans = []

    def short_only(wanted: dict[str, str]) -> Any:
        span = int(wanted["toBlock"], 16) - int(wanted["fromBlock"], 16) + 1
        spans.append(span)
        if span > 8:
            raise WalletRefusal(-32005, "query exceeds max block range 8")
        return owner_wallet._forward("eth_getLogs", [wanted])

    owner_wallet.answers["eth_getLogs"] = short_only
    page = visit(owner_wallet)
    page.connect()
    page.find()

    page.see("All blocks were looked at: 1 vault found.")
    page.see(vault)
    assert spans[0] > 8


def test_logs_that_a_node_makes_up__are_no_vaults(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet, vault: str
) -> None:
    def with_forged(wanted: dict[str, str]) -> Any:
        logs = owner_wallet._forward("eth_getLogs", [wanted])
        other = deployed.contracts["test_venue"].removeprefix("0x").lower().rjust(64, "0")
        topics = [logs[0]["topics"][0], "0x" + other, *logs[0]["topics"][2:]]
        elsewhere = logs[0] | {"address": deployed.contracts["usdc"]}
        return [{}, None, "x", elsewhere, logs[0] | {"topics": topics}, *logs]

    owner_wallet.answers["eth_getLogs"] = with_forged
    page = visit(owner_wallet)
    page.connect()
    page.find()

    page.see(f"did not make {deployed.contracts['test_venue']}. Do not send it anything.")
    page.see("The agent can still act.")


@pytest.mark.parametrize(
    ("pasted", "said"),
    [
        ("0x12", "Not an address, or mistyped: 0x12"),
        (OWNER.address.replace("7", "8", 1), "Not an address, or mistyped"),
        ("", "Paste at least one address."),
        (STRANGER.address, f"There is no contract at {STRANGER.address} on this network."),
    ],
)
def test_addresses_that_are_no_vaults__are_named(
    visit: Open, owner_wallet: ScriptedWallet, pasted: str, said: str
) -> None:
    page = visit(owner_wallet)
    page.connect()
    page.paste(pasted)

    page.see(said)


def test_storage_with_foreign_content__is_ignored(
    visit: Open, owner_wallet: ScriptedWallet
) -> None:
    page = visit(owner_wallet)
    key = f"mandate-wallet.pending.1.84532.{OWNER.address.lower()}"
    content = json.dumps([None, 7, {"hash": "<script>"}, {"hash": "0x" + "0" * 64, "to": 1}])
    page.page.evaluate("([key, value]) => localStorage.setItem(key, value)", [key, content])
    kept = json.dumps([None, {"chainId": "1"}, {"chainId": 1, "factory": "<b>", "address": "x"}])
    page.page.evaluate("value => sessionStorage.setItem('mandate-wallet.exit', value)", kept)
    page.connect()

    expect(page.page.locator("#earlier")).to_be_hidden()
    expect(page.page.locator("#vaults")).to_be_empty()
    assert page.errors == []


def test_an_owner_that_is_a_safe__gets_files_for_it(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet, vault: str
) -> None:
    owner_wallet.persona = STRANGER
    page = visit(owner_wallet)
    page.connect()
    page.paste(vault)
    page.see("Your wallet's account is not the owner")
    page.page.get_by_text("The owner is a Safe").click()
    with page.page.expect_download() as download:
        page.press("File: Stop the mandate")
    batch = json.loads(download.value.path().read_text())

    assert (batch["chainId"], batch["meta"]["createdFromSafeAddress"]) == ("84532", OWNER.address)
    assert batch["transactions"] == [
        {
            "to": vault,
            "value": "0",
            "data": calldata.stop("owner"),
            "contractMethod": None,
            "contractInputsValues": None,
        }
    ]


def test_a_node_that_names_another_owner__gets_no_file_that_pays_it(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet, vault: str
) -> None:
    deployed.succeed(OWNER, vault, calldata.stop("owner"))
    owner_wallet.persona = STRANGER
    thief = AGENT.address
    owner = function("MandateVault", "owner").selector

    def lie(call: dict[str, str], at: str) -> Any:
        if call["data"] == owner:
            return "0x" + thief[2:].lower().rjust(64, "0")
        return owner_wallet._forward("eth_call", [call, at])

    owner_wallet.answers["eth_call"] = lie
    page = visit(owner_wallet)
    page.connect()
    page.page.get_by_label("Owner").fill(OWNER.address)
    page.paste(vault)
    page.page.get_by_text("The owner is a Safe").click()
    files: list[Any] = []
    page.page.on("download", lambda file: files.append(file))
    page.press("File: Withdraw")
    page.see(f"This file would pay {thief}, the owner by the word of your wallet's node.")
    assert files == []

    del owner_wallet.answers["eth_call"]
    page.press("Read the vault again")
    page.see(f"Your wallet's account is not the owner {OWNER.address}")
    with page.page.expect_download() as download:
        page.press("File: Withdraw")
    [paid] = json.loads(download.value.path().read_text())["transactions"]
    assert OWNER.address[2:].lower() in paid["data"]


def test_another_token_in_the_vault__can_be_taken_too(
    leaving: Visit, deployed: DeployedChain, vault: str
) -> None:
    token = deployed.deploy("MockUSDC")
    usdc, deployed.contracts["usdc"] = deployed.contracts["usdc"], token
    deployed.mint(vault, 7 * USDC)
    deployed.contracts["usdc"] = usdc
    leaving.press("Stop the mandate")
    leaving.see("The money can be withdrawn now.")
    leaving.page.get_by_text("Another token in the vault").first.click()
    leaving.page.get_by_label("Address of the token").first.fill(token)
    leaving.press("Withdraw all of it")
    leaving.page.locator('article[data-phase="mined"]').nth(1).wait_for()

    answer = deployed.rpc.call(
        "eth_call",
        [{"to": token, "data": "0x70a08231" + "0" * 24 + OWNER.address[2:].lower()}, "latest"],
    )
    assert int(answer, 16) == 7 * USDC


def test_a_request_of_its_own__is_refused_by_the_page_s_own_policy(visit: Open) -> None:
    page = visit()
    asked = page.page.evaluate("fetch('/anything').then(() => 'sent', () => 'refused')")

    assert asked == "refused"
    assert "Content Security Policy" in page.errors[0]


def test_text_of_a_node__is_never_html(leaving: Visit, deployed: DeployedChain, vault: str) -> None:
    def hostile(*_: Any) -> Any:
        raise WalletRefusal(-32000, HOSTILE)

    leaving.wallet.answers["eth_sendTransaction"] = hostile
    leaving.press("Stop the mandate")
    leaving.see("Your wallet or its node could not complete the request.")

    assert leaving.page.locator("article img").count() == 0
    assert "Wallet: <img src=x" in leaving.card("built")
    assert "\u202e" not in leaving.card("built")


def test_an_adapter_that_does_not_answer__hides_nothing_else(
    leaving: Visit, deployed: DeployedChain
) -> None:
    adapter = deployed.contracts["test_venue_adapter"]
    deployed.rpc.call("anvil_setCode", [adapter, "0x60006000fd"])  # reverts always
    leaving.press("Read the vault again")
    leaving.see(f"Position at {adapter}: it does not say whether there is one.")
    leaving.press("Stop the mandate")
    leaving.press("Withdraw 1,000.000000 USDC")

    leaving.see("You can take out")
    leaving.page.locator('article[data-phase="mined"]').nth(1).wait_for()


def test_two_vaults__are_left_apart(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet, vault: str
) -> None:
    other = deployed.create_vault(deployed.terms("m_other", nonce=2))
    page = visit(owner_wallet)
    page.connect()
    page.find()
    page.see("All blocks were looked at: 2 vaults found.")
    first = page.page.locator("section.vault").filter(has_text=other)
    first.get_by_role("button", name="Stop the mandate", exact=True).click()
    first.get_by_text("The money can be withdrawn now.").wait_for()

    assert (status_of(deployed, vault), status_of(deployed, other)) == (1, 2)

"""The least that a sale may bring, by clicks: proposed from the worth, lowered by the owner alone; and the
way out of a pool that pays nobody.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from playwright.sync_api import expect

from core.chain.abi import call_by_signature
from core.mandate.chain import calldata
from core.mandate.chain.calldata import VaultCall
from core.mandate.chain.typed_data import rules_hash
from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.exit.conftest import Visit
from tests.integration.exit.scripted_wallet import ScriptedWallet
from tests.personas import AGENT, DEPLOYER

Open = Callable[..., Visit]
LENT = 100 * USDC
LEAST = "Least that you accept, in USDC"


@pytest.fixture
def deployed(deployed: DeployedChain) -> DeployedChain:
    """With a pool that can fail, and its adapter in the list."""
    at = deployed.contracts
    pool = deployed.deploy("FaultyPool", at["usdc"])
    adapter = deployed.deploy("Erc4626Adapter", at["factory"], pool, 0, 2_000, 50)
    deployed.succeed(DEPLOYER, at["factory"], calldata.list_adapter(adapter))
    return replace(deployed, contracts={**at, "test_pool": pool, "erc4626_adapter": adapter})


@pytest.fixture
def vault(deployed: DeployedChain) -> str:
    """That has lent 100 USDC."""
    adapter = deployed.contracts["erc4626_adapter"]
    rules = deployed.reader.adapter_rules(adapter)
    terms = deployed.terms("m_least", allowed_targets_hash=rules_hash(rules))
    made = deployed.create_vault(terms, rules=rules)
    deposit = call_by_signature("deposit(uint256,uint256)", [LENT, 0])
    deployed.succeed(AGENT, made, calldata.execute(VaultCall(adapter, LENT, deposit)))
    return made


def pool(chain: DeployedChain, signature: str, *arguments: Any) -> None:
    data = call_by_signature(signature, arguments)
    chain.succeed(DEPLOYER, chain.contracts["test_pool"], data)


def stopped(visit: Open, wallet: ScriptedWallet, vault: str) -> Visit:
    page = visit(wallet)
    page.connect()
    page.paste(vault)
    page.press("Stop the mandate")
    page.see("Close the open positions")
    return page


def sent_least(wallet: ScriptedWallet) -> int:
    """Of the newest transaction: the last word of the redemption in it."""
    data = wallet.rpc.call("eth_getTransactionByHash", [wallet.sent[-1]])["input"]
    start = data.index("7cbc2373") + 8
    return int(data[start + 64 : start + 128], 16)


def test_sale__is_proposed_for_the_worth_less_one_percent(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet, vault: str
) -> None:
    page = stopped(visit, owner_wallet, vault)
    expect(page.page.get_by_label(LEAST).first).to_have_value("99.000000")
    page.press("Close the position")
    page.see("The money can be withdrawn now.")
    assert sent_least(owner_wallet) == 99 * USDC
    assert deployed.reader.usdc_balance(vault) == 1_000 * USDC


def test_sale__lowered_to_0_by_the_owner__accepts_any_price(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet, vault: str
) -> None:
    page = stopped(visit, owner_wallet, vault)
    page.page.get_by_label(LEAST).first.fill("0")
    page.press("Close the position")
    page.see("The money can be withdrawn now.")
    assert sent_least(owner_wallet) == 0


def test_sale__of_unknown_worth__waits_for_the_owners_minimum(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet, vault: str
) -> None:
    pool(deployed, "setSilent(bool)", True)
    page = stopped(visit, owner_wallet, vault)
    page.see("Its worth is unknown, so type the least that you accept")
    page.press("Close the position")
    page.see("Type the least that you accept, such as 99.5")
    assert len(owner_wallet.sent) == 1
    page.page.get_by_label(LEAST).first.fill("99.5")
    page.press("Close the position")
    page.see("The money can be withdrawn now.")
    assert sent_least(owner_wallet) == 99_500_000


def test_pool_that_pays_nobody__hands_over_its_shares(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet, vault: str
) -> None:
    pool(deployed, "setPaused(bool)", True)
    page = stopped(visit, owner_wallet, vault)
    page.press("Take its tokens instead")
    page.see("The money can be withdrawn now.")
    shares = deployed.reader.view(
        "MockUSDC", "balanceOf", deployed.contracts["test_pool"], "latest", vault
    )
    assert shares == LENT * 10**6

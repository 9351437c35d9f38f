"""Venues in the console: chosen by name in a draft, and left for no less than the owner accepts."""

from playwright.sync_api import expect

from api.client import Wallet
from api.client.examples.owner import give_mandate, hire
from tests.browser.conftest import Open, Place, until

LEAST = "Least that you accept"


def test_form__venues_chosen_by_name__are_the_drafts_targets(open_page: Open, place: Place) -> None:
    opened = open_page(place.wallet())
    page = opened.page
    opened.go()
    opened.sign_in()
    opened.go("new")
    page.get_by_label("What is it for?").fill("Lend, and swap.")
    page.get_by_text("More: approval threshold").click()
    page.get_by_label("Only the venues that I choose").check()
    page.get_by_role("button", name="Save and read the terms").click()
    expect(page.get_by_text("Choose at least one venue.")).to_be_visible()
    page.get_by_label("Lending pool (ERC-4626)").check()
    page.get_by_label("Uniswap v3").check()
    page.get_by_label("Test venue").check()
    page.get_by_label("Test venue").uncheck()
    page.get_by_role("button", name="Save and read the terms").click()
    expect(page.locator("[data-clause=stop_line]")).to_contain_text("950 USDC")
    with place.owner() as owner:
        targets = owner.mandates.read(page.url.rpartition("/")[2])["mandate"]["allowed_targets"]
    at = place.facts["contracts"]
    wanted = {at["erc4626_adapter"], at["uniswap_v3_adapter"]}
    assert {one["address"] for one in targets} == wanted
    assert opened.errors == []


def test_plan__a_sale__reverts_below_what_the_owner_accepts(open_page: Open, place: Place) -> None:
    adapter = place.facts["contracts"]["erc4626_adapter"]
    with place.owner() as owner, Wallet(place.key("owner"), place.rpc_url) as wallet:
        agent, key = hire(owner, wallet, "lender")
        mandate_id = give_mandate(owner, wallet, agent.user_id)
        with agent, Wallet(key, place.rpc_url) as sender:
            agent.mandates.accept(mandate_id)
            call = agent.mandates.execute_call(
                mandate_id,
                target=adapter,
                function="deposit(uint256,uint256)",
                args=["100000000", "0"],
                amount_usdc="100.000000",
            )
            sender.send(call)
        wallet.send(owner.mandates.stop_call(mandate_id))
        until(lambda: owner.mandates.read(mandate_id)["mandate"]["status"] == "stopped")
    opened = open_page(place.wallet())
    page = opened.page
    opened.go()
    opened.sign_in()
    opened.go(f"mandates/{mandate_id}")
    page.get_by_role("button", name="Close all").click()
    least = page.get_by_label(LEAST)
    expect(least).to_have_value("99.000000")
    least.fill("0")
    expect(page.get_by_text("At 0 the sale accepts any price.")).to_be_visible()
    least.fill("99.5")
    page.get_by_role("button", name="Unwind").click()
    card = page.locator("[data-card]").first
    expect(card).to_contain_text(
        "Sell the position at Lending pool (ERC-4626) for at least 99.50 USDC"
    )
    expect(card).to_contain_text("A sale that would bring less than 99.50 USDC is refused.")
    card.get_by_role("button", name="Send with wallet").click()
    expect(card).to_have_attribute("data-phase", "recorded", timeout=45_000)
    assert opened.errors == []

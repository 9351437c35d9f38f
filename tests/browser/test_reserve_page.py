"""The Reserve page by clicks: a quote as one types, a purchase, a redemption, a conversion into credit."""

import re

from playwright.sync_api import Page, expect

from api.client import Client
from tests.browser.conftest import Open, Opened, Place

NOBODYS = "0x" + "ab" * 32


def connected(open_page: Open, place: Place) -> Opened:
    opened = open_page(place.wallet())
    opened.go("reserve")
    opened.page.get_by_role("button", name=opened.wallet.name).click()
    expect(opened.page.get_by_text("Your wallet holds").first).to_be_visible()
    return opened


def send(page: Page, title: str) -> None:
    """Send the newest card, which has that title, and wait until it is mined."""
    newest = page.locator("[data-card]").first
    expect(newest).to_contain_text(title)
    # the card of the next transaction takes its place once it is mined
    card = page.locator(f"[id='{newest.get_attribute('id')}']")
    card.get_by_role("button", name="Send with wallet").click()
    expect(card).to_have_attribute("data-phase", "mined")


def test_reserve__quotes_as_one_types(open_page: Open, place: Place) -> None:
    opened = open_page(place.wallet())
    opened.go("reserve")
    page = opened.page
    expect(page.get_by_label("Prices").get_by_text("Redeem price")).to_be_visible()
    with Client(place.base_url) as client:
        expected = client.reserve.quote(usd="12.5")["tokens"]
    page.get_by_label("USDC to pay").fill("12.5")
    whole = expected.split(".")[0]
    expect(page.get_by_test_id("quoted")).to_contain_text(f"{int(whole):,}")
    page.get_by_label("USDC to pay").fill("0")
    expect(page.get_by_text("Write an amount above 0")).to_be_visible()
    assert opened.errors == []


def test_reserve__buys_redeems_and_converts_by_clicks(
    open_page: Open, place: Place, agent: Client
) -> None:
    opened = connected(open_page, place)
    page = opened.page
    page.get_by_label("USDC to pay").fill("100")
    page.get_by_role("button", name="Buy with my wallet").click()
    send(page, "Buy for 100 USDC")  # the allowance
    expect(page.locator("[data-card]")).to_have_count(2)
    send(page, "Buy for 100 USDC")
    expect(page.get_by_text(re.compile(r"Your wallet holds [1-9]")).first).to_be_visible()

    page.get_by_label("Tokens to redeem").fill("1000")
    page.get_by_role("button", name="Redeem for USDC").click()
    send(page, "Redeem 1000 RSV")

    page.get_by_label("The agent's key").fill(str(agent.key))
    page.get_by_role("button", name="Show", exact=True).click()
    page.get_by_role("button", name=re.compile("Get a reference|Convert for this agent")).click()
    expect(page.get_by_text("an account has this reference")).to_be_visible()
    page.get_by_label("Tokens to convert").fill("100")
    page.get_by_role("button", name="Convert", exact=True).click()
    send(page, "Convert 100 RSV")
    waits = page.get_by_text("waits until its block is safe")
    expect(waits.or_(page.get_by_role("region", name="credited conversions")).first).to_be_visible()
    assert opened.errors == []


def test_reserve__buys_by_two_signatures_and_no_transaction(
    open_page: Open, place: Place, agent: Client
) -> None:
    opened = connected(open_page, place)
    page, wallet = opened.page, opened.wallet
    panel = page.get_by_role("region", name="Buy without ETH")
    panel.get_by_label("USDC for tokens").fill("4.999999")
    panel.get_by_label("Key of the agent that buys").fill(str(agent.key))
    expect(panel.get_by_role("button", name="Get a quote")).to_be_disabled()
    panel.get_by_label("USDC for tokens").fill("12.5")
    panel.get_by_role("button", name="Get a quote").click()  # enabled once the sponsor was seen
    expect(panel.get_by_test_id("sponsored-least")).to_contain_text("RSV")
    assert "eth_signTypedData_v4" not in wallet.asked

    panel.get_by_role("button", name="Sign both and buy").click()
    state = panel.get_by_test_id("sponsored-state")
    expect(state).to_have_attribute("data-state", "paid")
    expect(state).to_contain_text("RSV")
    assert wallet.asked.count("eth_signTypedData_v4") == 2
    assert wallet.sent == []
    (bought,) = agent.reserve.me()["sponsored"]
    assert (bought["usdc"], bought["buyer"]) == ("12.500000", wallet.address)
    expect(page.get_by_text(re.compile(r"Your wallet holds [1-9]")).first).to_be_visible()
    assert opened.errors == []


def test_reserve__burns_nothing_for_a_reference_that_nobody_has(
    open_page: Open, place: Place
) -> None:
    opened = connected(open_page, place)
    page = opened.page
    page.get_by_label("Tokens to convert").fill("1")
    page.get_by_label("The agent's account_ref").fill(NOBODYS)
    expect(page.get_by_text("No account has this reference")).to_be_visible()
    expect(page.get_by_role("button", name="Convert", exact=True)).to_be_disabled()
    assert opened.errors == []

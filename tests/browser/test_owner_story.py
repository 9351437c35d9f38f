"""The owner's whole story by clicks alone, the agent acting beside it."""

import re

from playwright.sync_api import Page, expect

from api.client import Client, Wallet
from tests.browser.conftest import Open, Place

PURPOSE = "Buy units at the test venue, carefully."


def test_owner_story__by_clicks__ends_with_the_money_home(open_page: Open, place: Place) -> None:
    opened = open_page(place.wallet())
    page = opened.page
    opened.go()
    opened.sign_in()
    with _connect(page, place) as agent:
        _live(page, place, agent)
    assert opened.errors == []


def _live(page: Page, place: Place, agent: Client) -> None:
    """From the draft to the statement."""
    _draft(page)
    _sign(page)
    _fund(page)
    expect(_figure(page, "Worth")).to_contain_text("1,000.00")
    mandate_id = page.url.rpartition("/")[2]

    _buy(agent, place, mandate_id)
    expect(_figure(page, "Left in these 24 hours")).to_contain_text("350.00", timeout=45_000)
    page.get_by_text("The same as a table").click()
    expect(page.get_by_role("row", name="the vault's measure").first).to_be_visible()
    page.get_by_role("link", name="Record", exact=True).click()
    expect(page.get_by_role("region", name="the record's steps")).to_contain_text(
        "action in the vault"
    )
    page.get_by_role("link", name="Overview").click()

    _send(page, "Pause")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    _send(page, "Resume")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    _send(page, "Stop")
    expect(page.locator(".badge", has_text="stopped").first).to_be_visible()

    page.get_by_role("button", name="Close all").click()
    page.get_by_role("button", name="Unwind").click()
    _finish(page)
    page.get_by_role("button", name="Close the plan").click()
    _send(page, "Withdraw")
    expect(_figure(page, "Worth")).to_contain_text("0.00")
    expect(page.get_by_role("button", name="Withdraw", exact=True)).to_be_disabled()
    page.goto(f"{place.base_url}/#/statements?mandate={mandate_id}")
    expect(page.get_by_text("Nothing is unexplained")).to_be_visible()


def _figure(page: Page, label: str):  # type: ignore[no-untyped-def]
    return page.locator(".figure", has=page.get_by_text(label, exact=True)).first


def _connect(page: Page, place: Place) -> Client:
    page.get_by_role("link", name="Agents", exact=True).click()
    page.get_by_role("link", name="Your agents").click()
    page.get_by_label("Name").fill("harbour-trader")
    page.get_by_role("button", name="Connect").click()
    shown = page.get_by_text("api_key").inner_text()
    keys = dict(re.findall(r"^(\w+) (\S+)$", shown, re.MULTILINE))
    agent = Client(place.base_url, keys["api_key"], bearer=keys["bearer_token"])
    agent.link_wallet(place.key("agent"))
    page.get_by_role("button", name="I have kept them").click()
    own = page.get_by_role("listitem").filter(has_text="harbour-trader")
    own.get_by_role("button", name="Let it take mandates").click()
    own.get_by_role("button", name="Take no more mandates").wait_for()
    return agent


def _draft(page: Page) -> None:
    page.get_by_role("link", name="Mandates", exact=True).click()
    page.get_by_role("link", name="New mandate").click()
    page.get_by_label("What is it for?").fill(PURPOSE)
    page.get_by_label("Agent", exact=True).select_option("harbour-trader (yours)")
    expect(page.locator("[data-worked]")).to_contain_text("50.00 USDC")
    page.get_by_role("button", name="Save and read the terms").click()
    expect(page.locator("[data-clause=stop_line]")).to_contain_text("950 USDC")


def _sign(page: Page) -> None:
    page.get_by_role("button", name="Sign the terms").click()
    page.get_by_role("button", name="Create and fund the vault").wait_for()


def _fund(page: Page) -> None:
    _send(page, "Create and fund the vault")
    expect(page.locator(".badge", has_text="working").first).to_be_visible()


def _send(page: Page, button: str) -> None:
    page.get_by_role("button", name=button, exact=True).click()
    _finish(page)


def _finish(page: Page) -> None:
    """The newest card, from simulated to in the record."""
    card = page.locator("[data-card]").first
    card.get_by_role("button", name="Send with wallet").click()
    expect(card).to_have_attribute("data-phase", "recorded", timeout=45_000)
    card.get_by_role("button", name="Dismiss").click()


def _buy(agent: Client, place: Place, mandate_id: str) -> None:
    agent.mandates.accept(mandate_id)
    call = agent.mandates.execute_call(
        mandate_id,
        target=place.facts["contracts"]["test_venue_adapter"],
        function="buy(uint256)",
        args=["100000000"],
        amount_usdc="100.000000",
    )
    with Wallet(place.key("agent"), place.rpc_url) as wallet:
        wallet.send(call)

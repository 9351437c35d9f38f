"""The Reserve page by clicks: a quote as one types, a purchase, a redemption, a conversion into credit."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from api.client import Client
from tests.browser.conftest import Open, Opened, Place, until

NOBODYS = "0x" + "ab" * 32
THIEF = "0x90F79bf6EB2c4f870365E785982E1f101E93b906"


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
    expect(page.get_by_test_id("redeems")).to_contain_text(re.compile(r"10\.[0-9]"))
    page.get_by_role("button", name="Redeem for USDC").click()
    send(page, "Redeem 1000 RSV")

    page.get_by_label("The agent's account_ref").fill(agent.reserve.issue_ref()["account_ref"])
    expect(page.get_by_text("an account has this reference")).to_be_visible()
    page.get_by_label("Tokens to convert").fill("100")
    expect(page.get_by_test_id("converts")).to_contain_text(re.compile(r"10[0-9] credits"))
    page.get_by_role("button", name="Convert", exact=True).click()
    send(page, "Convert 100 RSV")
    expect(page.locator("input[type=password]")).to_have_count(0)
    assert opened.errors == []


def test_reserve__signs_a_sponsored_buy_that_an_agent_hands_in(
    open_page: Open, place: Place, agent: Client
) -> None:
    opened = connected(open_page, place)
    page, wallet = opened.page, opened.wallet
    panel = page.get_by_role("region", name="Buy without ETH")
    panel.get_by_label("The quote that your agent got").fill("no quote")
    panel.get_by_role("button", name="Check it").click()
    expect(panel.get_by_role("alert")).to_contain_text("This is not a quote")
    checked(opened, quoted(agent, wallet.address, "12.5"))
    expect(panel.get_by_test_id("sponsored-least")).to_contain_text("RSV")
    assert "eth_signTypedData_v4" not in wallet.asked

    panel.get_by_role("button", name="Sign both").click()
    signed = json.loads(panel.get_by_test_id("sponsored-signed").inner_text())
    assert wallet.asked.count("eth_signTypedData_v4") == 2
    assert wallet.sent == []
    agent.sponsored.buy(**signed)
    until(lambda: agent.sponsored.read(signed["id"])["state"] == "paid")
    (bought,) = agent.reserve.me()["sponsored"]
    assert (bought["usdc"], bought["buyer"]) == ("12.500000", wallet.address)
    assert opened.errors == []


def quoted(agent: Client, buyer: str, usd: str) -> dict[str, Any]:
    """Once the sponsor was seen."""
    until(lambda: agent.reserve.config()["sponsor_enabled"])
    return dict(agent.sponsored.prepare(usd=usd, buyer=buyer))


def checked(opened: Opened, offer: dict[str, Any]) -> None:
    panel = opened.page.get_by_role("region", name="Buy without ETH")
    panel.get_by_label("The quote that your agent got").fill(json.dumps(offer))
    panel.get_by_role("button", name="Check it").click()


def test_reserve__tells_what_typed_tokens_are_worth_and_what_is_too_much(
    open_page: Open, place: Place
) -> None:
    opened = connected(open_page, place)
    page = opened.page
    redeem = page.get_by_role("region", name="Redeem")
    for typed, said in (("0", "above 0"), ("1.0000000000000000001", "eighteen decimals")):
        redeem.get_by_label("Tokens to redeem").fill(typed)
        expect(redeem.get_by_text(said)).to_be_visible()
        expect(redeem.get_by_role("button", name="Redeem for USDC")).to_be_disabled()
    redeem.get_by_label("Tokens to redeem").fill("1000000000")
    expect(redeem.get_by_text("more than your wallet holds")).to_be_visible()
    expect(redeem.get_by_role("button", name="Redeem for USDC")).to_be_disabled()
    convert = page.get_by_role("region", name="Convert into credit")
    convert.get_by_label("Tokens to convert").fill("0.5")
    expect(convert.get_by_test_id("converts")).to_have_text("0 credits")
    assert opened.errors == []


# A server that lies, or a hand between it and the page

Lie = Callable[[dict[str, Any]], None]


def other_payee(offer: dict[str, Any]) -> None:
    """As a thief would: what the page shows names them too."""
    offer["treasury"] = offer["fee"]["message"]["to"] = THIEF


def purchase_to_a_thief(offer: dict[str, Any]) -> None:
    offer["purchase"]["message"]["to"] = THIEF


def for_ever(offer: dict[str, Any]) -> None:
    offer["valid_before"] = "2099-01-01T00:00:00Z"
    for part in ("purchase", "fee"):
        offer[part]["message"]["validBefore"] = "4070908800"


def another_batch(offer: dict[str, Any]) -> None:
    offer["batch"] = THIEF


def another_chain(offer: dict[str, Any]) -> None:
    for part in ("purchase", "fee"):
        offer[part]["domain"]["chainId"] = 8453


def another_usdc(offer: dict[str, Any]) -> None:
    for part in ("purchase", "fee"):
        offer[part]["domain"]["verifyingContract"] = THIEF


def more_money(offer: dict[str, Any]) -> None:
    offer["amount_usdc"], offer["purchase"]["message"]["value"] = "500.000000", "500000000"


def hardly_any_tokens(offer: dict[str, Any]) -> None:
    offer["min_tokens"], offer["min_tokens_base"] = "0.000000000000000001", "1"


LIES: dict[Lie, str] = {
    other_payee: "who gets the fee",
    purchase_to_a_thief: "the receiver",
    for_ever: "how long it is good",
    another_batch: "the contract that sends both",
    another_chain: "its network",
    another_usdc: "its contract",
    more_money: "the sum",
    hardly_any_tokens: "how many tokens you get at least",
}


@pytest.mark.parametrize(
    ("lie", "said"), LIES.items(), ids=lambda one: getattr(one, "__name__", "")
)
def test_reserve__refuses_an_offer_that_was_changed_on_its_way(
    open_page: Open, place: Place, agent: Client, lie: Lie, said: str
) -> None:
    opened = connected(open_page, place)
    offer = quoted(agent, opened.wallet.address, "5")
    lie(offer)
    checked(opened, offer)
    panel = opened.page.get_by_role("region", name="Buy without ETH")
    alert = panel.get_by_role("alert")
    expect(alert).to_contain_text(f"asks for something else than this page shows: {said}")
    expect(alert).to_contain_text("Your wallet was not asked")
    expect(panel.get_by_role("button", name="Sign both")).to_have_count(0)
    assert "eth_signTypedData_v4" not in opened.wallet.asked


def test_reserve__refuses_contracts_that_the_chain_does_not_confirm(
    open_page: Open, place: Place, agent: Client
) -> None:
    """The service's own list of contracts names another USDC: documents and list agree, the token does not."""
    opened = open_page(place.wallet())
    page = opened.page

    def change(route: Route) -> None:
        answer = route.fetch()
        text = answer.text()
        real = place.facts["contracts"]["usdc"]
        changed = text.replace(real, THIEF)
        assert changed != text
        route.fulfill(response=answer, body=changed)

    page.route("**/reserve/config", change)
    opened.go("reserve")
    page.get_by_role("button", name=opened.wallet.name).click()
    panel = page.get_by_role("region", name="Buy without ETH")
    offer = json.dumps(quoted(agent, opened.wallet.address, "5"))
    checked(opened, json.loads(offer.replace(place.facts["contracts"]["usdc"], THIEF)))
    expect(panel.get_by_role("alert")).to_contain_text("the token's USDC")
    assert "eth_signTypedData_v4" not in opened.wallet.asked


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

"""A wallet that answers after the page's patience, or not at all: it is followed, and nothing is sent twice."""

import re
from contextlib import closing
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from api.client import Client, Wallet
from core.chain.abi import function
from core.chain.nodes import Nodes
from tests.browser.conftest import Mandate, Open, Opened, Place
from tests.browser.test_reserve_page import connected, send
from tests.browser.wallet import wake

PATIENCE = "10:01"
NO_ANSWER = "Your wallet has not answered yet."
STOPPED = 2
SEND = "Send with wallet"
ALL_THE_SAME = "Send it all the same"


def at_the_mandate(open_page: Open, place: Place, mandate: Mandate) -> Opened:
    opened = open_page(place.wallet())
    opened.page.clock.install()
    opened.go()
    opened.sign_in()
    opened.go(f"mandates/{mandate.id}")
    return opened


def unanswered(opened: Opened) -> Locator:
    """The newest card, sent to a wallet in which nobody answers for ten minutes."""
    page, wallet = opened.page, opened.wallet
    wallet.is_asleep = True
    card = page.locator("[data-card]").first
    before = requests(opened)
    card.get_by_role("button", name=SEND).click()
    while requests(opened) == before:
        page.wait_for_timeout(50)
    page.clock.fast_forward(PATIENCE)
    expect(card).to_have_attribute("data-phase", "unanswered")
    expect(card).to_contain_text(NO_ANSWER)
    return page.locator(f"[id='{card.get_attribute('id')}']")


def confirm_late(opened: Opened, title: str) -> None:
    """The newest card, confirmed after the page's patience."""
    expect(opened.page.locator("[data-card]").first).to_contain_text(title)
    card = unanswered(opened)
    wake(opened.page, opened.wallet)
    expect(card).to_have_attribute("data-phase", "mined")


def requests(opened: Opened) -> int:
    return opened.wallet.asked.count("eth_sendTransaction")


def is_stopped(place: Place, mandate: Mandate) -> bool:
    """By the vault's own word."""
    with place.owner() as owner:
        vault = owner.mandates.read(mandate.id)["mandate"]["vault_address"]
    call = {"to": vault, "data": function("MandateVault", "status").selector}
    with closing(Nodes([place.rpc_url])) as rpc:
        return int(str(rpc.call("eth_call", [call, "latest"])), 16) == STOPPED


def test_redemption__confirmed_after_ten_minutes__is_followed_and_made_once(
    open_page: Open, place: Place
) -> None:
    opened = connected(open_page, place)
    page = opened.page
    page.clock.install()
    page.get_by_label("USDC to pay").fill("20")
    page.get_by_role("button", name="Buy with my wallet").click()
    send(page, "Buy for 20 USDC")  # the allowance
    expect(page.locator("[data-card]")).to_have_count(2)
    send(page, "Buy for 20 USDC")
    bought = len(opened.wallet.sent)
    page.get_by_label("Tokens to redeem").fill("5")
    page.get_by_role("button", name="Redeem for USDC").click()
    expect(page.locator("[data-card]")).to_have_count(3)
    card = unanswered(opened)

    # neither "try again" nor the page's own button asks for it a second time
    card.get_by_role("button", name="Try again").click()
    expect(card.get_by_role("button", name=ALL_THE_SAME)).to_be_visible()
    page.get_by_role("button", name="Redeem for USDC").click()
    expect(page.get_by_role("button", name="Redeem for USDC")).to_be_enabled()
    expect(page.locator("[data-card]")).to_have_count(3)
    wake(page, opened.wallet)
    expect(card).to_have_attribute("data-phase", "mined")
    assert len(opened.wallet.sent) == bought + 1
    assert opened.errors == []


def test_purchase_and_conversion__each_confirmed_late__are_followed_and_made_once(
    open_page: Open, place: Place, agent: Client
) -> None:
    opened = connected(open_page, place)
    page = opened.page
    page.clock.install()
    page.get_by_label("USDC to pay").fill("20")
    page.get_by_role("button", name="Buy with my wallet").click()
    confirm_late(opened, "Buy for 20 USDC")  # the allowance, after which the purchase is offered
    expect(page.locator("[data-card]")).to_have_count(2)
    confirm_late(opened, "Buy for 20 USDC")
    page.get_by_label("The agent's key").fill(str(agent.key))
    page.get_by_role("button", name="Show", exact=True).click()
    page.get_by_role("button", name=re.compile("Get a reference|Convert for this agent")).click()
    expect(page.get_by_text("an account has this reference")).to_be_visible()
    page.get_by_label("Tokens to convert").fill("5")
    page.get_by_role("button", name="Convert", exact=True).click()
    confirm_late(opened, "Convert 5 RSV")

    assert len(opened.wallet.sent) == 3
    assert opened.errors == []


def test_redemption__still_in_the_wallet_after_a_reload__is_found_and_made_once(
    open_page: Open, place: Place
) -> None:
    opened = connected(open_page, place)
    page = opened.page
    page.get_by_label("USDC to pay").fill("20")
    page.get_by_role("button", name="Buy with my wallet").click()
    send(page, "Buy for 20 USDC")
    expect(page.locator("[data-card]")).to_have_count(2)
    send(page, "Buy for 20 USDC")
    opened.wallet.is_asleep = True

    def redeem() -> None:
        page.get_by_label("Tokens to redeem").fill("5")
        page.get_by_role("button", name="Redeem for USDC").click()

    redeem()
    page.locator("[data-card]").first.get_by_role("button", name=SEND).click()
    while not opened.wallet.held:
        page.wait_for_timeout(50)
    page.reload()
    card = page.locator("[data-card]")
    expect(card).to_have_attribute("data-phase", "unanswered")
    expect(card).to_contain_text("before the page was loaded again")

    # neither the page's own button nor "Try again" asks for it a second time
    opened.wallet.is_asleep = False
    redeem()
    expect(page.get_by_role("button", name="Redeem for USDC")).to_be_enabled()
    expect(card).to_have_count(1)
    card.get_by_role("button", name="Try again").click()
    expect(card.get_by_role("button", name=ALL_THE_SAME)).to_be_visible()
    opened.wallet.confirm_held()
    expect(card).to_have_attribute("data-phase", "mined")
    assert len(opened.wallet.sent) == 3
    assert opened.errors == []


def test_pause__whose_answer_was_lost__is_found_on_the_chain_and_not_made_again(
    open_page: Open, place: Place, mandate: Mandate
) -> None:
    opened = at_the_mandate(open_page, place, mandate)
    opened.page.get_by_role("button", name="Pause").click()
    card = unanswered(opened)
    with (
        place.owner() as owner,
        Wallet(place.key("owner"), place.rpc_url) as wallet,
    ):
        wallet.send(owner.mandates.set_agent_call(mandate.id))
    card.get_by_role("button", name="Try again").click()

    expect(card).to_have_attribute("data-phase", re.compile("mined|recorded"))
    assert (requests(opened), opened.wallet.sent) == (1, [])


def test_pause__after_another_transaction__is_sent_by_the_owner_s_word_alone(
    open_page: Open, place: Place, mandate: Mandate
) -> None:
    opened = at_the_mandate(open_page, place, mandate)
    opened.wallet.rejects = True
    opened.page.get_by_role("button", name="Pause").click()
    card = opened.page.locator("[data-card]").first
    card.get_by_role("button", name=SEND).click()
    expect(card).to_contain_text("You declined the request")
    with Wallet(place.key("owner"), place.rpc_url) as wallet:
        wallet.send({"to": wallet.address, "data": "0x", "value": 0})
    opened.wallet.rejects = False
    card.get_by_role("button", name="Try again").click()
    expect(card).to_contain_text("Your account has sent another transaction since.")
    expect(card.get_by_text("Your account sent 0x")).to_be_visible()
    assert requests(opened) == 1

    card.get_by_role("button", name=ALL_THE_SAME).click()
    expect(card).to_have_attribute("data-phase", re.compile("mined|recorded"))
    assert requests(opened) == 2


@pytest.mark.parametrize("code", [-32005, -32601, 4200])
def test_stop__that_could_not_be_simulated__can_be_sent(
    open_page: Open, place: Place, mandate: Mandate, code: int
) -> None:
    opened = at_the_mandate(open_page, place, mandate)
    refusal: dict[str, Any] = {"code": code, "message": "no"}
    opened.wallet.refuses_calls = refusal
    opened.page.get_by_role("button", name="Stop", exact=True).click()
    card = opened.page.locator("[data-card]").first
    expect(card).to_have_attribute("data-phase", "unsimulated")
    expect(card).to_contain_text("This could not be simulated")
    card.get_by_role("button", name="Send anyway").click()

    expect(card).to_have_attribute("data-phase", re.compile("mined|recorded"))
    assert is_stopped(place, mandate)


def test_stop__that_would_revert__can_be_sent_and_other_calls_cannot(
    open_page: Open, place: Place, mandate: Mandate
) -> None:
    opened = at_the_mandate(open_page, place, mandate)
    opened.page.get_by_role("button", name="Pause").click()
    opened.page.get_by_role("button", name="Stop", exact=True).click()
    stop = opened.page.locator("[data-card]").filter(has_text="Stop the mandate")
    pause = opened.page.locator("[data-card]").filter(has_text="Pause the mandate")
    expect(stop).to_have_attribute("data-phase", "simulated")
    mandate.stop()
    for card in (stop, pause):
        card.get_by_role("button", name=SEND).click()
        expect(card).to_have_attribute("data-phase", "refused")
    expect(pause.get_by_role("button", name="Send anyway")).to_have_count(0)
    stop.get_by_role("button", name="Send anyway").click()

    expect(stop).to_have_attribute("data-phase", "reverted")
    assert requests(opened) == 1

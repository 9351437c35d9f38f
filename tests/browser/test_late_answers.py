"""A wallet that answers after the page's patience, or not at all: it is followed, and nothing is sent twice."""

import re
from contextlib import closing
from typing import Any

from playwright.sync_api import Locator, expect

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


def test_stop__that_could_not_be_simulated__can_be_sent(
    open_page: Open, place: Place, mandate: Mandate
) -> None:
    opened = at_the_mandate(open_page, place, mandate)
    refusal: dict[str, Any] = {"code": -32601, "message": "no"}
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

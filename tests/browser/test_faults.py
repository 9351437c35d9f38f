"""What goes wrong in a wallet, a node, a session or the service: the page says what happened and what to do."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from api.client import Client, Wallet
from tests.browser.conftest import Mandate, Open, Place, until
from tests.browser.test_pages import WIDER
from tests.browser.wallet import emit

HOSTILE = "<img src=x onerror=alert(1)><script>alert(2)</script> " + "W" * 300


def test_no_wallet__says_how_to_get_one(open_page: Open, place: Place) -> None:
    """Where no wallet is built in: the page as it is on a test network."""

    def of_a_test_network(route: Route) -> None:
        answer = route.fetch()
        text = re.sub(r".*(?:local-rpc|/local/).*\n", "", answer.text())
        route.fulfill(response=answer, body=text)

    opened = open_page()
    opened.page.route(f"{place.base_url}/", of_a_test_network)
    opened.go()
    expect(opened.page.get_by_text("This browser has no wallet")).to_be_visible()
    expect(opened.page.get_by_role("button", name="Reload")).to_be_visible()


def test_no_wallet_of_ones_own__is_said_beside_the_one_that_is_built_in(open_page: Open) -> None:
    opened = open_page()
    opened.go()
    opened.page.get_by_text("Use your own wallet").click()
    expect(opened.page.get_by_text("This browser has no wallet of yours")).to_be_visible()


def test_two_wallets__the_chosen_one_signs_in(open_page: Open, place: Place) -> None:
    first, second = place.wallet(name="First"), place.wallet("stranger", name="Second")
    opened = open_page(first, second)
    opened.go()
    expect(opened.page.get_by_role("button", name="First")).to_be_visible()
    opened.page.get_by_role("button", name="Second").click()
    shown = f"{second.address[:6]}…{second.address[-4:]}"
    expect(opened.page.locator("header.bar")).to_contain_text(shown)
    assert "personal_sign" not in first.asked


def test_sign_in__rejected_in_the_wallet__can_be_tried_again(open_page: Open, place: Place) -> None:
    wallet = place.wallet(rejects=True)
    opened = open_page(wallet)
    opened.go()
    opened.page.get_by_role("button", name=wallet.name).click()
    expect(opened.page.get_by_text("You declined the request in your wallet")).to_be_visible()
    wallet.rejects = False
    opened.page.get_by_role("button", name=wallet.name).first.click()
    expect(opened.page.get_by_role("heading", name="Mandates")).to_be_visible()


def test_wrong_network__is_said_at_once_and_switched_by_a_click(
    open_page: Open, place: Place
) -> None:
    opened = open_page(place.wallet())
    opened.go()
    opened.sign_in()
    opened.wallet.chain_id = 1
    emit(opened.page, "chainChanged", "0x1")
    notice = opened.page.get_by_text("Your wallet is on another network")
    expect(notice).to_be_visible()
    opened.page.get_by_role("button", name="Switch network").click()
    expect(notice).to_be_hidden()


def test_another_account__is_said_at_once(open_page: Open, place: Place) -> None:
    opened = open_page(place.wallet())
    opened.go()
    opened.sign_in()
    emit(opened.page, "accountsChanged", [place.wallet("stranger").address])
    expect(opened.page.get_by_text("Your wallet shows another account")).to_be_visible()


def test_transaction__rejected__is_sent_by_a_second_try(
    open_page: Open, place: Place, mandate: Mandate
) -> None:
    opened = open_page(place.wallet())
    opened.go()
    opened.sign_in()
    opened.go(f"mandates/{mandate.id}")
    opened.wallet.rejects = True
    opened.page.get_by_role("button", name="Pause").click()
    card = opened.page.locator("[data-card]").first
    card.get_by_role("button", name="Send with wallet").click()
    expect(card).to_contain_text("You declined the request in your wallet. Nothing was sent.")
    opened.wallet.rejects = False
    card.get_by_role("button", name="Try again").click()
    expect(card).to_have_attribute("data-phase", re.compile("mined|recorded"))


def test_transaction__that_would_revert__is_not_sent(
    open_page: Open, place: Place, mandate: Mandate
) -> None:
    opened = open_page(place.wallet())
    opened.go()
    opened.sign_in()
    opened.go(f"mandates/{mandate.id}")
    opened.page.get_by_role("button", name="Stop", exact=True).click()
    card = opened.page.locator("[data-card]").first
    expect(card).to_have_attribute("data-phase", "simulated")
    mandate.stop()
    card.get_by_role("button", name="Send with wallet").click()
    expect(card).to_have_attribute("data-phase", "refused")
    expect(card).to_contain_text("Nothing was sent.")
    assert "eth_sendTransaction" not in opened.wallet.asked


def test_transaction__replaced_in_the_wallet__is_said(
    open_page: Open, place: Place, mandate: Mandate
) -> None:
    opened = open_page(place.wallet(holds_back=True))
    opened.go()
    opened.sign_in()
    opened.go(f"mandates/{mandate.id}")
    opened.page.get_by_role("button", name="Pause").click()
    card = opened.page.locator("[data-card]").first
    card.get_by_role("button", name="Send with wallet").click()
    expect(card).to_have_attribute("data-phase", "sent")
    opened.page.reload()
    expect(card).to_have_attribute("data-phase", "sent")
    _send_another(place)
    expect(card).to_have_attribute("data-phase", "replaced", timeout=60_000)
    expect(card).to_contain_text("it was sped up or cancelled in your wallet")


def test_node_of_the_wallet__down__says_so_and_loses_nothing(
    open_page: Open, place: Place, mandate: Mandate
) -> None:
    opened = open_page(place.wallet())
    opened.go()
    opened.sign_in()
    opened.go(f"mandates/{mandate.id}")
    opened.page.get_by_role("button", name="Pause").wait_for()
    opened.wallet.node_is_down = True
    opened.page.get_by_role("button", name="Pause").click()
    card = opened.page.locator("[data-card]").first
    expect(card).to_contain_text("could not complete the request")
    opened.wallet.node_is_down = False
    card.get_by_role("button", name="Try again").click()
    expect(card).to_have_attribute("data-phase", re.compile("mined|recorded"))


def test_session__ended__is_said_and_signing_in_goes_on_there(
    open_page: Open, place: Place
) -> None:
    opened = open_page(place.wallet())
    opened.go()
    opened.sign_in()
    with Client(place.base_url, session=_token(opened.page)) as session:
        session.identity.logout()
    opened.go("statements")
    expect(opened.page.get_by_text("Your session has ended")).to_be_visible()
    opened.page.get_by_role("button", name=re.compile("Sign in as")).click()
    expect(opened.page.get_by_role("heading", name="Statements")).to_be_visible()


def test_service__away__is_said_and_found_again_by_itself(open_page: Open, place: Place) -> None:
    opened = open_page(place.wallet())
    opened.go()
    opened.sign_in()
    opened.go("alerts")
    opened.page.get_by_role("heading", name="Alerts").wait_for()
    loaded = "performance.getEntriesByType('resource').map((one) => one.name).join(' ')"
    until(lambda: "/statements.js" in opened.page.evaluate(loaded))
    opened.page.context.set_offline(True)
    opened.page.get_by_role("link", name="Statements").click()
    expect(opened.page.get_by_text("The service does not answer").first).to_be_visible()
    expect(opened.page.get_by_role("link", name="the exit page")).to_be_visible()
    opened.page.context.set_offline(False)
    expect(
        opened.page.get_by_text("this week", exact=False)
        .or_(opened.page.get_by_text("not over yet"))
        .first
    ).to_be_visible()


SLOW_AFTER_AWAY = """
(() => {
  const real = window.fetch;
  let asked = 0;
  window.fetch = async (address, options) => {
    if (!String(address).includes("/me/statement")) return real(address, options);
    if (asked++ === 0) throw new TypeError("away");
    await new Promise((done, fail) => {
      setTimeout(done, 7000);
      options.signal.addEventListener("abort", () => fail(options.signal.reason));
    });
    return real(address, options);
  };
})();
"""


def test_service__slower_than_the_page_tries_again__is_waited_for(
    open_page: Open, place: Place
) -> None:
    opened = open_page(place.wallet())
    opened.page.add_init_script(SLOW_AFTER_AWAY)
    opened.go()
    opened.sign_in()
    opened.go("statements")
    expect(opened.page.get_by_text("The service does not answer").first).to_be_visible()
    expect(opened.page.get_by_text("not over yet")).to_be_visible()


def test_hostile_text__is_shown_as_text_and_breaks_no_page(open_page: Open, place: Place) -> None:
    with place.owner() as owner:
        made = owner.mandates.create(
            purpose=HOSTILE,
            budget_usdc="10.000000",
            horizon_days=3,
            stop_floor_bps=500,
            open_board=True,
        )
    opened = open_page(place.wallet(), has_touch=True)
    opened.page.set_viewport_size({"width": 390, "height": 844})
    opened.page.on("dialog", lambda dialog: opened.errors.append(f"dialog {dialog.message}"))
    opened.go()
    opened.sign_in()
    for path in ("mandates", f"mandates/{made['mandate']['public_id']}"):
        opened.go(path)
        expect(opened.page.get_by_text("<img src=x onerror=alert(1)>").first).to_be_visible()
        assert opened.page.evaluate(WIDER) == []
    assert opened.errors == []


def test_name__that_is_the_text_of_an_escape__is_shown_and_breaks_no_page(
    open_page: Open, place: Place
) -> None:
    purpose = "Keep \\u202e"  # ASCII: a backslash and five letters
    with place.owner() as owner:
        made = owner.mandates.create(
            purpose=purpose,
            budget_usdc="10.000000",
            horizon_days=3,
            stop_floor_bps=500,
            open_board=True,
        )
    opened = open_page(place.wallet())
    opened.go()
    opened.sign_in()
    expect(opened.page.get_by_role("link", name=purpose).first).to_be_visible()
    opened.go(f"mandates/{made['mandate']['public_id']}")
    expect(opened.page.get_by_role("heading", name=purpose)).to_be_visible()


@pytest.mark.parametrize("name", ["constructor", "__proto__", "toString"])
def test_address__of_no_page__says_so(open_page: Open, place: Place, name: str) -> None:
    opened = open_page(place.wallet())
    opened.go(name)
    expect(opened.page.get_by_role("heading", name=f"There is no page “{name}”")).to_be_visible()
    assert opened.errors == []


def test_page__given_what_it_does_not_expect__says_so_and_takes_nothing_with_it(
    open_page: Open, place: Place
) -> None:
    opened = open_page(place.wallet())
    opened.page.route(
        "**/mandate-wallet/gallery?*",
        lambda route: route.fulfill(json={"listings": [{"id": 1, "summary": None}]}),
    )
    opened.go("gallery")
    expect(opened.page.get_by_text("This page failed")).to_be_visible()
    opened.page.get_by_role("link", name="Rules").click()
    expect(opened.page.get_by_role("heading", name="Rules").first).to_be_visible()
    opened.page.unroute("**/mandate-wallet/gallery?*")
    opened.page.get_by_role("link", name="Offers").click()
    expect(opened.page.get_by_role("heading", name="Offers")).to_be_visible()


def test_service__that_asks_for_other_terms_than_it_shows__is_not_put_before_the_wallet(
    open_page: Open, place: Place
) -> None:
    with place.owner() as owner:
        made = owner.mandates.create(
            purpose="Ten and no more.",
            budget_usdc="10.000000",
            horizon_days=3,
            stop_floor_bps=500,
            open_board=True,
        )

    def lie(route: Route) -> None:
        answer = route.fetch().json()
        answer["typed_data"]["message"]["budgetUsdc"] = "10000000000"
        route.fulfill(json=answer)

    opened = open_page(place.wallet())
    opened.page.route("**/terms", lie)
    opened.go()
    opened.sign_in()
    opened.go(f"mandates/{made['mandate']['public_id']}")
    opened.page.get_by_role("button", name="Sign the terms").click()
    expect(
        opened.page.get_by_text("The service asks for something else than this page shows")
    ).to_be_visible()
    assert "eth_signTypedData_v4" not in opened.wallet.asked


def test_service__that_pays_a_withdrawal_to_somebody_else__is_not_put_before_the_wallet(
    open_page: Open, place: Place, mandate: Mandate
) -> None:
    mandate.stop()
    thief = "90f79bf6eb2c4f870365e785982e1f101e93b906"

    def lie(route: Route) -> None:
        answer = route.fetch().json()
        answer["data"] = answer["data"].replace(place.wallet().address[2:].lower(), thief)
        route.fulfill(json=answer)

    opened = open_page(place.wallet())
    opened.page.route("**/withdraw-call", lie)
    opened.go()
    opened.sign_in()
    opened.go(f"mandates/{mandate.id}")
    opened.page.get_by_role("button", name="Withdraw", exact=True).click()
    expect(
        opened.page.get_by_text("The service asks for something else than this page shows")
    ).to_be_visible()
    assert "eth_sendTransaction" not in opened.wallet.asked


def _token(page: Page) -> str:
    kept = page.evaluate("JSON.parse(sessionStorage.getItem('mandate-wallet.session'))")
    return str(kept["token"])


def _send_another(place: Place) -> None:
    """A transaction with the number that the one in the wallet was to have."""
    with Wallet(place.key("owner"), place.rpc_url) as wallet:
        wallet.send({"to": wallet.address, "data": "0x", "value": 0})

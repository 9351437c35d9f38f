"""What a person fills in and presses: a draft that is changed keeps what the form does not show, nothing is sent
twice, and each page says where it is.
"""

import re
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Request, expect

from api.client import Client
from tests.browser.conftest import Mandate, Open, Opened, Place


@pytest.fixture
def opened(open_page: Open, place: Place) -> Opened:
    found = open_page(place.wallet())
    found.go()
    found.sign_in()
    return found


@pytest.fixture
def owner(place: Place) -> Iterator[Client]:
    with place.owner() as client:
        yield client


def test_draft__changed_in_the_form__keeps_agent_and_what_the_form_does_not_show(
    opened: Opened, owner: Client
) -> None:
    agent = owner.connect("first-agent")
    owner.mandates.policy_set(agent.user_id, accepts_mandates=True)
    draft = drafted(owner, agent_id=agent.user_id, target_bps=1_500, on_floor="close")
    opened.go(f"new/{draft}")
    opened.page.get_by_label("Budget").fill("700")
    save(opened)
    after = owner.mandates.read(draft)["mandate"]
    kept = {
        "budget_usdc": "700.000000",
        "agent_id": str(agent.user_id),
        "target_bps": 1_500,
        "on_floor": "close",
    }
    assert {name: after[name] for name in kept} == kept
    agent.close()


def test_form__says_what_the_wallet_has_and_lacks_before_any_signature(opened: Opened) -> None:
    opened.go("new")
    opened.wallet.asked.clear()
    expect(
        opened.page.get_by_text(re.compile("Your wallet has .* USDC and .* ETH"))
    ).to_be_visible()
    lacking = opened.page.get_by_text("Your wallet has too little USDC")
    expect(lacking).to_have_count(0)
    opened.page.get_by_label("Budget").fill("900000000000")
    expect(lacking).to_be_visible()
    opened.page.get_by_text("More: approval threshold").click()
    opened.page.get_by_label("Paper: no vault and no money, to try the rules").check()
    expect(lacking).to_have_count(0)
    assert not {"personal_sign", "eth_signTypedData_v4"} & set(opened.wallet.asked)


def test_draft__saved__does_not_come_again_by_going_back(opened: Opened, owner: Client) -> None:
    draft = drafted(owner, open_board=True)
    opened.go(f"new/{draft}")
    save(opened)
    opened.page.go_back()
    expect(opened.page.get_by_role("heading", name="Mandates", level=1)).to_be_visible()


def test_draft__of_the_open_board__can_name_an_agent_later(opened: Opened, owner: Client) -> None:
    agent = owner.connect("second-agent")
    owner.mandates.policy_set(agent.user_id, accepts_mandates=True)
    draft = drafted(owner, open_board=True)
    opened.go(f"new/{draft}")
    opened.page.get_by_label("Agent", exact=True).select_option(str(agent.user_id))
    save(opened)
    after = owner.mandates.read(draft)["mandate"]
    assert (after["agent_id"], after["open_board"]) == (str(agent.user_id), False)
    agent.close()


def test_agent_of_another_owner__is_offered_the_open_board(opened: Opened, place: Place) -> None:
    with place.owner("stranger") as stranger, stranger.connect("foreign") as agent:
        opened.go(f"new?agent={agent.user_id}")
        expect(
            opened.page.get_by_text(f"Agent {agent.user_id} belongs to another owner")
        ).to_be_visible()
        expect(opened.page.get_by_label("Agent", exact=True)).to_have_value("")


def test_paper_mandate__is_stopped_without_a_transaction(opened: Opened, owner: Client) -> None:
    mandate_id = paper_at_work(owner, opened.place)
    opened.go(f"mandates/{mandate_id}")
    opened.page.get_by_role("button", name="Stop", exact=True).click()
    expect(opened.page.locator(".badge", has_text="stopped").first).to_be_visible()
    assert "eth_sendTransaction" not in opened.wallet.asked


def test_connect__double_clicked__connects_one_agent(opened: Opened) -> None:
    connected: list[Request] = []
    opened.page.on(
        "request", lambda one: connected.append(one) if "/auth/agent/connect" in one.url else None
    )
    opened.go("agents/mine")
    opened.page.get_by_label("Name").fill("pressed-twice")
    opened.page.get_by_role("button", name="Connect").dblclick()
    expect(opened.page.get_by_text("Keep these: they are shown once")).to_be_visible()
    assert len(connected) == 1


def test_wallet__that_is_not_connected_any_more__is_connected_where_it_is_needed(
    opened: Opened, mandate: Mandate
) -> None:
    opened.page.evaluate("localStorage.removeItem('mandate-wallet.wallet')")
    opened.page.reload()
    opened.go(f"mandates/{mandate.id}")
    expect(
        opened.page.get_by_text("Your wallet is not connected in this tab").first
    ).to_be_visible()
    opened.page.get_by_role("button", name=opened.wallet.name).click()
    opened.page.get_by_role("button", name="Pause").click()
    expect(opened.page.locator("[data-card]").first).to_have_attribute("data-phase", "simulated")


def test_navigation__says_where_it_went_and_goes_back(opened: Opened) -> None:
    page = opened.page
    page.get_by_role("link", name="Rules", exact=True).click()
    expect(page.get_by_role("heading", name="Rules", level=1)).to_be_focused()
    expect(page).to_have_title("Rules · Mandate Wallet")
    page.go_back()
    expect(page.get_by_role("heading", name="Mandates", level=1)).to_be_focused()
    expect(page).to_have_title("Mandates · Mandate Wallet")


def until_nothing_is_read(page: Page, read: list[str]) -> None:
    """Until the page has read all that it shows: for a second it asks for nothing of mandates."""
    for _ in range(30):
        read.clear()
        page.wait_for_timeout(1_000)
        if not any("/mandates" in one for one in read):
            return
    raise AssertionError(f"the page does not come to rest: {read}")


def test_news_of_a_mandate__reads_that_mandate_again_and_not_the_list(
    opened: Opened, mandate: Mandate
) -> None:
    page = opened.page
    opened.go("mandates")
    page.reload()
    row = page.get_by_role("row").filter(has_text=mandate.id)
    expect(row).to_contain_text("working")
    expect(page.locator("[data-fresh=live]")).to_be_visible()
    read: list[str] = []
    page.on("request", lambda one: read.append(urlsplit(one.url).path))
    until_nothing_is_read(page, read)
    mandate.stop()
    expect(row).to_contain_text("stopped")
    assert "/mandate-wallet/mandates" not in read
    assert {one for one in read if "/mandates/" in one} == {
        f"/mandate-wallet/mandates/{mandate.id}"
    }


def test_news__while_the_page_is_hidden__is_read_when_it_is_shown(
    opened: Opened, mandate: Mandate
) -> None:
    page = opened.page
    opened.go(f"mandates/{mandate.id}")
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    # the console asks for the parts of all pages at once, some time after its first page is there
    with page.expect_request("**/pages/status.js"):
        page.reload()
    expect(page.locator("[data-fresh=live]")).to_be_visible()
    page.locator(".chart canvas").first.wait_for()
    page.wait_for_timeout(1_000)
    parts = [url for url in asked if "/pages/" in url]
    page.evaluate("(parts) => Promise.all(parts.map((one) => import(one)))", parts)
    page.evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
    read: list[str] = []
    page.on("request", lambda one: read.append(one.url))
    mandate.stop()
    mandate.await_status("stopped")
    page.wait_for_timeout(1_500)
    assert read == []
    page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    expect(page.locator(".badge", has_text="stopped").first).to_be_visible()


def test_notice_of_a_lock__says_the_rule_the_case_and_until_when(opened: Opened) -> None:
    notice = {
        "id": 1, "user_id": 1001, "kind": "account_lock", "rule": "self_dealing", "case": "v_7", "case_status": "open",
        "deadline": "2026-12-01T12:00:00Z", "created_at": "2026-11-24T12:00:00Z", "notice_board": "/public/violations/notices",
    }  # fmt: skip
    opened.page.route(
        "**/me/notices*",
        lambda route: route.fulfill(json={"notices": [notice], "next_cursor": None}),
    )
    opened.go("alerts")
    shown = opened.page.get_by_role("region", name="Notices to your account")
    expect(shown).to_contain_text("self dealing")
    expect(shown).to_contain_text("Account 1001, case v_7, open; to be answered by 2026-12-01")


def test_listing__shows_its_price_and_sources_and_links_https_alone(opened: Opened) -> None:
    source = {"claim_text": "It rose.", "as_of_date": "2026-11-01"}
    listing = {
        "id": "l_abcdefghij", "title": "Night trades", "summary": "Buys at night.", "operator": "Harbour", "house": False,
        "agent_id": "1001", "runner_agent_id": "1001", "product_type": "strategy_template", "status": "listed",
        "status_at": "2026-11-24T12:00:00Z", "created_at": "2026-11-24T12:00:00Z", "markets": [], "ref_vault_id": None,
        "price_model": "paid_read", "record": None,
        "editable_params": [{"name": "max_trades", "type": "int", "min": 1, "max": 9, "default": 3}],
        "cited": [
            source | {"source_name": "Fair", "url": "https://example.org/a"},
            source | {"source_name": "Foul", "url": "javascript:alert(1)"},
        ],
    }  # fmt: skip
    opened.page.route("**/gallery/l_abcdefghij", lambda route: route.fulfill(json=listing))
    opened.go("gallery/l_abcdefghij")
    main = opened.page.locator("#main")
    expect(main).to_contain_text("Each read is paid.")
    expect(main).to_contain_text("max trades")
    expect(main.get_by_role("link", name="Fair")).to_have_attribute("href", "https://example.org/a")
    expect(main).to_contain_text("Foul")
    assert main.get_by_role("link", name="Foul").count() == 0


def test_colour_scheme__turned__is_kept_and_redraws_the_chart(
    opened: Opened, mandate: Mandate
) -> None:
    page = opened.page
    opened.go(f"mandates/{mandate.id}")
    chart = page.locator(".chart .tv-lightweight-charts")
    chart.wait_for()
    chart.evaluate("(element) => { element.dataset.before = '1'; }")
    for to in ("light", "dark"):
        page.get_by_role("button", name=f"Change to {to}").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator(".chart [data-before]")).to_have_count(0)
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")


def drafted(owner: Client, **more: object) -> str:
    made = owner.mandates.create(
        purpose="Wait for the price, then buy.",
        budget_usdc="500.000000",
        horizon_days=30,
        stop_floor_bps=1_000,
        **more,
    )
    return str(made["mandate"]["public_id"])


def paper_at_work(owner: Client, place: Place) -> str:
    agent = owner.connect("paper-agent")
    owner.mandates.policy_set(agent.user_id, accepts_mandates=True)
    mandate_id = drafted(owner, agent_id=agent.user_id, market_mode="paper")
    owner.sign_terms(mandate_id, place.key("owner"))
    agent.mandates.accept(mandate_id)
    agent.close()
    return mandate_id


def save(opened: Opened) -> None:
    opened.page.get_by_role("button", name="Save and read the terms").click()
    opened.page.wait_for_url(re.compile(r"#/mandates/m_"))

"""The first minutes of somebody without a wallet: from `make up` to the money back home, by clicks alone."""

import re
import time
from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from scripts._accounts import VISITOR_NUMBER, wallet_of
from tests.browser.conftest import Open

FIVE_MINUTES_S = 300
A_CLICK_S = 3.0  # that a person takes to read and find a button
FOLLOWED_MS = 60_000


class Newcomer:
    """Clicks, and counts them; the built-in wallet asks at each signature and transaction."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0
        self.confirmed = 0

    def click(self, name: str, within: Locator | None = None) -> None:
        (within or self.page).get_by_role("button", name=name, exact=True).click()
        self.clicks += 1

    def follow(self, name: str) -> None:
        self.guide.get_by_role("link", name=name).click()
        self.clicks += 1

    @property
    def guide(self) -> Locator:
        return self.page.get_by_role("complementary", name="Try it")

    def confirm(self, title: str) -> None:
        dialog = self.page.get_by_role("dialog", name=title)
        expect(dialog).to_contain_text("Built-in wallet (local chain only)")
        self.click("Confirm", dialog)
        self.confirmed += 1
        expect(dialog).to_have_count(0)

    def send(self) -> None:
        card = self.page.locator("[data-card]").first
        self.click("Send with wallet", card)
        self.confirm("Send a transaction")
        expect(card).to_have_attribute("data-phase", "recorded", timeout=FOLLOWED_MS)
        self.click("Dismiss", card)

    def is_asked(self, step: str) -> None:
        expect(self.guide).to_contain_text(step, timeout=FOLLOWED_MS)


def test_newcomer_without_a_wallet__tries_the_whole_story_by_clicks(
    open_page: Open, record_property: Callable[[str, object], None]
) -> None:
    opened = open_page()
    began = time.monotonic()
    opened.go()
    page = opened.page
    newcomer = Newcomer(page)
    newcomer.click("Try it")
    newcomer.confirm("Sign a message")
    account = wallet_of(VISITOR_NUMBER)["address"].lower()
    expect(page.get_by_role("button", name=re.compile(account[:6], re.IGNORECASE))).to_be_visible()

    newcomer.click("Make a practice agent", newcomer.guide)
    newcomer.follow("Open the form")
    newcomer.click("Save and read the terms")
    newcomer.is_asked("Sign the terms")
    newcomer.click("Sign the terms")
    newcomer.confirm("Sign typed data")
    newcomer.click("Create and fund the vault")
    newcomer.confirm("Sign typed data")
    newcomer.send()
    newcomer.is_asked("Watch the agent work")
    newcomer.click("Let the agent buy", newcomer.guide)
    newcomer.is_asked("Stop it")
    newcomer.click("Let it try 250, above its cap", newcomer.guide)
    newcomer.click("Stop")
    newcomer.send()
    newcomer.is_asked("Close the position")
    newcomer.click("Close all")
    newcomer.click("Unwind")
    newcomer.send()
    newcomer.is_asked("Take your money back")
    newcomer.click("Close the plan")
    newcomer.click("Withdraw")
    newcomer.send()
    newcomer.is_asked("That was the whole story")

    took_s = time.monotonic() - began
    as_a_person_s = took_s + newcomer.clicks * A_CLICK_S
    print(
        f"{newcomer.clicks} clicks, {newcomer.confirmed} of them in the wallet, in {took_s:.0f} s; "
        f"with {A_CLICK_S:.0f} s a click {as_a_person_s:.0f} s"
    )
    assert as_a_person_s < FIVE_MINUTES_S
    assert opened.errors == []


def test_second_browser_of_the_built_in_wallet__makes_an_agent_of_its_own(open_page: Open) -> None:
    for _ in range(2):
        opened = open_page()
        opened.go()
        newcomer = Newcomer(opened.page)
        newcomer.click("Try it")
        newcomer.confirm("Sign a message")
        newcomer.click("Make a practice agent", newcomer.guide)
        newcomer.is_asked("Write a mandate")
        assert opened.errors == []

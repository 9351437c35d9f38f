"""The Notes page: a note as elements, its links, and a ticker that is HTML."""

from urllib.parse import quote

import pytest
from playwright.sync_api import expect

from api.areas.notes.tables import KgLink
from core.db.engine import Database
from tests.browser.conftest import Open, Opened, Place, axe, until
from tests.browser.test_pages import WIDER, settle

HOSTILE = "<img src=x onerror=hacked=1>"


def is_in_the_vault(database: Database, target: str, token: str) -> bool:
    """Written by the keeper's job within a minute after the market's rows."""
    with database.read() as session:
        return session.get(KgLink, (target, token)) is not None


@pytest.fixture
def visitor(open_page: Open, place: Place, market: None) -> Opened:
    """Without a session."""
    return open_page(place.wallet())


def test_a_ticker_that_begins_so__leads_to_its_note(visitor: Opened) -> None:
    visitor.go("notes")
    visitor.page.get_by_label("How the ticker begins").fill("bt")
    visitor.page.get_by_role("link", name="BTC", exact=True).click()
    expect(visitor.page.get_by_role("heading", name="BTC", level=1)).to_be_visible()
    for name in ("Identity", "Grade by exchange", "Deposit / Withdrawal", "Related", "Sources"):
        expect(visitor.page.get_by_role("heading", name=name, level=2)).to_be_visible()
    expect(visitor.page.get_by_role("cell", name="BTC/USDT").first).to_be_visible()
    visitor.page.get_by_text("Frontmatter").click()
    expect(visitor.page.get_by_text("type: token")).to_be_visible()


def test_a_hub__has_the_notes_that_lead_to_it(visitor: Opened, place: Place) -> None:
    database = Database(place.facts["database_url"])
    try:
        until(lambda: is_in_the_vault(database, "class/crypto", "BTC"), 90)
    finally:
        database.close()
    visitor.go("notes/BTC")
    visitor.page.get_by_role("link", name="crypto", exact=True).click()
    expect(visitor.page.get_by_role("heading", name="crypto", level=1)).to_be_visible()
    visitor.page.get_by_role("link", name="BTC", exact=True).click()
    expect(visitor.page.get_by_role("heading", name="BTC", level=1)).to_be_visible()


@pytest.mark.parametrize("token", [HOSTILE, "[x](javascript:hacked=1)", "[[BTC]]"])
def test_a_hostile_ticker__is_text(visitor: Opened, token: str) -> None:
    visitor.go(f"notes/{quote(token, safe='')}")
    expect(visitor.page.get_by_role("heading", name=token, level=1)).to_be_visible()
    expect(visitor.page.get_by_text("Coverage is limited")).to_be_visible()
    assert visitor.page.evaluate("typeof hacked") == "undefined"
    assert visitor.page.locator("article img, article a[href^='javascript']").count() == 0


def test_the_pages__have_nothing_serious_for_axe__and_fit_a_phone(
    open_page: Open, place: Place, market: None
) -> None:
    found = open_page(place.wallet())
    found.page.set_viewport_size({"width": 390, "height": 844})
    serious, wide = list[str](), list[str]()
    for path in ("notes", "notes/BTC", "notes/DUST", "notes/class/crypto"):
        found.go(path)
        settle(found.page)
        serious += [f"{path}: {line}" for line in axe(found.page)]
        wide += [f"{path}: {one}" for one in found.page.evaluate(WIDER)]
    assert (serious, wide) == ([], [])

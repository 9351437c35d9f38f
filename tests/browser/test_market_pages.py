"""The Board and a token's page: what each shows first, what is unknown, and that charts have a table."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, Opened, Place, axe
from tests.browser.test_pages import WIDER, settle

TOKEN = "token/binance_btc_usdt"
PAGES = ("board", TOKEN, "token/mexc_dust_usdt", "token/binance_link_usdt")


@pytest.fixture
def visitor(open_page: Open, place: Place, market: None) -> Opened:
    """Without a session."""
    return open_page(place.wallet())


def test_the_board__sorts_and_filters_with_its_state_in_the_address(visitor: Opened) -> None:
    visitor.go("board")
    grid = visitor.page.get_by_role("region", name="listings")
    expect(grid.get_by_role("link", name="BTC/USDT")).to_be_visible()
    visitor.page.get_by_label("Filter listings").fill("LINK/")
    expect(grid.get_by_role("link", name="BTC/USDT")).to_have_count(0)
    expect(grid.get_by_role("link", name="LINK/KRW")).to_be_visible()
    assert "board.q=LINK" in visitor.page.url


def test_a_listing_without_a_grade__is_unknown__not_f(visitor: Opened) -> None:
    visitor.go("board?board.q=LINK/KRW")
    row = visitor.page.get_by_role("row").filter(has_text="LINK/KRW")
    expect(row.get_by_label("unknown: Not enough data to grade it.")).to_be_visible()
    expect(row.get_by_text("unknown").last).to_be_visible()


def test_a_row__leads_to_the_page_of_its_token(visitor: Opened) -> None:
    visitor.go("board?board.q=BTC/USDT")
    visitor.page.get_by_role("link", name="BTC/USDT").click()
    expect(visitor.page.get_by_role("heading", name="BTC/USDT", level=1)).to_be_visible()
    for name in ("Why this grade", "Order book", "Venues side by side", "Timeline of BTC"):
        expect(visitor.page.get_by_role("heading", name=name)).to_be_visible()
    expect(visitor.page.get_by_text("simulated").first).to_be_visible()


def test_charts__have_their_figures_in_a_table(visitor: Opened) -> None:
    visitor.go(TOKEN)
    expect(visitor.page.get_by_role("img", name="Price of BTC/USDT over 30 days")).to_be_visible()
    visitor.page.get_by_text("The same as a table").click()
    expect(visitor.page.get_by_role("columnheader", name="Close, USDT")).to_be_visible()


def test_an_unknown_token__says_what_to_do(visitor: Opened) -> None:
    visitor.go("token/binance_nosuch_usdt")
    expect(visitor.page.get_by_text("There is no listing binance_nosuch_usdt")).to_be_visible()


def test_the_pages__have_nothing_serious_for_axe__and_fit_a_phone(
    open_page: Open, place: Place, market: None
) -> None:
    found = open_page(place.wallet())
    found.page.set_viewport_size({"width": 390, "height": 844})
    serious, wide = list[str](), list[str]()
    for path in PAGES:
        found.go(path)
        settle(found.page)
        serious += [f"{path}: {line}" for line in axe(found.page)]
        wide += [f"{path}: {one}" for one in found.page.evaluate(WIDER)]
    assert (serious, wide) == ([], [])

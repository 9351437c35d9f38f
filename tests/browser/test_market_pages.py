"""The Board and a token's page: what each shows first, what is unknown, and that charts have a table."""

import csv
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Open, Opened, Place, axe
from tests.browser.test_pages import WIDER, settle

TOKEN = "token/binance_btc_usdt"
MOST_TABS = 80
# what scrolls sideways on a wide window, where all columns have room
SCROLLED = """
() => [...document.querySelectorAll(".table")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1)
  .map((one) => `${one.getAttribute("aria-label")} is ${one.scrollWidth - one.clientWidth} px wider than its place`)
"""
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
    expect(visitor.page.get_by_role("heading", name="binance_nosuch_usdt", level=1)).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_the_pages__have_nothing_serious_for_axe__and_fit_the_window(
    open_page: Open, place: Place, market: None, width: int, scheme: str
) -> None:
    """The board was 108 px wider than a window of 1280."""
    found = open_page(place.wallet(), color_scheme=scheme)
    found.page.set_viewport_size({"width": width, "height": 844})
    serious, wide = list[str](), list[str]()
    for path in PAGES:
        found.go(path)
        settle(found.page)
        serious += [f"{path}: {line}" for line in axe(found.page)]
        wide += [f"{path}: {one}" for one in found.page.evaluate(WIDER)]
        if width == 1280:
            wide += [f"{path}: {one}" for one in found.page.evaluate(SCROLLED)]
    assert (serious, wide) == ([], [])


def test_the_board__is_used_by_the_keyboard_alone(visitor: Opened) -> None:
    """From the filter over the heads of columns to a pair, and on to the figures behind it."""
    visitor.go("board")
    visitor.page.get_by_role("link", name="BTC/USDT").wait_for()
    keys = visitor.page.keyboard
    _tab_to(visitor, lambda: _focused(visitor, "aria-label") == "Filter listings")
    keys.type("BTC")
    _tab_to(visitor, lambda: _focused(visitor, "textContent").startswith("Price, $"))
    keys.press("Enter")
    head = visitor.page.get_by_role("columnheader", name="Price, $")
    expect(head).to_have_attribute("aria-sort", "descending")
    _tab_to(visitor, lambda: _focused(visitor, "textContent") == "BTC/USDT")
    keys.press("Enter")
    expect(visitor.page.get_by_role("heading", name="BTC/USDT", level=1)).to_be_focused()
    _tab_to(visitor, lambda: _focused(visitor, "textContent") == "90 d")
    keys.press("Space")
    expect(visitor.page.get_by_role("button", name="90 d")).to_have_attribute(
        "aria-pressed", "true"
    )


def test_the_boards_csv__has_numbers_and_not_what_the_page_rounds_them_to(visitor: Opened) -> None:
    visitor.go("board")
    visitor.page.get_by_role("link", name="BTC/USDT").wait_for()
    with visitor.page.expect_download() as download:
        visitor.page.get_by_role("button", name="CSV").click()
    with download.value.path().open(newline="") as file:
        rows = {row["symbol"]: row for row in csv.DictReader(file)}
    columns = ("price usd", "spread bps", "depth usd", "volume usd")
    assert [float(rows["BTC/USDT"][name]) for name in columns] == [9e4, 4.0, 5e5, 5e8]
    assert float(rows["DUST/USDT"]["price usd"]) == 0.001


def _focused(opened: Opened, name: str) -> str:
    """An attribute or property of what has the focus."""
    read = "name => document.activeElement[name] ?? document.activeElement.getAttribute(name)"
    return str(opened.page.evaluate(read, name) or "")


def _tab_to(opened: Opened, is_there: Callable[[], bool]) -> None:
    for _ in range(MOST_TABS):
        if is_there():
            return
        opened.page.keyboard.press("Tab")
    pytest.fail(f"not reached by Tab; the focus is on {_focused(opened, 'textContent')[:80]}")

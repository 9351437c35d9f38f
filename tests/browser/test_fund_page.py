"""The Fund page: vaults and their rules, past signals, the paper follower, the journey."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import expect
from sqlalchemy import update
from sqlalchemy.dialects.postgresql import insert

from api.client import Client
from core.db.engine import Database, WriteSession
from core.fund import indices
from core.fund.rules.paper import START_USDC_E6
from core.fund.tables import FundPaper, FundPaperMark
from core.market.tables import MarketListingState
from core.published import queries as published
from tests.browser.conftest import Open, Opened, Place, axe
from tests.browser.test_pages import WIDER, settle

MAJORS, PERP = "Simulated majors", "Simulated, leveraged"
IN_INDEX: dict[str, Any] = {
    "ticker": "BTC", "categories": [], "exclusion": None, "market": "binance_btc_usdt", "weight_e4": 10_000,
    "depth_usdc_e6": 10**12, "venues": 2, "is_deliverable": True,
}  # fmt: skip


@pytest.fixture
def visitor(open_page: Open, place: Place, market: None) -> Opened:
    """Without a session; what books hold was seen just now."""
    with written(place) as session:
        session.execute(update(MarketListingState).values(sampled_at=datetime.now(UTC)))
    return open_page(place.wallet())


@contextmanager
def written(place: Place) -> Iterator[WriteSession]:
    database = Database(place.facts["database_url"])
    try:
        with database.write() as session:
            yield session
    finally:
        database.close()


def vault_of(place: Place, name: str) -> dict[str, Any]:
    with Client(place.base_url) as client:
        found = [one for one in client.fund.vaults()["vaults"] if one["name"] == name]
    return dict(found[0])


def test_the_page__leads_to_a_vault_and_says_what_it_may_trade(visitor: Opened) -> None:
    visitor.go("fund")
    visitor.page.get_by_role("link", name=MAJORS, exact=True).click()
    expect(visitor.page.get_by_role("heading", name=MAJORS, level=1)).to_be_visible()
    markets = visitor.page.get_by_role("region", name="the vault's markets").locator("tbody tr")
    expect(markets).to_have_count(3)
    expect(markets.filter(has_text="BTC/USDT")).to_contain_text("open")
    expect(markets.filter(has_text="SOL/USDT")).to_contain_text("unknown")
    past = visitor.page.get_by_role("region", name="past signals").locator("tbody tr")
    expect(past).to_have_count(2)


def test_the_page__names_the_indices_with_the_version_of_their_day(
    visitor: Opened, place: Place
) -> None:
    with Client(place.base_url) as client:
        majors, sectors = client.fund.indices()["indices"]
    figures = {"members": [IN_INDEX], "is_simulated": True, "delivery_chain": "eip155:1"}
    now = datetime.now(UTC)
    with written(place) as session:
        made = published.publish(session, indices.series_of(majors["id"]), figures, now, now)
    assert made is not None
    visitor.go("fund")
    shown = visitor.page.get_by_role("region", name="Indices").get_by_role("listitem")
    expect(shown).to_have_count(2)
    expect(shown.first).to_contain_text("1 constituent, 1 deliverable on eip155:1")
    expect(shown.first).to_contain_text(f"{made.day}, version {made.version}")
    expect(shown.last).to_contain_text(sectors["name"])
    expect(shown.last).to_contain_text("no constituents yet")


def test_the_journey__has_eight_steps__and_signed_out_it_is_an_example(visitor: Opened) -> None:
    visitor.go("fund")
    steps = visitor.page.get_by_role("list", name="The eight steps").get_by_role("listitem")
    expect(steps).to_have_count(8)
    expect(visitor.page.get_by_text("an example")).to_be_visible()
    expect(steps.first).to_contain_text("done")
    expect(steps.nth(4)).to_contain_text("for 14 days")
    expect(steps.last).to_contain_text("next")


def test_the_journey__of_an_owner__is_its_own(visitor: Opened) -> None:
    visitor.go()
    visitor.sign_in()
    visitor.go("fund")
    expect(visitor.page.locator("[data-node=link_wallet]")).to_contain_text("done")
    expect(visitor.page.get_by_text("an example")).to_have_count(0)


def test_the_paper_follower__is_beside_the_signals__once_it_may_be_shown(
    visitor: Opened, place: Place
) -> None:
    vault, perp = (vault_of(place, name)["id"] for name in (MAJORS, PERP))
    marked(place, perp)
    visitor.go(f"fund/{perp}")
    paper = visitor.page.get_by_role("region", name="The paper follower")
    for figure in ("9,487.54", "\u2212512.46 bps", "612.46 bps at most", "12.44"):
        expect(paper).to_contain_text(figure)
    visitor.go(f"fund/{vault}")
    expect(paper).to_contain_text("Not shown yet")


def marked(place: Place, vault: int) -> None:
    """The paper follower of a vault was worth something before its live signals."""
    at = datetime.now(UTC) - timedelta(hours=30)
    with written(place) as session:
        opened = {
            "vault_id": vault, "opened_at": at, "accrued_at": at, "cash_usdc_e6": START_USDC_E6,
            "peak_usdc_e6": START_USDC_E6, "max_drawdown_bps_e2": 0, "trades": 0, "fees_usdc_e6": 0,
            "impact_usdc_e6": 0, "fund_fees_usdc_e6": 0,
        }  # fmt: skip
        session.execute(insert(FundPaper).values(opened).on_conflict_do_nothing())
        session.add(
            FundPaperMark(
                vault_id=vault, hour=at.replace(minute=0, second=0, microsecond=0), at=at,
                nav_usdc_e6=9_487_547_771, drawdown_bps_e2=51_246, max_drawdown_bps_e2=61_246, trades=3,
                fees_usdc_e6=2_500_000, impact_usdc_e6=12_440_287, fund_fees_usdc_e6=123,
            )
        )  # fmt: skip


def test_a_vault_that_is_not_there__leads_to_the_others(visitor: Opened) -> None:
    visitor.go("fund/999999")
    expect(visitor.page.get_by_text("There is no vault 999999")).to_be_visible()
    visitor.page.get_by_role("link", name="See the vaults").click()
    expect(visitor.page.get_by_role("heading", name="Fund", level=1)).to_be_visible()


def test_the_page_of_a_vault__asks_for_no_secret(visitor: Opened, place: Place) -> None:
    visitor.go(f"fund/{vault_of(place, MAJORS)['id']}")
    live = visitor.page.get_by_role("region", name="Live signals")
    expect(live).to_contain_text("10 credits")
    expect(live.get_by_role("link", name="Connect an agent")).to_be_visible()
    expect(visitor.page.locator("input[type=password]")).to_have_count(0)


def test_the_pages__have_nothing_serious_for_axe__and_fit_a_phone(
    visitor: Opened, place: Place
) -> None:
    visitor.page.set_viewport_size({"width": 390, "height": 844})
    serious, wide = list[str](), list[str]()
    for path in ("fund", f"fund/{vault_of(place, MAJORS)['id']}"):
        visitor.go(path)
        settle(visitor.page)
        serious += [f"{path}: {line}" for line in axe(visitor.page)]
        wide += [f"{path}: {one}" for one in visitor.page.evaluate(WIDER)]
    assert (serious, wide) == ([], [])

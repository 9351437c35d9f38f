"""How the page reads: on a phone, in the dark, by keyboard, to a screen reader."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.chain_fixtures import USDC, DeployedChain
from tests.integration.exit.conftest import Visit
from tests.integration.exit.scripted_wallet import ScriptedWallet

Open = Callable[..., Visit]
AXE = Path(__file__).parents[3] / "node_modules" / "axe-core" / "axe.min.js"
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1200, "height": 900}


@pytest.fixture
def leaving(
    visit: Open, deployed: DeployedChain, owner_wallet: ScriptedWallet
) -> Callable[..., Visit]:
    """The page with a vault that has a position, and a transaction that was mined."""

    def opened(**options: Any) -> Visit:
        vault = deployed.create_vault(deployed.terms("m_look"))
        deployed.buy(vault, 50 * USDC)
        page = visit(owner_wallet, **options)
        page.connect()
        page.find()
        page.see("The agent can still act.")
        page.press("Stop the mandate")
        page.see("Close the open positions")
        return page

    return opened


def violations(page: Visit) -> list[str]:
    page.page.evaluate(AXE.read_text())
    found = page.page.evaluate("axe.run(document).then((one) => one.violations)")
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
def test_the_page__has_nothing_that_axe_finds_and_fits_its_width(
    leaving: Callable[..., Visit], scheme: str, size: dict[str, int]
) -> None:
    page = leaving(color_scheme=scheme, viewport=size)
    for summary in page.page.locator("summary").all():
        summary.click()

    assert violations(page) == []
    width = page.page.evaluate("document.documentElement.scrollWidth")
    assert width == size["width"]
    heights = page.page.eval_on_selector_all(
        "button, input, summary",
        "all => all.filter(one => one.offsetParent).map(one => one.offsetHeight)",
    )
    assert min(heights) >= 44


def test_a_step__can_be_taken_by_keyboard_alone_and_keeps_the_focus(
    leaving: Callable[..., Visit],
) -> None:
    page = leaving()
    page.page.get_by_role("button", name="Close the position").first.focus()
    page.page.keyboard.press("Enter")
    page.see("The money can be withdrawn now.")
    page.page.get_by_role("button", name="Read the vault again").focus()
    page.page.keyboard.press("Enter")
    page.page.wait_for_timeout(500)

    focused = page.page.evaluate("document.activeElement.textContent")
    assert focused == "Read the vault again"


def test_what_happens__is_told_to_screen_readers(leaving: Callable[..., Visit]) -> None:
    page = leaving()

    assert page.page.locator("#live").inner_text().startswith("Stop the mandate: Done.")

"""Pictures of the console's pages into docs/console/: `make screenshots`.

A stack of its own with a simulated world, one mandate at work and one case of paid work. The documentation keeps the
ten of PICTURES. `PAGES="earn tasks"`: these pages instead, in light, dark and at the width of a phone.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from api.client import Client, Wallet, sign_typed_data
from scripts._ports import Ports
from tests.acceptance.conftest import ROOT, RunningStack, stack_folder
from tests.browser.conftest import CHROMIUM, FLAGS, Opened, Place, until
from tests.browser.wallet import install
from tests.browser.work import work_through

FOLDER = ROOT / "docs" / "console"
LOOKS = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}},
}
PICTURES = frozenset(
    {
        "sign-in-light", "mandates-light", "mandate-light", "mandate-dark", "mandate-phone", "statements-light",
        "agents-light", "agent-dark", "board-light", "token-light",
    }
)  # fmt: skip
MARKET = {
    "board": "board", "token": "token/binance_btc_usdt", "fund": "fund", "fund-vault": "fund/1",
}  # fmt: skip
WAIT_MS = 1_500
WITHIN_S = 60
GRADED_S = 330  # the job runs every five minutes, and first before a slow machine has its past
STEPS = 6  # of the mandate at work, its two actions included


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with stack_folder() as folder:
        stack = RunningStack(folder, Ports.free())
        try:
            place = Place(stack.await_ready())
            pages = wanted(place, folder)
            with sync_playwright() as playwright:
                browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
                for look, settings in LOOKS.items():
                    shoot(browser, place, pages, look, settings)
                browser.close()
        finally:
            stack.interrupt()
            stack.output()


def seed(folder: Path) -> None:
    command = [sys.executable, "-m", "tests.world.seed"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "STACK_DIR": str(folder)}, check=True)


def at_work(place: Place) -> dict[str, str]:
    """A mandate with a position, a draft, a listing's reader; the pages by name."""
    adapter = place.facts["contracts"]["test_venue_adapter"]
    with (
        place.owner() as owner,
        Wallet(place.key("owner"), place.rpc_url) as wallet,
        Wallet(place.key("agent"), place.rpc_url) as acting,
    ):
        agent = owner.connect("harbour-trader")
        agent.link_wallet(acting.account)
        owner.agents.confirm_wallet(int(agent.user_id), wallet_address=acting.address)
        owner.mandates.policy_set(agent.user_id, accepts_mandates=True)
        mandate_id = draft(owner, agent.user_id, "Buy units at the test venue, carefully.")
        owner.sign_terms(mandate_id, wallet.account)
        offered = owner.mandates.deploy_call(mandate_id, fund="authorization")
        signature = sign_typed_data(wallet.account, offered["typed_data"])
        wallet.send(
            owner.mandates.deploy_call(
                mandate_id, fund="authorization", authorization_signature=signature
            )
        )
        until(lambda: owner.mandates.read(mandate_id)["mandate"]["status"] == "working")
        agent.mandates.accept(mandate_id)
        for amount in ("120", "80"):
            call = agent.mandates.execute_call(
                mandate_id, target=adapter, function="buy(uint256)", args=[f"{amount}000000"],
                amount_usdc=f"{amount}.000000",
            )  # fmt: skip
            sent = acting.send(call)
            report = {"target": adapter, "position": {"id": "unit", "name": "Test venue unit"}}
            agent.mandates.report_event(
                mandate_id, kind="buy", payload=report, amount_usdc=f"{amount}.000000",
                tx_hash=sent["tx_hash"], why="The price is below the signal's entry.",
            )  # fmt: skip
        draft_id = draft(owner, agent.user_id, "Lend idle USDC overnight, and nothing else.")
        until(lambda: len(owner.mandates.steps(mandate_id)["steps"]) >= STEPS)
        agent.close()
        hall = await_hall(owner)
    return {
        "mandates": "mandates", "mandate": f"mandates/{mandate_id}", "record": f"mandates/{mandate_id}/record",
        "sign": f"mandates/{draft_id}", "new-mandate": "new", "agents": "agents", "agent": f"agents/{hall}",
        "statements": f"statements?mandate={mandate_id}", "rules": "rules", "status": "status",
        "notes": "notes", "note": "notes/BTC", "note-listed": "notes/LINK", "note-unknown": "notes/NOSUCH",
    }  # fmt: skip


def paid_work(place: Place) -> dict[str, str]:
    """A case of paid work from registration to payment; the pages by name."""
    work = work_through(place)
    return {
        "earn": "earn", "earnings": "earn/mine", "known": "earn/known", "fields": "earn/fields/binance/LINK_USDT",
        "tasks": "tasks", "task": f"tasks/{work.settled_task}", "rooms": "rooms", "room": f"rooms/{work.room}",
    }  # fmt: skip


def of_market(place: Place) -> dict[str, str]:
    """The board, a token that is graded and listed at several exchanges, and funds; once all are there."""
    with Client(place.base_url) as client:
        until(lambda: any(row["grade"] for row in client.board.rows(limit=50)["rows"]), GRADED_S)
    return MARKET


def wanted(place: Place, folder: Path) -> dict[str, str]:
    """Errors: KeyError for a page that there is not."""
    names = os.environ.get("PAGES", "").split()
    pages = of_market(place)
    if names and set(names) <= set(pages):
        return {name: pages[name] for name in names}
    seed(folder)
    pages |= at_work(place) | paid_work(place)
    return {name: pages[name] for name in names} if names else pages


def draft(owner: Client, agent_id: str, purpose: str) -> str:
    made = owner.mandates.create(
        purpose=purpose, agent_id=agent_id, budget_usdc="1000.000000", per_tx_cap_usdc="200.000000",
        daily_cap_usdc="450.000000", stop_floor_bps=500, target_bps=800, horizon_days=30,
        approval_above_usdc="100.000000", market_mode="testnet",
    )  # fmt: skip
    return str(made["mandate"]["public_id"])


def await_hall(owner: Client) -> str:
    """The first agent of the Hall, once the worker has built it."""
    ends = time.monotonic() + 3 * WITHIN_S
    while time.monotonic() < ends:
        agents = owner.hall.list()["agents"]
        if agents and agents[0]["ranked"]:
            return str(agents[0]["agent_id"])
        time.sleep(2)
    raise TimeoutError("the Hall was not built in time")


def shoot(
    browser: Browser, place: Place, pages: dict[str, str], look: str, settings: dict[str, object]
) -> None:
    context = browser.new_context(**settings)  # type: ignore[arg-type]  # of the table above
    opened = Opened(context.new_page(), place, (place.wallet(),))
    install(opened.page, *opened.wallets)
    opened.go()
    opened.page.get_by_role("button", name=opened.wallet.name).wait_for()
    named = os.environ.get("PAGES")
    if not named and f"sign-in-{look}" in PICTURES:
        opened.page.wait_for_timeout(WAIT_MS)
        save(opened, "sign-in", look)
    opened.sign_in()
    for name, path in pages.items():
        if not named and f"{name}-{look}" not in PICTURES:
            continue
        opened.go(path)
        opened.page.locator("#main h1").first.wait_for()
        opened.page.wait_for_timeout(WAIT_MS)
        save(opened, name, look)
    context.close()


def save(opened: Opened, name: str, look: str) -> None:
    opened.page.screenshot(path=FOLDER / f"{name}-{look}.png")
    print(f"docs/console/{name}-{look}.png", flush=True)


if __name__ == "__main__":
    main()

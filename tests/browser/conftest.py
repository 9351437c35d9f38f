"""The console in a real browser against a real stack, which this folder's tests share."""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

from api.client import Client, Wallet, sign_typed_data
from core.db.engine import Database
from scripts._ports import Ports
from tests.acceptance.conftest import RunningStack, stack_folder
from tests.browser.wallet import BrowserWallet, install
from tests.browser.work import Words, Work, work_through
from tests.market_rows import add_market

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
WITHIN_MS = 30_000
NAME = "<b>night</b>-miner"
POST = f"<img src=x onerror=alert(1)><script>alert(2)</script>\n{'W' * 300}"
expect.set_options(timeout=WITHIN_MS)
AXE = Path(__file__).resolve().parents[2] / "node_modules" / "axe-core" / "axe.min.js"


@dataclass(frozen=True, slots=True)
class Place:
    """A running stack: what stack.json says."""

    facts: dict[str, Any]

    @property
    def base_url(self) -> str:
        return str(self.facts["base_url"])

    @property
    def rpc_url(self) -> str:
        return str(self.facts["rpc_url"])

    def key(self, persona: str) -> str:
        return str(self.facts["accounts"][persona]["private_key"])

    def wallet(self, persona: str = "owner", **more: Any) -> BrowserWallet:
        return BrowserWallet(self.key(persona), self.rpc_url, **more)

    def owner(self, persona: str = "owner") -> Client:
        """Signed in; to be closed."""
        client = Client(self.base_url)
        client.sign_in(self.key(persona))
        return client


@dataclass(frozen=True, slots=True)
class Mandate:
    """One with a funded vault."""

    id: str
    place: Place
    agent: Client

    def stop(self) -> None:
        """By the owner's own transaction, past the page."""
        with (
            self.place.owner() as owner,
            Wallet(self.place.key("owner"), self.place.rpc_url) as wallet,
        ):
            wallet.send(owner.mandates.stop_call(self.id))

    def await_status(self, status: str) -> None:
        with self.place.owner() as owner:
            until(lambda: owner.mandates.read(self.id)["mandate"]["status"] == status)


@dataclass
class Opened:
    """A page, and what its console said of errors."""

    page: Page
    place: Place
    wallets: tuple[BrowserWallet, ...]
    errors: list[str] = field(default_factory=list)

    @property
    def wallet(self) -> BrowserWallet:
        return self.wallets[0]

    def go(self, path: str = "") -> None:
        self.page.goto(f"{self.place.base_url}/#/{path}")

    def sign_in(self) -> None:
        self.page.get_by_role("button", name=self.wallet.name).click()
        self.page.get_by_role("heading", name="Mandates").wait_for()


@pytest.fixture(scope="package")
def place() -> Iterator[Place]:
    with stack_folder() as folder:
        stack = RunningStack(folder, Ports.free(), WITHOUT="scanner")  # the market is `market`'s
        try:
            yield Place(stack.await_ready())
        finally:
            stack.interrupt()
            stack.output()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        yield found
        found.close()


Open = Callable[..., Opened]


@pytest.fixture
def open_page(browser: Browser, place: Place) -> Iterator[Open]:
    """Open a page with wallets; every context is closed at the end, and nothing may be left in its console."""
    pages: list[Page] = []

    def start(*wallets: BrowserWallet, **settings: Any) -> Opened:
        page = browser.new_page(viewport={"width": 1280, "height": 900}, **settings)
        pages.append(page)
        page.set_default_timeout(WITHIN_MS)
        opened = Opened(page, place, wallets)

        def hear(message: ConsoleMessage) -> None:
            # A kept connection that the server closes in that moment is reported by the browser, and asked
            # again by the page; what the page does not recover fails the story itself.
            if message.type == "error" and "ERR_SOCKET_NOT_CONNECTED" not in message.text:
                opened.errors.append(message.text)

        page.on("console", hear)
        page.on("pageerror", lambda error: opened.errors.append(str(error)))
        install(page, *wallets)
        return opened

    yield start
    for page in pages:
        # what a route still forwards would otherwise fail in the test after this one
        page.unroute_all(behavior="ignoreErrors")
        page.context.close()


@pytest.fixture(scope="package")
def agent(place: Place) -> Iterator[Client]:
    """The owner's, with a wallet of its own; an owner may have twenty."""
    with place.owner() as owner:
        found = owner.connect("night-watch")
        found.link_wallet(Account.create())
        owner.mandates.policy_set(found.user_id, accepts_mandates=True)
    yield found
    found.close()


@pytest.fixture(scope="package")
def work(place: Place) -> Work:
    """A case of paid work, of agents whose names and posts are markup."""
    return work_through(place, Words(miner=NAME, post=POST))


@pytest.fixture(scope="package")
def market(place: Place) -> None:
    """The rows of tests/market_rows.py."""
    database = Database(str(place.facts["database_url"]))
    try:
        with database.write() as session:
            add_market(session, datetime.now(UTC))
    finally:
        database.close()


@pytest.fixture
def signed(place: Place, agent: Client) -> str:
    """Signed terms without a vault."""
    with place.owner() as owner:
        return _signed(owner, place, agent)


@pytest.fixture
def mandate(place: Place, agent: Client) -> Mandate:
    with place.owner() as owner, Wallet(place.key("owner"), place.rpc_url) as wallet:
        mandate_id = _signed(owner, place, agent)
        offered = owner.mandates.deploy_call(mandate_id, fund="authorization")
        signature = sign_typed_data(wallet.account, offered["typed_data"])
        wallet.send(
            owner.mandates.deploy_call(
                mandate_id, fund="authorization", authorization_signature=signature
            )
        )
        until(lambda: owner.mandates.read(mandate_id)["mandate"]["status"] == "working")
        return Mandate(mandate_id, place, agent)


def _signed(owner: Client, place: Place, agent: Client) -> str:
    made = owner.mandates.create(
        purpose="Wait for the price, then buy.",
        agent_id=agent.user_id,
        budget_usdc="500.000000",
        per_tx_cap_usdc="100.000000",
        daily_cap_usdc="250.000000",
        stop_floor_bps=1_000,
        horizon_days=30,
        approval_above_usdc="50.000000",
        market_mode="testnet",
    )
    mandate_id = str(made["mandate"]["public_id"])
    owner.sign_terms(mandate_id, place.key("owner"))
    return mandate_id


def until(holds: Callable[[], bool], within_s: float = WITHIN_MS / 1000) -> None:
    ends = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < ends
        time.sleep(0.2)


def axe(page: Page) -> list[str]:
    """What axe calls serious or critical on this page, one line for each place."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['target']} {node.get('failureSummary', '')[:200]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
        for node in one["nodes"]
    ]

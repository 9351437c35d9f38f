"""The emergency exit in a real browser: the page from a static host of the test's own, a wallet, a
chain, and no service at all.
"""

import functools
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.integration.chain_fixtures import DeployedChain
from tests.integration.exit.scripted_wallet import ScriptedWallet

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "api" / "web" / "exit.html"
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WITHIN_MS = 15_000


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Nothing: pytest shows what matters."""


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A static host that has the one file, as anybody's would."""
    folder = tmp_path_factory.mktemp("static")
    shutil.copy(PAGE, folder)
    handler = functools.partial(_QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://localhost:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="package")  # a worker may have one at a time, and other folders have theirs
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=list(FLAGS)
        )
        yield browser
        browser.close()


@dataclass(slots=True)
class Visit:
    """A page that is open, the wallets that it has, and all that it asked of anybody else."""

    page: Page
    chain: DeployedChain
    wallets: dict[str, ScriptedWallet]
    requests: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    @property
    def wallet(self) -> ScriptedWallet:
        return next(iter(self.wallets.values()))

    def connect(self) -> None:
        self.page.get_by_role("button", name="Connect").first.click()
        self.page.get_by_text("account 0x").wait_for()

    def find(self, factory: str | None = None) -> None:
        self.page.get_by_label("Factory").fill(factory or self.chain.contracts["factory"])
        self.page.get_by_role("button", name="Find my vaults").click()

    def paste(self, *vaults: str, factory: str | None = None) -> None:
        self.page.get_by_label("Factory").fill(factory or self.chain.contracts["factory"])
        self.page.get_by_label("Or the addresses").fill("\n".join(vaults))
        self.page.get_by_role("button", name="Show these vaults").click()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name).first.click()

    def see(self, text: str) -> None:
        self.page.get_by_text(text).first.wait_for()

    def card(self, phase: str) -> str:
        """The text of the transaction in that phase, once there is one."""
        return self.page.locator(f'article[data-phase="{phase}"]').first.inner_text()

    def wake(self) -> None:
        """Whoever has the wallet answers what it was asked."""
        self.wallet.is_asleep = False
        self.page.evaluate("uuid => window.__wallets[uuid].wake()", self.wallet.uuid)

    def emit(self, event: str, value: Any) -> None:
        self.page.evaluate(
            "([uuid, event, value]) => window.__wallets[uuid].emit(event, value)",
            [self.wallet.uuid, event, value],
        )


@pytest.fixture
def visit(browser: Browser, host: str, deployed: DeployedChain) -> Iterator[Callable[..., Visit]]:
    """Open the page with these wallets (default: the owner's)."""
    contexts = []

    def opened(*wallets: ScriptedWallet, **options: Any) -> Visit:
        context = browser.new_context(**options)
        contexts.append(context)
        context.set_default_timeout(WITHIN_MS)
        by_uuid = {one.uuid: one for one in wallets}

        def ask(text: str) -> str:
            asked = json.loads(text)
            wallet = by_uuid[asked["wallet"]]
            return json.dumps(wallet.answer(asked["method"], asked["params"]))

        context.expose_function("__askWallet", ask)
        for wallet in wallets:
            context.add_init_script(wallet.script)
        page = context.new_page()
        visit = Visit(page, deployed, by_uuid)
        page.on("request", lambda request: visit.requests.append(request.url))
        page.on("pageerror", lambda error: visit.errors.append(str(error)))
        page.on(
            "console",
            lambda line: visit.errors.append(line.text) if line.type == "error" else None,
        )
        page.goto(f"{host}/exit.html")
        return visit

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture
def owner_wallet(deployed: DeployedChain) -> ScriptedWallet:
    return ScriptedWallet(deployed.rpc)

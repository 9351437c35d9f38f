"""The clients that people use, unchanged, against the API on a socket and a real chain: viem,
ethers, a Safe, MCP and x402.

The scripts stand in node/; their packages are pinned in package-lock.json.
"""

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from eth_account import Account

from api.kernel.operation import Deps
from api.main import create_app
from tests.integration.api.conftest import chain, clock, deps  # noqa: F401 (fixtures)
from tests.integration.api.payments.shop import (
    PAGE,
    PRICE,
    shop_on,
    usdc_where_stock_clients_know_it,
)
from tests.integration.api.serving import served
from tests.integration.chain_fixtures import DeployedChain
from tests.integration.indexer.conftest import Follower, follower, leadership  # noqa: F401 (fixtures)
from tests.market_rows import add_market
from tests.personas import AGENT, OWNER, STRANGER

NODE = Path(__file__).parent / "node"
WITHIN_S = 180
CATCH_UP_S = 0.1


def run(script: str, **settings: Any) -> dict[str, Any]:
    """What the script writes; it reads its settings as JSON."""
    command = ["node", str(NODE / script)]
    done = subprocess.run(
        command,
        input=json.dumps(settings),
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr or done.stdout
    return dict(json.loads(done.stdout))


@dataclass(frozen=True)
class Site:
    base_url: str
    chain: DeployedChain


@contextmanager
def followed(indexer: Follower) -> Iterator[None]:
    """The indexer takes in what is mined, in a thread of its own."""
    done = threading.Event()

    def follow() -> None:
        while not done.wait(CATCH_UP_S):
            indexer.catch_up()

    thread = threading.Thread(target=follow)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def real_time() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def site(deps: Deps, deployed: DeployedChain, follower: Follower) -> Iterator[Site]:
    real = replace(deps, chain=deployed.reader, contracts=deployed.contracts, clock=real_time)
    with (
        served(lambda base_url: create_app(replace(real, base_url=base_url))) as base_url,
        followed(follower),
    ):
        yield Site(base_url, deployed)


@pytest.mark.parametrize(
    ("library", "signature_bytes"), [("ethers", 65), ("viem", 65), ("safe", 0)]
)
def test_an_owner__goes_from_sign_in_to_withdrawal(
    site: Site, library: str, signature_bytes: int
) -> None:
    """The Safe has two owners who must both sign; it approves the terms on chain, so that their
    signature is 0x.
    """
    seen = run(
        "mandate.mjs",
        base_url=site.base_url,
        rpc_url=site.chain.anvil.url,
        usdc=site.chain.contracts["usdc"],
        adapter=site.chain.contracts["test_venue_adapter"],
        library=library,
        owner_keys=[OWNER.private_key, STRANGER.private_key],
        agent_key=AGENT.private_key,
    )
    assert (seen["terms_signature_bytes"], seen["batch_usdc"]) == (signature_bytes, "960.000000")
    assert seen["owner_usdc_e6"] == "1000000000"


def test_the_typescript_client_of_mcp__takes_every_tool_and_every_refusal(deps: Deps) -> None:
    with deps.database.write() as session:
        add_market(session, deps.clock())
    with served(lambda base_url: create_app(replace(deps, base_url=base_url))) as base_url:
        seen = run("tools.mjs", base_url=base_url)
    assert (seen["untitled"], seen["without_answer"]) == ([], [])
    assert seen["policies"] == [seen["agent"]] * 2
    assert (seen["refused"], seen["missing"]) == ([True, "auth_required"], [True, "not_found"])
    assert seen["market"] == [
        *(["search_tokens", "rows"], ["search_tokens", "rows"], ["get_stats", "listings"]),
        *(["get_warnings", "warnings"], ["get_warnings", "warnings"]),
        *(["get_price", "token_id"], ["get_price", "token_id"]),
        *(["get_price_stats", "token_id"], ["get_price_stats", "token_id"]),
        *(["get_price", "not_found"], ["get_price_stats", "invalid_parameter"]),
    ]


def test_the_typescript_client_of_x402__pays_the_page_and_leaves_the_door_alone(
    deps: Deps, deployed: DeployedChain
) -> None:
    usdc_where_stock_clients_know_it(deployed)
    shop = shop_on(deployed, replace(deps, clock=real_time))
    with served(lambda base_url: create_app(replace(shop.deps, base_url=base_url))) as base_url:
        key = Account.from_key(shop.payer.key).key.to_0x_hex()
        seen = run(
            "payer.mjs", base_url=base_url, payer_key=key, page=PAGE, door="/mandate-wallet/door"
        )
    assert (seen["page"], seen["receipt"], seen["signed"]) == ([200, "#"], True, 1)
    assert (seen["signed_at_the_door"], seen["door"]) == (0, [402, "none"])
    assert shop.income == PRICE

"""One chain a module, a shop of its own a test."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from api.kernel.operation import Deps
from tests.integration.api.payments.shop import Shop, shop_on
from tests.integration.chain_fixtures import DeployedChain, deploy_contracts, start_anvil


@pytest.fixture(scope="module")
def market() -> Iterator[DeployedChain]:
    anvil = start_anvil()
    yield deploy_contracts(anvil)
    anvil.stop()


@pytest.fixture
def shop(market: DeployedChain, deps: Deps) -> Iterator[Shop]:
    """Its clock is the real one: a payment ends by the chain's time."""
    opened = shop_on(market, replace(deps, clock=lambda: datetime.now(UTC)))
    yield opened
    opened.client.close()

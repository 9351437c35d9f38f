"""The stage of the mandates' tests, on a service with a perpetuals venue."""

from collections.abc import Iterator

import pytest

from tests.hl_exchange import Exchange, serving
from tests.integration.api.mandates.conftest import (  # noqa: F401 (fixtures)
    chain,
    deps,
    mandate_id,
    origin,
    people,
    stage,
)
from tests.integration.api.mandates.stage import Stage
from tests.integration.api.perps.legs import WALLET, LegStage


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Exchange, str]]:
    exchange = Exchange()
    with serving(exchange) as url:
        yield exchange, url


@pytest.fixture
def leg(stage: Stage, mandate_id: str, served: tuple[Exchange, str]) -> LegStage:
    """Bound, with the key, and no position yet."""
    exchange, url = served
    exchange.reset()
    exchange.now_ms = lambda: int(stage.clock.now.timestamp() * 1_000)
    exchange.holder(stage.owner_wallet.address).agents.add(WALLET.address.lower())
    found = LegStage(stage, mandate_id, exchange, url)
    found.has_starter_wallet()
    found.bind()
    return found

"""The simulated listings of a local stack."""

from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from core.listings.queries import totals
from scripts import _listings
from tests.integration.api.conftest import Clock, connect
from tests.integration.api.mining.conftest import CHAIN, CONTRACT, Mine


@pytest.fixture
def start(mine: Mine, clock: Clock) -> Callable[[], int]:
    """What a start of the stack adds."""

    def added() -> int:
        with mine.database.write() as session:
            return _listings.keep_simulated(session, clock.now)

    return added


def test_a_start__makes_up_as_many_pairs_as_lack_an_empty_contract_address(
    mine: Mine, client: TestClient, start: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    start()
    with mine.database.read() as session:
        count = totals(session).simulated
    monkeypatch.setattr(_listings, "EMPTY_LEAST", count)
    assert start() == 0
    made = mine.submit(connect(client), CHAIN, CONTRACT, exchange="upbit", symbol="LINK/KRW")
    mine.approve(made, 0)
    mine.approve(made, 1)
    assert [start(), start()] == [1, 0]
    assert mine.fields(symbol=f"SIM{count + 1}_USDT")["simulated"] is True

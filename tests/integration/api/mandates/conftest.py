"""The API with contracts that exist nowhere, and a stage of people (stage.py)."""

from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from api.kernel.operation import Deps
from core.db.engine import Database
from tests.integration.api.conftest import Clock
from tests.integration.api.mandates.stage import CONTRACTS, Stage, StageChain


@pytest.fixture
def chain(clock: Clock) -> StageChain:
    return StageChain(mined_at=int(clock.now.timestamp()))


@pytest.fixture
def deps(deps: Deps) -> Deps:
    return replace(deps, contracts=CONTRACTS)


@pytest.fixture
def stage(client: TestClient, database: Database, clock: Clock, chain: StageChain) -> Stage:
    return Stage(client, database, clock, chain).enter()

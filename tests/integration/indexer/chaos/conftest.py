"""What the stories of the indexer stand on."""

from collections.abc import Iterator

import pytest

from core.db.embedded import EmbeddedPostgres
from tests.integration.chaos.postgres import cloned, crashable_server
from tests.integration.chaos.seeds import Seeds
from tests.integration.indexer.chaos import traps

SEEDS = Seeds("chaos", every_run="1..2", code=("indexer", "tests/integration/indexer"))


def pytest_report_collectionfinish() -> list[str]:
    return [line for line in [SEEDS.summary()] if line]


@pytest.fixture(scope="session")
def crashable() -> Iterator[EmbeddedPostgres]:
    with crashable_server("chaos", traps.SETUP) as server:
        yield server


@pytest.fixture
def chaos_database(crashable: EmbeddedPostgres) -> Iterator[str]:
    with cloned(crashable) as name:
        yield name

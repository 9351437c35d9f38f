"""What the stories of the keeper stand on."""

import logging
from collections.abc import Iterator

import pytest
import structlog

from core.db.embedded import EmbeddedPostgres
from tests.integration.chaos.postgres import cloned, crashable_server
from tests.integration.chaos.seeds import Seeds
from tests.integration.keeper.chaos import traps

CODE = ("indexer", "keeper", "tests/integration/indexer", "tests/integration/keeper")
SEEDS = Seeds("keeper-chaos", every_run="1..1", code=CODE)
FLOODS = Seeds("keeper-flood", every_run="1..1", code=CODE)
POPULATIONS = Seeds("keeper-population", every_run="", code=CODE)  # remembers sizes that passed


def pytest_report_collectionfinish() -> list[str]:
    return [line for line in [SEEDS.summary(), FLOODS.summary()] if line]


@pytest.fixture(scope="session")
def crashable() -> Iterator[EmbeddedPostgres]:
    with crashable_server("keeper-chaos", traps.SETUP) as server:
        yield server


@pytest.fixture
def chaos_database(crashable: EmbeddedPostgres) -> Iterator[str]:
    with cloned(crashable) as name:
        yield name


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """The indexer in the test's own process tells of each block; here that is noise."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    yield
    structlog.reset_defaults()

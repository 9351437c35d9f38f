"""The stage of the mandates' tests, on a service with a perpetuals venue."""

from dataclasses import replace

import pytest

from api.kernel.operation import Deps
from core.perps.rules.leg import perps_terms
from tests.integration.api.mandates.conftest import (  # noqa: F401 (fixtures)
    chain,
    mandate_id,
    origin,
    people,
    stage,
)
from tests.integration.api.mandates.stage import CONTRACTS


@pytest.fixture
def deps(deps: Deps) -> Deps:
    return replace(deps, contracts=CONTRACTS, perps=perps_terms("http://127.0.0.1:1", 100))

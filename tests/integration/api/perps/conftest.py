"""The stage of the mandates' tests, on a service with a perpetuals venue."""

from tests.integration.api.mandates.conftest import (  # noqa: F401 (fixtures)
    chain,
    deps,
    mandate_id,
    origin,
    people,
    stage,
)

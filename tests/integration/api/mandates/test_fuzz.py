"""Calls that a machine makes up from the OpenAPI document, sent as nobody, agent and owner, mostly
as one whom the route takes.

No answer is a 5xx that the document doesn't name, none has a status that it doesn't declare for the
route, and each body fits its schema. `make test` tries every tenth route; FUZZ_EXAMPLES=300 looks
longer (make test-deep).
"""

import os
from functools import cache
from itertools import cycle
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.areas.discovery.service.document import NAME, VERSION
from api.catalogue import catalogue
from api.kernel import auth
from api.kernel.openapi import document
from api.kernel.operation import Operation
from api.kernel.route import routes_of
from api.main import routed
from tests.integration.api.mandates.stage import Stage
from tests.slow import few

EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "4"))
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]
UNAVAILABLE = 503  # a route that needs the chain says so; the document declares it
EVERY_TENTH = [one.key for one in routed(catalogue())[::10]]
SMOKE = len(EVERY_TENTH)
KEYS = [*EVERY_TENTH, *(one.key for one in routed(catalogue()) if one.key not in EVERY_TENTH)]


@cache
def described() -> dict[str, Any]:
    """What the document says of each operation, by its id."""
    said = document(routes_of(routed(catalogue())), catalogue(), NAME, VERSION, "http://testserver")
    found = schemathesis.openapi.from_dict(said).get_all_operations()
    return {one.ok().definition.raw["operationId"]: one.ok() for one in found}


@pytest.mark.parametrize("key", few(KEYS, SMOKE))
def test_no_made_up_call__is_answered_otherwise_than_declared(
    stage: Stage, mandate_id: str, key: str
) -> None:
    ids = cycle([None, {"id": mandate_id}, {"id": stage.agent_id}])
    callers = cycle([stage.agent, stage.owner, *_admitted(stage, catalogue().by_key[key]), {}])

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=described()[key.replace(".", "_")].as_strategy())
    def answers_as_declared(case: schemathesis.Case) -> None:
        known, caller = next(ids), next(callers)
        if known is not None and case.path_parameters:
            case.path_parameters.update(known)
        answer = _send(stage, case, caller)
        checks: list[Any] = (
            CHECKS if answer.status_code == UNAVAILABLE else [not_a_server_error, *CHECKS]
        )
        case.validate_response(answer, checks=checks)

    answers_as_declared()


def _admitted(stage: Stage, row: Operation) -> list[dict[str, str]]:
    """Callers that the route takes, twice, so that most calls get past the door."""
    takes = {
        auth.BY_KEY: [stage.agent],
        auth.BY_OWNER: [stage.owner],
        auth.BY_KEY_OR_OWNER: [stage.agent, stage.owner],
    }
    return 2 * takes.get(row.auth, [{}])


def _send(stage: Stage, case: schemathesis.Case, caller: dict[str, str]) -> Any:
    sent = case.as_transport_kwargs(base_url="http://testserver", headers=caller)
    sent.pop("cookies", None)
    return stage.client.request(**sent)

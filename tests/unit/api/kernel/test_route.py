"""How routes come out of the catalogue."""

import pytest

from api.kernel.auth import ANYBODY
from api.kernel.caller import Nobody
from api.kernel.operation import Answer, NoInput, Operation, ReadCall, Text
from api.kernel.route import routes_of


def unserved(call: ReadCall, caller: Nobody, command: NoInput) -> Answer[Text]:
    pytest.fail("no call is made")


def operation(path: str, method: str = "GET") -> Operation:
    return Operation(
        key=f"x.{path}",
        method=method,
        path=path,
        auth=ANYBODY,
        summary="x.",
        handler=unserved,
    )


def test_a_literal_segment__is_matched_before_a_placeholder() -> None:
    operations = operation("/x/{id}"), operation("/x/{id}/y"), operation("/x/me")
    paths = [route.path for route in routes_of(operations)]
    assert paths == ["/x/me", "/x/{id}", "/x/{id}/y"]

"""How routes come out of the catalogue."""

from typing import Any, cast

import pytest
from starlette.requests import Request
from starlette.routing import Route

from api.catalog import ROWS, Auth, Row
from api.kernel.http import Table, require_catalogue, routes_of
from api.kernel.operation import Deps, NoInput, Operation


def operation(key: str) -> Operation:
    return Operation(key, NoInput, lambda *_: pytest.fail("no call is made"))


def paths(*keys: str) -> list[str]:
    deps: Deps = object()  # type: ignore[assignment]  # routes hold it and do not look at it before a call
    return [route.path for route in routes_of([operation(key) for key in keys], deps)]


def test_a_literal_segment__is_matched_before_a_placeholder(monkeypatch: pytest.MonkeyPatch) -> None:
    for key, path in (("x.any", "/x/{id}"), ("x.deep", "/x/{id}/y"), ("x.me", "/x/me")):
        row = Row(key=key, method="GET", path=path, auth=Auth.NONE, section="", summary="")
        monkeypatch.setitem(cast("dict[str, Row]", ROWS), key, row)
    assert paths("x.any", "x.deep", "x.me") == ["/x/me", "/x/{id}", "/x/{id}/y"]


PATHS = ("/x/me", "/x/{id}", "/x/{id}/y", "/f/{rest:path}")


@pytest.mark.parametrize(
    ("method", "path", "found", "values"),
    [
        ("GET", "/x/me", "/x/me", {}),
        ("HEAD", "/x/me", "/x/me", {}),
        ("GET", "/x/7", "/x/{id}", {"id": "7"}),
        ("GET", "/x/7/y", "/x/{id}/y", {"id": "7"}),
        ("GET", "/f/a/b", "/f/{rest:path}", {"rest": "a/b"}),
        ("POST", "/x/me", None, {}),
        ("POST", "/x/7", None, {}),
        ("GET", "/x", None, {}),
        ("GET", "/x/7/z", None, {}),
    ],
)
def test_a_path__is_found_among_literals_and_patterns(method: str, path: str, found: str | None, values: dict[str, str]) -> None:
    def endpoint_of(pattern: str) -> Any:
        async def endpoint(request: Request) -> str:
            return pattern

        return endpoint

    endpoints = {pattern: endpoint_of(pattern) for pattern in PATHS}
    table = Table([Route(pattern, endpoints[pattern], methods=["GET"]) for pattern in PATHS])
    scope: dict[str, Any] = {"type": "http", "method": method, "path": path, "headers": []}
    assert table.find(scope) is (None if found is None else endpoints[found])
    assert scope.get("path_params", {}) == values


def test_methods_of_one_path__share_a_route() -> None:
    assert paths("mandates.policy", "mandates.policy_set") == ["/mandate-wallet/agents/{id}/policy"]


def test_a_row_without_an_operation__stops_the_start() -> None:
    with pytest.raises(ValueError, match=r"identity\.login"):
        require_catalogue([operation(key) for key in ROWS if key != "identity.login"])


def test_an_operation_bound_twice__stops_the_start() -> None:
    with pytest.raises(ValueError, match="bound twice"):
        require_catalogue([operation(key) for key in [*ROWS, "identity.login"]])

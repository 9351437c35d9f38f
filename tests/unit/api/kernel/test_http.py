"""How routes come out of the catalogue."""

from typing import Any

import pytest
from starlette.requests import Request
from starlette.routing import Route

from api.kernel.auth import ANYBODY
from api.kernel.http import Table, routes_of
from api.kernel.operation import NoInput, Operation, Text
from tests.each import each


def operation(path: str, method: str = "GET") -> Operation:
    return Operation(
        key=f"x.{path}",
        method=method,
        path=path,
        auth=ANYBODY,
        summary="x.",
        command=NoInput,
        answer=Text,
        handler=lambda *_: pytest.fail("no call is made"),
    )


def paths(*operations: Operation) -> list[str]:
    return [route.path for route in routes_of(operations)]


def test_a_literal_segment__is_matched_before_a_placeholder() -> None:
    assert paths(operation("/x/{id}"), operation("/x/{id}/y"), operation("/x/me")) == [
        "/x/me",
        "/x/{id}",
        "/x/{id}/y",
    ]


PATHS = ("/x/me", "/x/{id}", "/x/{id}/y", "/f/{rest:path}")


@each(
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
def test_a_path__is_found_among_literals_and_patterns(
    method: str, path: str, found: str | None, values: dict[str, str]
) -> None:
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
    assert paths(operation("/x/{id}"), operation("/x/{id}", "PUT")) == ["/x/{id}"]

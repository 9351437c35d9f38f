"""Who may speak to the tool endpoint by which name."""

import pytest
from starlette.datastructures import Headers

from api.kernel.operation import Refusal
from api.tools.origin import require_own_origin
from tests.each import each

OWN = "https://api.example:8443"


def check(host: str | None, *origins: str) -> None:
    sent = [("host", host)] if host is not None else []
    raw = [
        (name.encode(), value.encode())
        for name, value in [*sent, *(("origin", origin) for origin in origins)]
    ]
    require_own_origin(Headers(raw=raw), OWN)


@each(
    "host",
    [
        "api.example",
        "API.example:443",
        "api.example:8443",
        "localhost:8000",
        "127.0.0.1:1",
        "[::1]:8000",
    ],
)
def test_the_services_own_name_and_loopback__are_taken(host: str) -> None:
    check(host)


@each(
    "host",
    [
        "evil.example",
        "api.example.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.5",
        "",
        None,
        "[::1",
    ],
)
def test_another_name_in_host__is_refused(host: str | None) -> None:
    with pytest.raises(
        Refusal, match=r"^Host: call this service by its own name, https://api\.example:8443\.$"
    ):
        check(host)


@each(
    "origin",
    ["https://api.example", "http://localhost:6274", "http://127.0.0.1:3000", "http://[::1]:3000"],
)
def test_a_page_of_this_service_or_machine__may_call(origin: str) -> None:
    check("api.example", origin)


@each(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        "https://api.example.evil.example",
        "file://",
        "http://[::1",
    ],
)
def test_a_page_of_another_site__is_refused(origin: str) -> None:
    with pytest.raises(Refusal, match=r"^Origin: web pages of other sites may not call tools"):
        check("api.example", origin)


def test_one_foreign_origin_of_two__is_refused() -> None:
    with pytest.raises(Refusal, match=r"^Origin"):
        check("api.example", "https://api.example", "https://evil.example")

"""What a client sees of the running application, whatever framework reads its requests: numbers are
exact, what is ambiguous is refused, every call is counted, and each path says what it takes.
"""

import gc
import re
import socket
import struct
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from urllib.parse import urljoin

import httpx
import pytest
from uvicorn.protocols.http.h11_impl import H11Protocol

from api.kernel.metrics import PREFIX
from api.kernel.operation import Deps
from api.main import create_app
from tests.integration.api import probe
from tests.integration.api.conftest import KEY
from tests.integration.api.probe import PATH, Gate
from tests.integration.api.serving import served

LISTED = "/mandate-wallet/gallery"
LOADED = ("src", "href", "srcset", "action", "data", "poster", "background", "style")
OWN_SOURCES = re.compile(r"'(self|none|unsafe-inline|sha256-[A-Za-z0-9+/=]+)'|data:")
ANOTHER_HOST = re.compile(r"//|(?!data:)[a-z][a-z0-9+.-]*:", re.IGNORECASE)


@pytest.fixture
def running(deps: Deps, gate: Gate) -> Iterator[httpx.Client]:
    """A client of the application on a socket, the probe beside the product's operations."""
    known = replace(deps, catalogue=probe.catalogue(gate))
    with (
        served(lambda base_url: create_app(replace(known, base_url=base_url))) as base_url,
        httpx.Client(base_url=base_url, timeout=60) as client,
    ):
        yield client


def refused(answer: httpx.Response) -> tuple[int, str, str]:
    """Status, reason and sentence; the last call of `next` can always be made."""
    body = answer.json()
    assert body["service"]["next"][-1]["path"] == "/agent/catalog"
    return answer.status_code, body["service"]["reason"], body["detail"]


def counted(deps: Deps, operation: str, status: int, reason: str) -> float | None:
    labels = {"operation": operation, "status": str(status), "reason": reason}
    return deps.metrics.registry.get_sample_value(PREFIX + "calls_total", labels)


def test_what_is_sent__is_read_exactly_or_refused_and_counted_once(
    running: httpx.Client, deps: Deps
) -> None:
    agent = running.post("/auth/agent/connect", json={"agent_name": "quant"}).json()
    key = {KEY: str(agent["api_key"])}

    def post(body: str, headers: dict[str, str], path: str = PATH) -> httpx.Response:
        as_json = {"Content-Type": "application/json", **headers}
        return running.post(path, content=body, headers=as_json)

    for amount in ("999999999999.123456", '"999999999999.123456"'):
        answer = post(f'{{"amount_usdc": {amount}}}', key)
        assert (answer.status_code, answer.json()["amount"]) == (200, 999_999_999_999_123_456)

    twice = "The body names 'n' twice; send each field once."
    no_field = "colour: leave it out; this call has no such field."
    whole = "limit: write a whole number."
    no_json = (
        "The body is not JSON (line 1, column 2: Expecting property name enclosed in double "
        "quotes); send one JSON object."
    )
    rows: tuple[tuple[Callable[[], httpx.Response], int, str, str], ...] = (
        (lambda: post('{"n": 1, "n": 1}', key), 400, "invalid_parameter", twice),
        (lambda: post('{"n": "5"}', key), 400, "invalid_number", "n: write a whole number."),
        (lambda: post("{", key), 400, "invalid_parameter", no_json),
        (lambda: running.get(f"{LISTED}?colour=red"), 400, "invalid_parameter", no_field),
        (lambda: running.get(f"{LISTED}?limit=5.5"), 400, "invalid_number", whole),
        (lambda: running.get(f"{LISTED}?limit=5%20"), 400, "invalid_number", whole),
    )
    for sent, status, reason, says in rows:
        assert refused(sent()) == (status, reason, says)
    assert running.get(LISTED, params={"limit": "5"}).status_code == 200

    # Who calls is asked before what was sent is read; each call is counted once, read or not.
    for path, operation, headers, status, reason in (
        (PATH, "probe.write", {}, 401, "auth_required"),
        (PATH, "probe.write", {KEY: "svc_key_x"}, 401, "auth_invalid"),
        ("/auth/agent/connect", "identity.connect", {}, 400, "invalid_parameter"),
    ):
        before = counted(deps, operation, status, reason) or 0
        answer = post("{", headers, path)
        assert refused(answer)[:2] == (status, reason)
        assert counted(deps, operation, status, reason) == before + 1
    left = [
        int(post(body, key).headers["X-RateLimit-Remaining"]) for body in ("{}", "{", '{"n": 1}')
    ]
    assert left == [left[0], left[0] - 1, left[0] - 2]


class Page(HTMLParser):
    """Where a page leads, what it loads, and its scripts and styles."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses, self.loaded, self._inside = list[str](), list[str](), ""
        self.styles = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        found = [str(value) for name, value in attrs if name in LOADED]
        self.addresses += found
        self.loaded += found if tag in ("script", "link", "img") else []

    def handle_data(self, text: str) -> None:
        self.styles += text if self._inside == "style" else ""


def test_each_path__answers_head_names_its_methods_and_loads_from_here_alone(
    running: httpx.Client, deps: Deps
) -> None:
    # HEAD is GET without its body
    for path in (
        "/prices",
        "/agent/catalog",
        "/openapi.json",
        "/docs",
        "/nowhere",
        f"{LISTED}?a=1",
    ):
        got, head = running.get(path), running.head(path)
        assert (head.status_code, head.content) == (got.status_code, b""), path
        for name in ("Content-Type", "Content-Length", "Cache-Control", "ETag"):
            assert head.headers.get(name) == got.headers.get(name), (path, name)
    assert running.head(PATH).status_code == 405
    assert running.get("/prices%0A").status_code == 404

    # Allow has all methods of a path, each time
    methods = defaultdict[str, set[str]](set)
    for operation in deps.catalogue.operations:
        path = re.sub(r"\{\w+\}", "m_aaaaaaaaaa", operation.path)
        methods[path] |= {operation.method} | ({"HEAD"} if operation.method == "GET" else set())
    for path, taken in {**methods, "/docs": {"GET", "HEAD"}}.items():
        answer = running.request("PATCH", path)
        assert refused(answer)[:2] == (405, "method_not_allowed"), path
        named = answer.headers["Allow"]
        assert set(named.split(", ")) == taken, path
        assert refused(answer)[2] == f"PATCH is not allowed for this path; it takes {named}."

    # the page of all calls loads from no other host, and its policy lets nothing else through
    answer = running.get("/docs")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    page = Page(answer.text)
    assert [one for one in page.addresses if ANOTHER_HOST.match(one)] == []
    assert re.search(r"url\(|@import", page.styles) is None
    for one in page.loaded:
        assert running.get(urljoin("/docs", one)).status_code == 200, one
    directives = dict[str, list[str]]()
    for directive in answer.headers["Content-Security-Policy"].split(";"):
        name, *sources = directive.split()
        directives[name] = sources
    assert directives["default-src"] == ["'none'"]
    assert [
        (name, one)
        for name, sources in directives.items()
        for one in sources
        if not OWN_SOURCES.fullmatch(one)
    ] == []


def test_a_connection_that_is_reset__leaves_nothing_behind(running: httpx.Client) -> None:
    """As the proxy resets each that rests; what it sent was held until its keep-alive was over."""
    ports, place = set[int](), (running.base_url.host, running.base_url.port)

    def held() -> int:
        gc.collect()
        known = [one for one in gc.get_objects() if isinstance(one, H11Protocol)]
        return sum(one.client is not None and one.client[1] in ports for one in known)

    for _ in range(3):
        with socket.create_connection(place) as wire:
            ports.add(wire.getsockname()[1])
            wire.sendall(b"GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n")
            assert wire.recv(65_536)
            wire.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    until = time.monotonic() + 5
    while held() and time.monotonic() < until:
        time.sleep(0.05)
    assert held() == 0

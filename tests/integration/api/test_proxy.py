"""Two processes behind HAProxy with the file that is shipped: whom a call counts for, and what strangers
may send.
"""

import json
import os
import re
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from api.catalogue import catalogue
from api.kernel.http import json_text
from api.kernel.metrics import PREFIX
from api.kernel.operation import Access, Deps, Refusal
from api.kernel.refusals import refused
from api.main import create_app
from core.db.engine import Database
from core.mandate.chain.lens import LENS
from scripts._ports import free_port
from scripts._processes import ROOT
from tests.integration.api.behind_proxy import FILE, HAPROXY, behind_proxy
from tests.integration.api.conftest import Clock, FewAnswersChain, deps_of
from tests.integration.api.serving import served
from tests.market_rows import MarketIds

NOTE = "/kg/BTC.md"
GET = b"GET /health/live HTTP/1.1\r\nHost: x\r\n"
POST = b"POST /auth/agent/connect HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
OWN_REFUSAL = re.compile(r"http-error status (\d+) .*string '(.*)'$", re.MULTILINE)


@pytest.fixture
def workers(database_url: str, clock: Clock, chain: FewAnswersChain) -> Iterator[list[Deps]]:
    """What two processes have: the same database, and nothing else in common."""
    with ExitStack() as open_ones:
        made = [Database(database_url, application_name=f"worker {n}") for n in (1, 2)]
        for one in made:
            open_ones.callback(one.close)
        yield [
            deps_of(one, clock, chain).with_part(Access, Access(trusted_proxies=("127.0.0.1",)))
            for one in made
        ]


@pytest.fixture
def proxy(workers: list[Deps]) -> Iterator[int]:
    """The port of a proxy before both."""
    with ExitStack() as running:
        urls = [
            running.enter_context(served(lambda _, own=one: create_app(own)))  # type: ignore[misc]
            for one in workers
        ]
        yield running.enter_context(behind_proxy(*(urlsplit(url).netloc for url in urls)))


Caller = Callable[[str], httpx.Client]


@pytest.fixture
def caller(proxy: int) -> Iterator[Caller]:
    """A client that calls from an address of this machine."""
    with ExitStack() as opened:

        def build(address: str) -> httpx.Client:
            transport = httpx.HTTPTransport(local_address=address)
            client = httpx.Client(
                base_url=f"http://127.0.0.1:{proxy}", transport=transport, timeout=60
            )
            return opened.enter_context(client)

        yield build


def counted(worker: Deps, operation: str) -> float:
    """Calls of an operation in one process's metrics, whatever became of them."""
    (calls,) = worker.metrics.calls.collect()
    return sum(
        one.value
        for one in calls.samples
        if one.name == PREFIX + "calls_total" and one.labels["operation"] == operation
    )


def exchanged(port: int, *pieces: bytes, address: str = "127.0.0.1") -> bytes:
    """All that comes back until the proxy closes the connection."""
    with closing(
        socket.create_connection(("127.0.0.1", port), 60, source_address=(address, 0))
    ) as wire:
        for piece in pieces:
            wire.sendall(piece)
        return b"".join(iter(lambda: wire.recv(65_536), b""))


def test_the_31st_free_note_of_an_address__is_429_whichever_process_is_asked(
    market: MarketIds, caller: Caller, workers: list[Deps]
) -> None:
    one = caller("127.0.0.2")
    answers = [one.get(NOTE) for _ in range(31)]
    assert [answer.status_code for answer in answers] == [200] * 30 + [429]
    assert answers[-1].json()["service"]["reason"] == "rate_limited"
    assert answers[-1].headers["Retry-After"] == "60"
    forged = one.get(NOTE, headers={"X-Forwarded-For": "198.51.100.7", "Forwarded": "for=8.8.8.8"})
    assert forged.status_code == 429
    assert caller("127.0.0.3").get(NOTE).status_code == 200
    asked = [counted(worker, "notes.read") for worker in workers]
    assert sum(asked) == 33
    assert min(asked) > 0


def test_registrations_of_an_address__are_limited_over_both_processes(
    caller: Caller, workers: list[Deps]
) -> None:
    def register(client: httpx.Client, number: int) -> int:
        sent = {"agent_name": f"a{number}"}
        return client.post("/auth/agent/connect", json=sent).status_code

    one = caller("127.0.0.2")
    assert [register(one, n) for n in range(11)] == [200] * 10 + [429]
    assert register(caller("127.0.0.3"), 11) == 200
    assert min(counted(worker, "identity.connect") for worker in workers) > 0


def test_what_strangers_send__is_refused_by_proxy_or_process(proxy: int) -> None:
    close = b"Connection: close\r\n\r\n"
    deep = b'{"agent_name":' + b"[" * 5_000 + b"]" * 5_000 + b"}"
    giant = b"Content-Length: 262145\r\nConnection: close\r\n\r\n" + b" " * 262_145
    smuggled = b'12\r\n{"agent_name":"q"}\r\n0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'
    both = b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n" % len(smuggled)
    cases: dict[str, tuple[bytes, bytes]] = {
        "a call": (GET + close, b"200"),
        "a head of 16 KiB": (GET + b"a: " + b"b" * 16_000 + b"\r\n" + close, b"200"),
        "a larger head": (GET + b"a: " + b"b" * 16_500 + b"\r\n" + close, b"400"),
        "98 fields": (GET + b"a: b\r\n" * 96 + close, b"200"),
        "110 fields": (GET + b"a: b\r\n" * 107 + close, b"400"),
        "a giant body": (POST + giant, b"413"),
        "deep JSON": (
            POST + b"Content-Length: %d\r\n" % len(deep) + close + deep,
            b"400",
        ),
        "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"400"),
        "two lengths": (POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc", b"400"),
        "chunks of chunks": (
            POST + b"Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
            b"400",
        ),
        # the chunks count, and what follows them is not answered
        "length and chunks": (POST + both + smuggled, b"200"),
        "a tunnel": (b"CONNECT x:1 HTTP/1.1\r\nHost: x:1\r\n" + close, b"400"),
        "HTTP/2 in clear": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0" * 9, b"400"),
        "h2c by upgrade, in chunks": (
            POST
            + b"Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\n"
            + b"HTTP2-Settings: AAMAAABk\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b'10\r\n{"agent_name":1}\r\n0\r\n\r\n',
            b"400",
        ),
    }
    for name, (sent, status) in cases.items():
        answer = exchanged(proxy, sent)
        assert answer.split(b" ", 2)[1] == status, (name, answer[:200])
        if name == "length and chunks":
            assert answer.count(b"HTTP/1.1 ") == 1


def test_headers_of_payments__pass_both_ways() -> None:
    """A signed payment is a few KB as base64, and so is what is offered."""
    sent = "p" * 12_000

    async def paid(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http":
            got = dict(scope["headers"]).get(b"payment-signature", b"")
            headers = [(b"payment-required", b"o" * 12_000), (b"content-length", b"5")]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            await send({"type": "http.response.body", "body": b"%5d" % len(got)})
            return
        for step in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{step}.complete"})

    with served(lambda _: paid) as url, behind_proxy(urlsplit(url).netloc) as port:
        answer = httpx.get(f"http://127.0.0.1:{port}/", headers={"PAYMENT-SIGNATURE": sent})
    assert (int(answer.text), len(answer.headers["payment-required"])) == (12_000, 12_000)


def test_a_call_without_a_process__is_refused_as_this_service_refuses(tmp_path: Path) -> None:
    """Its words are those of the API for the same reason, and of each other status too."""
    own = OWN_REFUSAL.findall(FILE.read_text())
    assert [int(status) for status, _ in own] == [400, 408, 413, 422, 429, 502, 503, 504]
    known = catalogue()
    for status, text in own:
        said = json.loads(text)
        refusal = Refusal(said["service"]["reason"], said["detail"])
        assert text == json_text(refused(refusal, None, {}, Clock().now, known).body), status


def test_the_file__is_valid_with_and_without_a_certificate(tmp_path: Path) -> None:
    pem, key = tmp_path / "chain.pem", tmp_path / "chain.pem.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=api.example",
         "-keyout", key, "-out", pem, "-days", "1"],
        check=True, capture_output=True,
    )  # fmt: skip
    assert HAPROXY is not None
    for settings in ({}, {"CERTIFICATE": str(pem), "RUN_AS": "haproxy"}):
        done = subprocess.run(
            [HAPROXY, "-c", "-f", str(FILE)], env=settings, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_request_that_is_not_whole_in_time__is_closed(proxy: int) -> None:
    began = time.monotonic()
    assert b" 408 " in exchanged(proxy, GET)[:20]
    assert b" 408 " in exchanged(proxy, POST + b"Content-Length: 9\r\n\r\n{")[:20]
    assert 19 < time.monotonic() - began < 30


def dripped(port: int, at_once: bytes, more: bytes) -> tuple[bytes, float]:
    """The answer to what goes on coming, a byte each half second, and after how long it came."""
    began = time.monotonic()
    with closing(socket.create_connection(("127.0.0.1", port), 60)) as wire:
        wire.sendall(at_once)
        wire.settimeout(0.5)
        while time.monotonic() - began < 60:
            with suppress(TimeoutError):
                return wire.recv(65_536), time.monotonic() - began
            with suppress(ConnectionError):
                wire.sendall(more)
    raise AssertionError("it is read for ever")


@pytest.mark.slow
def test_a_request_that_comes_byte_by_byte__is_ended_in_time(proxy: int) -> None:
    """A head and what fits the proxy's buffer in 10 s; of a longer body the API waits 30 s for the rest."""
    body = POST + b"Content-Length: 200000\r\n\r\n"
    cases = {
        "head": (GET + b"a: ", b"b", 10),
        "body": (body, b" ", 10),
        "longer body": (body + b" " * 20_000, b" ", 30),
    }
    with ThreadPoolExecutor(len(cases)) as pool:
        sent = {
            name: pool.submit(dripped, proxy, start, more)
            for name, (start, more, _) in cases.items()
        }
        for name, (_, _, limit_s) in cases.items():
            answer, took_s = sent[name].result()
            assert answer.startswith((b"HTTP/1.1 408 ", b"HTTP/1.1 400 ")), (name, answer[:100])
            assert limit_s - 1 < took_s < limit_s + 9, name


@pytest.mark.slow
def test_ten_thousand_idle_connections__leave_the_others_theirs(proxy: int, caller: Caller) -> None:
    """From 25 addresses, 400 of each: half are refused at once, and all are closed in 10 s."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    client = caller("127.0.0.200")
    with ExitStack() as idle:
        for number in range(10_000):
            address = f"127.0.1.{number % 25 + 1}"
            with suppress(ConnectionError):  # one too many of its address
                idle.enter_context(
                    socket.create_connection(("127.0.0.1", proxy), 10, source_address=(address, 0))
                )
        began = time.monotonic()
        assert client.get("/health/live").status_code == 200
        assert time.monotonic() - began < 2
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
def test_bodies_in_chunks_of_one_byte__leave_the_others_theirs(proxy: int, caller: Caller) -> None:
    """The proxy hands on what it has as one chunk; read one by one they hold the event loop."""
    head = POST + b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    body = head + b"1\r\n \r\n" * 200_000 + b'12\r\n{"agent_name":"q"}\r\n0\r\n\r\n'
    client = caller("127.0.0.3")
    with ThreadPoolExecutor(4) as pool:
        sent = [pool.submit(exchanged, proxy, body, address="127.0.0.2") for _ in range(4)]
        longest = 0.0
        while not all(one.done() for one in sent):
            began = time.monotonic()
            assert client.get("/health/live").status_code == 200
            longest = max(longest, time.monotonic() - began)
        assert {one.result().split(b" ", 2)[1] for one in sent} == {b"200"}
    assert longest < 1


@pytest.mark.slow
def test_a_flood_of_one_address__is_429_and_leaves_the_others_theirs(
    proxy: int, caller: Caller
) -> None:
    flood = caller("127.0.0.2")
    statuses = [flood.get("/health/live").status_code for _ in range(1_100)]
    assert set(statuses) == {200, 429}
    assert statuses.index(429) >= 1_000
    assert caller("127.0.0.3").get("/health/live").status_code == 200


@pytest.mark.slow
def test_two_real_processes__count_together_and_one_that_ends_is_not_missed(
    database_url: str, tmp_path: Path
) -> None:
    record = tmp_path / "deployment.json"
    lens = {"name": LENS, "address": "0x" + "11" * 20}
    record.write_text(
        json.dumps({"chain_id": 84532, "block": 0, "commit": "", "contracts": [lens]})
    )
    ports, scraped = (free_port(), free_port()), (free_port(), free_port())
    shared = {
        "PYTHONPATH": str(ROOT), "DATABASE_URL": database_url, "RPC_URLS": "http://127.0.0.1:9",
        "DEPLOYMENT_FILE": str(record), "KEY_PEPPER": "p" * 32, "TRUSTED_PROXIES": "127.0.0.1",
    }  # fmt: skip
    with ExitStack() as running:
        started = [
            running.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "api.main"],
                    env=os.environ | shared | {"PORT": str(port), "API_METRICS_PORT": str(metrics)},
                )
            )
            for port, metrics in zip(ports, scraped, strict=True)
        ]
        running.callback(lambda: [one.kill() for one in started])
        for port in ports:
            await_live(port)
        proxy = running.enter_context(behind_proxy(*(f"127.0.0.1:{port}" for port in ports)))
        base = f"http://127.0.0.1:{proxy}"

        def register(number: int) -> int:
            sent = {"agent_name": f"a{number}"}
            return httpx.post(f"{base}/auth/agent/connect", json=sent, timeout=60).status_code

        assert [register(n) for n in range(11)] == [200] * 10 + [429]
        pages = [httpx.get(f"http://127.0.0.1:{one}/metrics").text for one in scraped]
        line = re.compile(r'calls_total\{operation="identity.connect".*\} ([0-9.]+)$', re.MULTILINE)
        asked = [sum(map(float, line.findall(page))) for page in pages]
        assert (sum(asked), min(asked) > 0) == (11, True)
        started[0].terminate()
        statuses = {httpx.get(f"{base}/health/live", timeout=60).status_code for _ in range(200)}
        assert (statuses, started[0].wait(20)) == ({200}, 0)


def await_live(port: int) -> None:
    until = time.monotonic() + 120
    while True:
        try:
            httpx.get(f"http://127.0.0.1:{port}/health/live", timeout=5)
            return
        except httpx.HTTPError:
            assert time.monotonic() < until
            time.sleep(0.1)

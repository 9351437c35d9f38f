"""TLS as the proxy that is shipped speaks it, with a certificate of the test's own: the ports are
others than 443 and 80.
"""

import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from api.kernel.operation import Access, Deps
from api.main import create_app
from scripts._ports import free_port
from tests.integration.api.behind_proxy import FILE, await_up, running
from tests.integration.api.serving import served

HOST = "localhost"
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS, HEADERS, GOAWAY = 4, 1, 7
END = 0x5  # END_HEADERS and END_STREAM
STATUS_200 = 0x88  # as HPACK's table has it (RFC 7541, A)


@dataclass(frozen=True)
class Secure:
    """`trust`: what a client knows of the certificate."""

    port: int
    plain_port: int
    trust: Path

    def context(self, *protocols: str) -> ssl.SSLContext:
        made = ssl.create_default_context(cafile=self.trust)
        if protocols:
            made.set_alpn_protocols(list(protocols))
        return made

    def connected(self, context: ssl.SSLContext) -> ssl.SSLSocket:
        wire = socket.create_connection((HOST, self.port), 60)
        return context.wrap_socket(wire, server_hostname=HOST)


@pytest.fixture
def secure(deps: Deps, tmp_path: Path) -> Iterator[Secure]:
    pem, key, chain = (tmp_path / name for name in ("certificate.pem", "key.pem", "chain.pem"))
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={HOST}",
         "-addext", f"subjectAltName=DNS:{HOST}", "-keyout", key, "-out", pem, "-days", "1"],
        check=True, capture_output=True,
    )  # fmt: skip
    chain.write_text(pem.read_text() + key.read_text())
    port, plain_port, file = free_port(), free_port(), tmp_path / "haproxy.cfg"
    shipped = FILE.read_text()
    assert (shipped.count("bind :::80 "), shipped.count("bind :::443 ")) == (1, 1)
    file.write_text(
        shipped.replace("bind :::80 ", f"bind :::{plain_port} ").replace(
            "bind :::443 ", f"bind :::{port} "
        )
    )
    behind = deps.with_part(Access, Access(trusted_proxies=("127.0.0.1",)))
    with served(lambda _: create_app(behind)) as url:
        told = {"CERTIFICATE": str(chain), "API_1": urlsplit(url).netloc, "API_2": "127.0.0.1:1"}
        with running(told, file):
            found = Secure(port, plain_port, pem)
            await_up(lambda: found.connected(found.context()))
            yield found


def test_a_call__is_made_over_tls_with_a_certificate_that_is_checked(secure: Secure) -> None:
    base = f"https://{HOST}:{secure.port}"
    with httpx.Client(base_url=base, verify=secure.context()) as client:
        made = client.post("/auth/agent/connect", json={"agent_name": "over-tls"})
        assert (made.status_code, made.http_version) == (200, "HTTP/1.1")
        key = {"X-SVC-User-Key": made.json()["api_key"]}
        assert client.get("/agent/scopes", headers=key).status_code == 200
    with pytest.raises(httpx.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        httpx.get(f"{base}/health/live", verify=ssl.create_default_context())


def test_without_tls__a_caller_is_sent_to_the_same_path_with_it(secure: Secure) -> None:
    answer = httpx.get(f"http://{HOST}:{secure.plain_port}/prices?limit=5")
    assert answer.status_code == 308
    assert answer.headers["Location"] == f"https://{HOST}:{secure.plain_port}/prices?limit=5"


def test_http_2__is_spoken_to_who_asks_for_it(secure: Secure) -> None:
    """A request of its own making, since no client of ours speaks it."""
    asked = b"\x82\x87\x04\x0c/health/live\x01\x01x"  # GET, https, path, authority
    with secure.connected(secure.context("h2", "http/1.1")) as wire:
        assert wire.selected_alpn_protocol() == "h2"
        wire.sendall(PREFACE + frame(SETTINGS, 0, 0, b"") + frame(HEADERS, END, 1, asked))
        with closing(wire.makefile("rb")) as answer:
            kind = 0
            while kind != HEADERS:
                head = answer.read(9)
                kind, block = head[3], answer.read(int.from_bytes(head[:3], "big"))
                assert kind != GOAWAY, block
    assert block[0] == STATUS_200


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return (
        len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload
    )


def test_no_tls_before_1_2__is_spoken(secure: Secure) -> None:
    """A hello of TLS 1.1, as bytes: no library of today sends one."""
    body = b"\x03\x02" + b"\0" * 32 + b"\0" + b"\0\x04\xc0\x14\x00\x35" + b"\x01\0"
    hello = b"\x01" + len(body).to_bytes(3, "big") + body
    with socket.create_connection((HOST, secure.port), 60) as wire:
        wire.sendall(b"\x16\x03\x01" + len(hello).to_bytes(2, "big") + hello)
        alert = wire.recv(7)
    assert alert[0] == 21  # alert
    assert alert[5:] == bytes([2, 70])  # fatal, protocol_version

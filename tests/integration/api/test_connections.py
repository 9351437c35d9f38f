"""What goes over a real socket and is no whole call: bytes that are no HTTP, two lengths of one
body, a client that leaves.
"""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.testclient import TestClient
from structlog.testing import capture_logs

from api.kernel.operation import Deps
from api.main import create_app
from tests.integration.api.serving import served

PATH = "/auth/wallet/nonce"


@pytest.fixture
def base_url(deps: Deps) -> Iterator[str]:
    with served(lambda _: create_app(deps)) as url:
        yield url


def connected(base_url: str) -> socket.socket:
    return socket.create_connection(
        (urlsplit(base_url).hostname, urlsplit(base_url).port), timeout=20
    )


def answers(base_url: str, sent: bytes) -> bytes:
    """All that comes back until the server closes the connection."""
    with closing(connected(base_url)) as wire:
        wire.sendall(sent)
        return b"".join(iter(lambda: wire.recv(65_536), b""))


def refusal(answer: bytes) -> tuple[bytes, dict[str, Any]]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return head.split(b"\r\n")[0], json.loads(body)["service"]


def test_content_length_beside_transfer_encoding__is_400_and_ends_the_connection(
    base_url: str,
) -> None:
    """The connection stayed open, for whatever a proxy that counts the other way takes for the next
    request.
    """
    body = b"0\r\n\r\nGET /health/live HTTP/1.1\r\nHost: x\r\n\r\n"
    head = (
        f"POST {PATH} HTTP/1.1\r\n"
        "Host: x\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Transfer-Encoding: chunked\r\n"
        "\r\n"
    ).encode()
    answer = answers(base_url, head + body)
    assert answer.count(b"HTTP/1.1 ") == 1
    status, service = refusal(answer)
    assert (status, service["reason"]) == (b"HTTP/1.1 400 Bad Request", "invalid_parameter")


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n"),
    ],
)
def test_bytes_that_are_no_http__are_refused_in_the_form_of_all_refusals(
    base_url: str, sent: bytes
) -> None:
    answer = answers(base_url, sent)
    status, service = refusal(answer)
    assert (status, service["reason"], service["next"][-1]["path"]) == (
        b"HTTP/1.1 400 Bad Request",
        "invalid_parameter",
        "/agent/catalog",
    )
    assert b"\r\nx-request-id: " in answer


FIELDS = "GET / HTTP/1.1\r\nHost: x\r\n" + "a: b\r\n" * 120 + "\r\n"
CHUNKS = (
    f"POST {PATH} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + ("1\r\n \r\n") * 80
)


@pytest.mark.parametrize("sent", [FIELDS, CHUNKS], ids=["header fields", "chunks of one byte"])
def test_what_costs_the_event_loop_most__is_refused_in_the_form_of_all_refusals(
    base_url: str, sent: str
) -> None:
    """One connection that sent nothing but chunks of one byte left every other caller without an
    answer.
    """
    status, service = refusal(answers(base_url, sent.encode()))
    assert (status, service["reason"]) == (b"HTTP/1.1 400 Bad Request", "invalid_parameter")


def test_a_client_that_leaves_before_its_body_is_whole__is_no_defect(base_url: str) -> None:
    """The log had an exception with its traceback, and the metrics of defects rose, for each."""
    with capture_logs() as logs:
        with closing(connected(base_url)) as wire:
            wire.sendall(
                f"POST {PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{{".encode()
            )
            time.sleep(0.2)
        until = time.monotonic() + 20
        while not logs and time.monotonic() < until:
            time.sleep(0.01)
    assert [(one["event"], one["log_level"]) for one in logs] == [("client left", "info")]


def test_a_preflight_of_a_method_that_nobody_has__is_refused_in_the_form_of_all_refusals(
    client: TestClient,
) -> None:
    answer = client.options(
        "/prices",
        headers={"Origin": "https://shop.example", "Access-Control-Request-Method": "FETCH"},
    )
    assert (answer.status_code, answer.json()["service"]["reason"]) == (400, "invalid_parameter")


@pytest.mark.parametrize(
    ("charset", "status"), [("utf-16", 415), ("latin-1", 415), ('"UTF-8"', 200), ("utf-8", 200)]
)
def test_a_body_that_is_said_to_be_no_utf_8__is_415(
    client: TestClient, charset: str, status: int
) -> None:
    """Whatever the charset was said to be, the bytes were read as UTF-8."""
    headers = {"Content-Type": f"application/json; charset={charset}"}
    body = b'{"wallet_address": "0x2222222222222222222222222222222222222222", "purpose": "login"}'
    assert client.post(PATH, content=body, headers=headers).status_code == status


@pytest.mark.parametrize("name", ["\u3164", "quant\u3164", "\u2800", "\ufe0f", "\u115f\u1160"])
def test_a_name_that_shows_nothing__is_no_name(client: TestClient, name: str) -> None:
    """A Hangul filler is a letter to Unicode, and an empty line to whoever reads it."""
    answer = client.post("/auth/agent/connect", json={"agent_name": name})
    assert (answer.status_code, answer.json()["detail"].split(":")[0]) == (400, "agent_name")


def test_a_name_with_an_emoji__is_a_name(client: TestClient) -> None:
    assert (
        client.post("/auth/agent/connect", json={"agent_name": "\u2764\ufe0f quant"}).status_code
        == 200
    )

"""What goes over a real socket and is no whole call, and what is said of a call before it is one."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing
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


def test_a_body_that_is_compressed__is_415(client: TestClient) -> None:
    answer = client.post(PATH, content=b"\x1f\x8b", headers={"Content-Encoding": "gzip"})
    assert (answer.status_code, answer.json()["service"]["reason"]) == (
        415,
        "unsupported_media_type",
    )

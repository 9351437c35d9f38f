"""An HTTP JSON-RPC server in front of anvil whose answers a node of the test's making chooses."""

import json
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Protocol

UPSTREAM_S = 10.0
CALL_GAS = 50_000_000  # what nodes give an eth_call at most; anvil gives it a whole block's


class DropError(Exception):
    """Close the connection without a word."""


@dataclass(slots=True)
class Answer:
    status: int
    body: bytes
    cut: int = 0  # bytes that are promised and not sent


class Node(Protocol):
    """`upstream_port` is anvil's."""

    upstream_port: int

    def answer(self, raw: bytes, ask: Callable[[Any], Any]) -> Answer:
        """The answer to one HTTP request. `ask` passes a JSON-RPC body on. Errors: DropError."""


def ok(body: Any) -> Answer:
    return Answer(200, json.dumps(body).encode())


def capped(call: dict[str, Any]) -> dict[str, Any]:
    """An `eth_call` with no more gas than nodes give."""
    if call["method"] != "eth_call" or "gas" in call["params"][0]:
        return call
    return {**call, "params": [{**call["params"][0], "gas": hex(CALL_GAS)}, *call["params"][1:]]}


class Server:
    """A node that listens on a port of its own."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self._http = _Quiet(("127.0.0.1", 0), type("Handler", (_Handler,), {"node": node}))
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(
            target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join(timeout=UPSTREAM_S)


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Callers are killed in the middle of a word: nothing to tell."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    node: Node

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._upstream = HTTPConnection("127.0.0.1", self.node.upstream_port, timeout=UPSTREAM_S)

    def finish(self) -> None:
        self._upstream.close()
        super().finish()

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            answer = self.node.answer(raw, self._ask)
        except DropError:
            self.close_connection = True
            return
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer.body) + answer.cut))
        self.end_headers()
        self.wfile.write(answer.body)
        self.close_connection = self.close_connection or answer.cut > 0

    def _ask(self, body: Any) -> Any:
        self._upstream.request("POST", "/", json.dumps(body), {"Content-Type": "application/json"})
        return json.loads(self._upstream.getresponse().read())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the base class's name)
        pass

"""A bad node: an HTTP JSON-RPC server that passes calls on to anvil and, by its seed, answers some of them wrongly.

What it does to request n follows from sha256(seed, name, n) alone: transport faults (429, 500, no answer in time, broken
JSON, a dropped connection), batches out of order or with calls left out, and receipts that are missing, another block's,
doubled or cut. For a window of requests it may also see another chain: one that lags, or the branch before the last reorg.
"""

import json
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.integration.indexer.chaos.views import Branch, View

WINDOW = 10  # requests that see the same chain
LAGS = (1, 1, 2, 3, 8, 70)
TRANSPORT_SHARE = 0.06
BATCH_SHARE = 0.15
RECEIPTS_SHARE = 0.05
UPSTREAM_S = 10.0

Body = dict[str, Any]


class DropError(Exception):
    """Close the connection without a word."""


@dataclass(slots=True)
class Answer:
    status: int
    body: bytes
    cut: int = 0  # bytes that are promised and not sent


@dataclass(slots=True)
class FaultyNode:
    """`silence_s`: how long it says nothing when it makes a caller wait. `branch` is the last one that was thrown away."""

    name: str
    seed: int
    upstream_port: int
    silence_s: float
    is_faulty: bool = True
    branch: Branch | None = None
    faults: dict[str, int] = field(default_factory=dict)
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, raw: bytes, ask: Callable[[Any], Any]) -> Answer:
        """The answer to one HTTP request. `ask` passes a JSON-RPC body on. Errors: DropError."""
        request = json.loads(raw)
        if not self.is_faulty:
            return _ok(ask(request))
        with self._lock:
            self._count += 1
            number = self._count
        self._transport_fault(number)
        share = self._chance("transport", number)
        if share < TRANSPORT_SHARE:
            return self._broken(number, request, ask)
        view = self._view(number, ask)
        if isinstance(request, list):
            return _ok(self._shaken(number, [view.answer(call) for call in request]))
        return _ok(self._with_wrong_receipts(number, request, view.answer(request), ask))

    def note(self, fault: str) -> None:
        with self._lock:
            self.faults[fault] = self.faults.get(fault, 0) + 1

    def _transport_fault(self, number: int) -> None:
        """No answer at all: at once, or only after the caller's patience."""
        chance = self._chance("silence", number)
        if chance < TRANSPORT_SHARE / 3:
            self.note("dropped")
            raise DropError
        if chance < TRANSPORT_SHARE / 2:
            self.note("silent")
            time.sleep(self.silence_s)
            raise DropError

    def _broken(self, number: int, request: Any, ask: Callable[[Any], Any]) -> Answer:
        fault = self._pick("broken", number, ("429", "500", "truncated", "shortened", "internal"))
        self.note(fault)
        if fault in ("429", "500"):
            return Answer(int(fault), b"slow down")
        whole = json.dumps(ask(request)).encode()
        if fault == "truncated":
            return Answer(200, whole[: max(1, len(whole) // 2)])
        if fault == "shortened":
            return Answer(200, whole[:-3], cut=3)
        calls = request if isinstance(request, list) else [request]
        errors = [{"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32603, "message": "internal"}} for call in calls]
        return _ok(errors if isinstance(request, list) else errors[0])

    def _view(self, number: int, ask: Callable[[Any], Any]) -> View:
        """Which chain this request sees."""
        window = number // WINDOW
        kind = self._pick("view", window, ("live", "live", "live", "lag", "old", "flip"))
        if kind == "lag":
            self.note("lag")
            return View(ask, lag=self._pick("lag", window, LAGS))
        if self.branch is not None and (kind == "old" or (kind == "flip" and self._chance("flip", number) < 0.5)):
            self.note(kind)
            return View(ask, branch=self.branch)
        return View(ask)

    def _shaken(self, number: int, answers: list[Body]) -> list[Body]:
        """A batch out of order, and rarely with calls left out."""
        if self._chance("batch", number) < BATCH_SHARE:
            self.note("unordered")
            answers.sort(key=lambda answer: self._chance("order", answer["id"]))
        if self._chance("left out", number) < BATCH_SHARE / 3:
            self.note("left out")
            answers = answers[:-1]
        return answers

    def _with_wrong_receipts(self, number: int, request: Body, answer: Body, ask: Callable[[Any], Any]) -> Body:
        receipts = answer.get("result")
        if request["method"] != "eth_getBlockReceipts" or not receipts or self._chance("receipts", number) >= RECEIPTS_SHARE:
            return answer
        fault = self._pick("receipts", number, ("null", "other block", "doubled", "cut"))
        self.note(f"receipts {fault}")
        match fault:
            case "null":
                return {**answer, "result": None}
            case "other block":
                other = hex(max(0, int(receipts[0]["blockNumber"], 16) - 1))
                return {**answer, "result": ask({**request, "params": [other]}).get("result")}
            case "doubled":
                return {**answer, "result": [*receipts, receipts[-1]]}
            case _:
                return {**answer, "result": receipts[:-1]}

    def _chance(self, what: str, number: int) -> float:
        return int.from_bytes(sha256(f"{self.seed}:{self.name}:{what}:{number}".encode()).digest()[:6]) / 2**48

    def _pick(self, what: str, number: int, choices: tuple[Any, ...]) -> Any:
        return choices[int(self._chance(f"pick {what}", number) * len(choices))]


def _ok(body: Any) -> Answer:
    return Answer(200, json.dumps(body).encode())


class Server:
    """A FaultyNode that listens on a port of its own."""

    def __init__(self, node: FaultyNode) -> None:
        self.node = node
        self._http = _Quiet(("127.0.0.1", 0), type("Handler", (_Handler,), {"node": node}))
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
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
    node: FaultyNode

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

"""A remote signer of the tests' own: Web3Signer's two methods over HTTP, with ways to lie, to
refuse and to hang.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from core.chain.signer import LocalKeySigner

QUANTITIES = ("type", "chainId", "nonce", "value", "gas", "maxFeePerGas", "maxPriorityFeePerGas")


@dataclass
class FakeRemoteSigner:
    """Signs what it is asked for, unless told otherwise.

    `altered`: fields that it signs in place of those asked for. `answers_as`: the form of its
    answer. `token`: what it asks for. `signs_with`: another key than the account's.
    """

    account: LocalKeySigner
    altered: dict[str, Any] = field(default_factory=dict)
    answers_as: Callable[[str], Any] = lambda raw: raw
    token: str | None = None
    signs_with: LocalKeySigner | None = None
    refuses: str | None = None
    hangs_s: float = 0
    url: str = ""
    asked: list[str] = field(default_factory=list)

    def answer(self, method: str, parameters: list[Any]) -> dict[str, Any]:
        self.asked.append(method)
        time.sleep(self.hangs_s)
        if self.refuses is not None:
            return {"error": {"code": -32000, "message": self.refuses}}
        if method == "eth_accounts":
            return {"result": [self.account.address.lower()]}
        raw = (self.signs_with or self.account).sign_transaction(self._transaction(parameters[0]))
        return {"result": self.answers_as("0x" + raw.hex())}

    def _transaction(self, asked: dict[str, str]) -> dict[str, Any]:
        assert asked["from"] == self.account.address
        return {
            "to": asked["to"],
            "data": asked["data"],
            **{name: int(asked[name], 16) for name in QUANTITIES},
            **self.altered,
        }


@contextmanager
def serving(signer: FakeRemoteSigner) -> Iterator[FakeRemoteSigner]:
    """Listen on a free port; the signer's `url` names it."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            known = (
                signer.token is None
                or self.headers.get("Authorization") == f"Bearer {signer.token}"
            )
            said = signer.answer(body["method"], body["params"]) if known else {}
            content = json.dumps({"jsonrpc": "2.0", "id": body["id"], **said}).encode()
            self.send_response(200 if known else 401)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            try:
                self.wfile.write(content)
            except OSError:
                return  # who asked went away

        def log_message(self, *_: Any) -> None:
            """Tests print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    signer.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield signer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

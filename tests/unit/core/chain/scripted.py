"""Nodes that answer as a test says, on a clock that only sleeping and slow answers move."""

import json
from collections.abc import Callable
from typing import Any

import httpx

from core.chain.node import ChainNode
from core.chain.nodes import Nodes
from tests.node_transport import in_threads

Script = Callable[[Any], httpx.Response]


def good(body: Any) -> httpx.Response:
    if isinstance(body, list):
        said = [{"id": one["id"], "result": one["method"]} for one in reversed(body)]
        return httpx.Response(200, json=said)
    return httpx.Response(200, json={"id": body["id"], "result": body["method"]})


def refusing(**error: Any) -> Script:
    return lambda body: httpx.Response(200, json={"id": None, "error": error})


def status(code: int, headers: dict[str, str] | None = None) -> Script:
    return lambda body: httpx.Response(code, headers=headers)


def unreachable(body: Any) -> httpx.Response:
    raise httpx.ConnectError("refused")


class World:
    """`asked`: node, time and count of calls of each request."""

    def __init__(self, *names: str, node: Script = good, calls_per_s: float = 1_000) -> None:
        self.nodes: dict[str, Script] = dict.fromkeys(names, node)
        self.now = 100.0
        self.asked: list[tuple[str, float, int]] = []
        self.slept: list[float] = []
        self.rpc = Nodes(
            [f"https://user:secret@{name}:8545/v2/key?k=key" for name in names],
            calls_per_s=calls_per_s,
            transport=in_threads(httpx.MockTransport(self._handle)),
            clock=lambda: self.now,
            sleep=self._sleep,
        )

    @property
    def order(self) -> list[str]:
        return [name for name, _, _ in self.asked]

    def call(self) -> Any:
        return self.rpc.call("web3_clientVersion")

    def stats(self, name: str) -> ChainNode:
        return next(stats for stats in self.rpc.stats() if stats.name == f"{name}:8545")

    def _sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def _handle(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.asked.append((request.url.host, self.now, len(body) if isinstance(body, list) else 1))
        return self.nodes[request.url.host](body)

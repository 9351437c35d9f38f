"""Nodes and a clock of the test's own: each node says what the test lets it say, and a second
passes with each round.
"""

import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
from sqlalchemy import func, select

from core.blocks.tables import Reorg
from core.chain.errors import RpcError
from core.chain.nodes import Nodes
from core.errors import OutsideError
from core.mandate.chain.reader import VaultReader
from indexer.chain.tip import TipLoop
from tests.integration.indexer.conftest import Follower
from tests.node_transport import in_threads

View = Callable[[dict[str, Any], Any], Any]  # (call, true result) -> what it says instead
NO_BLOOM = "0x" + "0" * 512


def true(call: dict[str, Any], result: Any) -> Any:
    return result


class Viewed(httpx.BaseTransport):
    """All hosts are the same anvil; each says what its view makes of each result, and nobody
    answers for those that are `dead`.
    """

    def __init__(self, url: str) -> None:
        self._url, self._real = url, httpx.HTTPTransport()
        self.views: dict[str, View] = {}
        self.dead: set[str] = set()

    @property
    def view(self) -> View:
        """Of the first node."""
        return self.views.get("first", true)

    @view.setter
    def view(self, view: View) -> None:
        self.views["first"] = view

    def sent(self, calls: list[dict[str, Any]]) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(
            self._real.handle_request(httpx.Request("POST", self._url, json=calls)).read()
        )
        return found

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if request.url.host in self.dead:
            raise httpx.ConnectError("refused")
        body = json.loads(request.content)
        calls = body if isinstance(body, list) else [body]
        answers, by_id = self.sent(calls), {call["id"]: call for call in calls}
        view = self.views.get(request.url.host)
        for answer in answers if view is not None else []:
            if "result" in answer:
                answer["result"] = view(by_id[answer["id"]], answer["result"])
        return httpx.Response(200, json=answers if isinstance(body, list) else answers[0])

    def close(self) -> None:
        self._real.close()


class Clocked:
    """A follower whose rounds are a second apart."""

    def __init__(
        self, follower: Follower, *hosts: str, transport: httpx.BaseTransport | None = None
    ) -> None:
        """Without `transport` each host is the true chain until it has a view."""
        self._now, self._begun = 0.0, datetime.now(UTC)
        self.follower, self.wire = follower, Viewed(follower.deployed.anvil.url)
        self.rpc = Nodes(
            [f"http://{host}" for host in hosts],
            transport=in_threads(transport or self.wire),
            clock=lambda: self._now,
            sleep=self.pass_time,
        )
        follower.restart(reader=VaultReader(self.rpc, follower.deployed.contracts))
        self.tip = TipLoop(follower.chain, lambda: self._begun + timedelta(seconds=self._now))
        self.errors: Counter[str] = Counter()
        with suppress(RpcError):  # a plan may not cover a whole first round
            self.tip.round()

    def ask(self, method: str, *params: Any) -> Any:
        """What anvil says, past all views."""
        return self.wire.sent(
            [{"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params)}]
        )[0]["result"]

    def round(self) -> None:
        """What fails of the outside is counted."""
        self._now += 1.0
        try:
            self.tip.round()
            if self._now % 5 == 0:
                self.tip.note_finality()
        except OutsideError as error:
            self.errors[type(error).__name__] += 1

    def rounds(self, count: int, every: int = 2) -> None:
        """With a new block each `every` seconds."""
        for second in range(count):
            if second % every == 0:
                self.follower.deployed.anvil.mine()
            self.round()

    @property
    def second(self) -> int:
        """Of the test's clock."""
        return int(self._now)

    def pass_time(self, seconds: float) -> None:
        self._now += seconds

    @property
    def height(self) -> int:
        return int(self.ask("eth_blockNumber"), 16)

    @property
    def is_at_head(self) -> bool:
        """Give or take a block and the round that asks for it."""
        return self.tip.cursor.number >= self.height - 2

    @property
    def reorgs(self) -> int:
        with self.follower.database.read() as session:
            return session.scalar(select(func.count()).select_from(Reorg)) or 0

    def distrusted(self, node: int = 0) -> int:
        return sum(
            count
            for why, count in self.rpc.stats()[node].failures.items()
            if why.startswith("distrust")
        )

    def close(self) -> None:
        self.tip.close()
        self.rpc.close()
        self.wire.close()

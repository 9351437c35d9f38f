"""A node as one rents it: a JSON-RPC provider in front of anvil, with a plan of so many calls
a second and a load balancer before backends that are blocks apart.

    Server(Rented(anvil.port, plan=Plan(25), backends=(0, 3)))     over HTTP, in real time
    RentedNodes(anvil.url, {"first": Rented(plan=Plan(25, clock=...))})      in the test's own time

Laws
- The plan counts each call of a batch. What it does not cover is refused: the whole batch, or its
  last calls alone; a refused call costs nothing.
- One backend answers a request, or each call one of its own (`splits_batches`). A backend knows
  nothing above its height: blocks and receipts there are null, state there is not found, `latest`
  is its own.
- A lie is told by every backend. It sees the call and the true answer, and says another.
"""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import httpx

from tests.integration.chaos.server import Answer, DropError, ok

Body = dict[str, Any]
Ask = Callable[[Any], Any]
Lie = Callable[[Body, Body], Body]  # (call, true answer) -> what is said

SAFE_DEPTH, FINAL_DEPTH = 32, 64
KEPT_STATES = 128  # what a node that is no archive keeps
STICKY_REQUESTS = 20  # to one backend before the next one
# the place of the block among a method's parameters
OF_STATE = {
    "eth_call": 1,
    "eth_estimateGas": 1,
    "eth_getBalance": 1,
    "eth_getCode": 1,
    "eth_getTransactionCount": 1,
    "eth_getStorageAt": 2,
    "eth_getProof": 2,
}


class Refuses(Enum):
    """What a plan that is used up refuses, and how."""

    WHOLE = "HTTP 429"
    WHOLE_AS_ERROR = "a JSON-RPC error in place of the batch"
    SINGLE = "the last calls of the batch"


class Pick(Enum):
    """Which backend is next."""

    ALTERNATING = "alternating"
    RANDOM = "random"
    STICKY = "sticky"


class Plan:
    """So many calls a second, as many at once at most."""

    def __init__(
        self,
        calls_per_s: float,
        refuses: Refuses = Refuses.WHOLE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.calls_per_s, self.refuses, self._clock = calls_per_s, refuses, clock
        self._left, self._at = float(calls_per_s), clock()

    def take(self, calls: int) -> int:
        """How many of these calls the plan covers; all or none unless it refuses single ones."""
        now = self._clock()
        self._left = min(self.calls_per_s, self._left + (now - self._at) * self.calls_per_s)
        self._at = now
        covered = min(calls, int(self._left))
        if covered < calls and self.refuses is not Refuses.SINGLE:
            return 0
        self._left -= covered
        return covered


@dataclass(frozen=True, slots=True)
class OldBranch:
    """Blocks above `ancestor` that a reorg threw away, as full blocks and their receipts."""

    ancestor: int
    blocks: Mapping[int, Body]
    receipts: Mapping[str, list[Body]]  # by block hash

    @classmethod
    def of(cls, ask: Ask, ancestor: int) -> "OldBranch":
        """What stands above `ancestor` now; take it before the reorg."""
        blocks, receipts = dict[int, Body](), dict[str, list[Body]]()
        while block := _asked(ask, "eth_getBlockByNumber", hex(ancestor + 1 + len(blocks)), True):
            blocks[ancestor + 1 + len(blocks)] = block
            receipts[block["hash"]] = _asked(ask, "eth_getBlockReceipts", block["hash"])
        return cls(ancestor, blocks, receipts)


@dataclass(slots=True)
class Backend:
    """One machine behind the URL: `lag` blocks behind the chain, or at `frozen_at`; with `branch`
    it has not seen the reorg yet, and has no state of that branch's blocks.
    """

    lag: int = 0
    frozen_at: int | None = None
    branch: OldBranch | None = None

    def height(self, live: int) -> int:
        if self.branch is not None:
            return max(self.branch.blocks) - self.lag
        return live - self.lag if self.frozen_at is None else min(self.frozen_at, live)


@dataclass(slots=True)
class Rented:
    """A provider's URL. Everything may be changed between two requests; safe between threads.

    `backends`: their lags. `gives_pre_confirmed`: receipts and logs of blocks that the backend
    does not show yet. `tags`: those that it knows of `safe` and `finalized`. `kept_states`: how far
    below the live head state is there; None: an archive. `most_batch`: calls in a batch.
    """

    upstream_port: int = 0
    plan: Plan | None = None
    backends: Sequence[int] = (0,)
    pick: Pick = Pick.ALTERNATING
    splits_batches: bool = False
    gives_pre_confirmed: bool = False
    tags: frozenset[str] = frozenset({"safe", "finalized"})
    kept_states: int | None = None
    most_batch: int | None = None
    lies: Sequence[Lie] = ()
    is_down: bool = False
    delay_s: float = 0.0
    seed: int = 1
    machines: list[Backend] = field(init=False)
    calls: Counter[str] = field(default_factory=Counter)  # by method, those that were answered
    requests: int = 0
    refused: int = 0  # calls beyond the plan
    _at: int = 0
    _random: random.Random = field(init=False)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.machines = [Backend(lag) for lag in self.backends]
        self._random = random.Random(self.seed)

    def answer(self, raw: bytes, ask: Ask) -> Answer:
        """The answer to one HTTP request. `ask` passes a JSON-RPC body on. Errors: DropError."""
        if self.is_down:
            raise DropError
        if self.delay_s:
            time.sleep(self.delay_s)
        body = json.loads(raw)
        calls = body if isinstance(body, list) else [body]
        if self.most_batch is not None and len(calls) > self.most_batch:
            return ok(_error(None, -32600, f"batch too large: {self.most_batch} calls at most"))
        with self._lock:
            self.requests += 1
            covered = len(calls) if self.plan is None else self.plan.take(len(calls))
            self.refused += len(calls) - covered
            one = self._next()
            chosen = [self._next() if self.splits_batches else one for _ in calls]
            self.calls.update(call["method"] for call in calls[:covered])
        if covered == 0 and self.plan is not None and self.plan.refuses is Refuses.WHOLE:
            return Answer(429, json.dumps(_limited(None)).encode())
        if covered == 0 and self.plan is not None and self.plan.refuses is Refuses.WHOLE_AS_ERROR:
            return ok(_limited(None))
        live = int(_asked(ask, "eth_blockNumber"), 16)
        answers = [
            self._said(call, machine, live, ask)
            for call, machine in zip(calls[:covered], chosen, strict=False)
        ] + [_limited(call["id"]) for call in calls[covered:]]
        return ok(answers if isinstance(body, list) else answers[0])

    def _next(self) -> Backend:
        self._at += 1
        match self.pick:
            case Pick.ALTERNATING:
                return self.machines[self._at % len(self.machines)]
            case Pick.STICKY:
                return self.machines[self._at // STICKY_REQUESTS % len(self.machines)]
            case Pick.RANDOM:
                return self._random.choice(self.machines)

    def _said(self, call: Body, machine: Backend, live: int, ask: Ask) -> Body:
        answer = _View(self, machine, live, ask).answer(call)
        for lie in self.lies:
            answer = lie(call, answer)
        return answer


@dataclass(slots=True)
class _View:
    """The chain as one backend has it at one moment."""

    of: Rented
    machine: Backend
    live: int
    ask: Ask

    @property
    def head(self) -> int:
        return self.machine.height(self.live)

    @property
    def _shared(self) -> int:
        """The newest height at which its blocks are the live chain's."""
        branch = self.machine.branch
        return self.head if branch is None else min(self.head, branch.ancestor)

    def answer(self, call: Body) -> Body:
        method, params = call["method"], call["params"]
        match method:
            case "eth_blockNumber":
                return _result(call, hex(self.head))
            case "eth_getBlockByNumber" | "eth_getBlockReceipts" | "eth_getBlockByHash":
                return self._block(call)
            case "eth_feeHistory":
                return self._passed(call, 1, hex(self._shared))
            case "eth_getTransactionReceipt" | "eth_getTransactionByHash":
                return self._transaction(call)
            case "eth_getLogs":
                return self._logs(call)
        if method in OF_STATE and len(params) > OF_STATE[method]:
            return self._state(call, OF_STATE[method])
        return dict(self.ask(call))

    def _height(self, block: Any) -> int | None:
        """None: a tag that it does not know, or a hash of nothing that it has."""
        match block:
            case "latest" | "pending":
                return self.head
            case "safe" | "finalized":
                depth = SAFE_DEPTH if block == "safe" else FINAL_DEPTH
                return max(0, self.head - depth) if block in self.of.tags else None
            case "earliest":
                return 0
            case {"blockHash": block_hash}:
                return self._height_of(block_hash)
            case {"blockNumber": number}:
                return int(number, 16)
        is_hash = len(block) == 66  # 0x and 32 bytes
        return self._height_of(block) if is_hash else int(block, 16)

    def _height_of(self, block_hash: str) -> int | None:
        old = {} if self.machine.branch is None else self.machine.branch.blocks
        number = next((at for at, one in old.items() if one["hash"] == block_hash), None)
        if number is not None:
            return number if number <= self.head else None
        block = _asked(self.ask, "eth_getBlockByHash", block_hash, False)
        number = int(block["number"], 16) if block is not None else None
        return number if number is not None and number <= self._shared else None

    def _block(self, call: Body) -> Body:
        asked = call["params"][0]
        height = self._height(asked)
        if height is None and asked in ("safe", "finalized"):
            return _error(call["id"], -39001, f"{asked} block not found")
        branch = self.machine.branch
        if branch is not None and height is not None and branch.ancestor < height <= self.head:
            block = branch.blocks[height]
            if call["method"] == "eth_getBlockReceipts":
                return _result(call, branch.receipts[block["hash"]])
            hashes = [one["hash"] for one in block["transactions"]]
            is_full = call["params"][1]
            return _result(call, block if is_full else {**block, "transactions": hashes})
        is_early = call["method"] == "eth_getBlockReceipts" and self.of.gives_pre_confirmed
        if not is_early and (height is None or height > self._shared):
            return _result(call, None)
        if asked.startswith("0x") or height is None:
            return dict(self.ask(call))
        return self._passed(call, 0, hex(height))

    def _state(self, call: Body, place: int) -> Body:
        asked = call["params"][place]
        if asked == "pending":  # the mempool is every backend's
            return dict(self.ask(call))
        height = self._height(asked)
        if asked == "latest":
            height = min(self.head, self._shared)
        if height is None or height > self._shared:
            return _error(call["id"], -32000, "header not found")
        if self.of.kept_states is not None and height <= self.live - self.of.kept_states:
            return _error(call["id"], -32000, "missing trie node (path ) state is not available")
        return self._passed(call, place, hex(height))

    def _transaction(self, call: Body) -> Body:
        answer = dict(self.ask(call))
        found = answer.get("result")
        if found is None or found["blockNumber"] is None or self.of.gives_pre_confirmed:
            return answer
        if int(found["blockNumber"], 16) <= self._shared:
            return answer
        if call["method"] == "eth_getTransactionReceipt":
            return _result(call, None)
        unmined = dict.fromkeys(("blockHash", "blockNumber", "transactionIndex"))
        return _result(call, {**found, **unmined})

    def _logs(self, call: Body) -> Body:
        wanted = dict(call["params"][0])
        if "blockHash" in wanted:
            if self._height_of(wanted["blockHash"]) is None:
                return _error(call["id"], -32000, "unknown block")
            return dict(self.ask(call))
        first = self._height(wanted.get("fromBlock", "latest"))
        last = self._height(wanted.get("toBlock", "latest"))
        top = self.live if self.of.gives_pre_confirmed else self._shared
        if first is None or last is None or first > top:
            return _result(call, [])
        wanted |= {"fromBlock": hex(first), "toBlock": hex(min(last, top))}
        return dict(self.ask({**call, "params": [wanted]}))

    def _passed(self, call: Body, place: int, block: str) -> Body:
        params = list(call["params"])
        params[place] = block
        return dict(self.ask({**call, "params": params}))


class RentedNodes(httpx.BaseTransport):
    """By host name, in this process: give it to `Nodes(urls, transport=...)`."""

    def __init__(self, anvil_url: str, nodes: Mapping[str, Rented]) -> None:
        self._url, self._real, self.nodes = anvil_url, httpx.HTTPTransport(), dict(nodes)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        try:
            answer = self.nodes[request.url.host].answer(request.content, self.ask)
        except DropError as error:
            raise httpx.ConnectError("refused") from error
        return httpx.Response(answer.status, content=answer.body)

    def ask(self, body: Any) -> Any:
        """What anvil answers."""
        answer = self._real.handle_request(httpx.Request("POST", self._url, json=body))
        return json.loads(answer.read())

    def close(self) -> None:
        self._real.close()


# Lies


def claims_height(ahead: int) -> Lie:
    """Its newest block is `ahead` blocks higher than it is."""

    def lie(call: Body, answer: Body) -> Body:
        is_head = call["method"] == "eth_blockNumber"
        if is_head:
            return {**answer, "result": hex(int(answer["result"], 16) + ahead)}
        if call["method"] != "eth_getBlockByNumber" or call["params"][0] != "latest":
            return answer
        block = answer["result"]
        higher = hex(int(block["number"], 16) + ahead)
        return {**answer, "result": {**block, "number": higher, "hash": _other(block["hash"])}}

    return lie


def _other(block_hash: str) -> str:
    return f"0x{int(block_hash[2], 16) ^ 15:x}{block_hash[3:]}"


def _asked(ask: Ask, method: str, *params: Any) -> Any:
    return ask({"jsonrpc": "2.0", "id": 0, "method": method, "params": list(params)}).get("result")


def _result(call: Body, result: Any) -> Body:
    return {"jsonrpc": "2.0", "id": call["id"], "result": result}


def _error(call_id: Any, code: int, message: str) -> Body:
    return {"jsonrpc": "2.0", "id": call_id, "error": {"code": code, "message": message}}


def _limited(call_id: Any) -> Body:
    return _error(call_id, -32005, "calls per second limit of your plan reached")

"""A bad node: an HTTP JSON-RPC server that passes calls on to anvil and, by its seed, answers some
of them wrongly.

What it does to request n follows from sha256(seed, name, n) alone: transport faults (429, 500, no
answer in time, broken JSON, a dropped connection), batches out of order or with calls left out, and
receipts that are missing, another block's, doubled or cut. For a window of requests it may also see
another chain: one that lags, or the branch before the last reorg. One of a story's nodes also lies
(lies.py): each of its lies at the first occasion, and then now and then.
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from tests.integration.chaos.server import Answer, DropError, capped, ok
from tests.integration.indexer.chaos.lies import RANGE_LIES, Lie, tell
from tests.integration.indexer.chaos.views import Branch, View

WINDOW = 10  # requests that see the same chain
LAGS = (1, 1, 2, 3, 8, 70)
TRANSPORT_SHARE = 0.06
BATCH_SHARE = 0.15
RECEIPTS_SHARE = 0.05
LIE_SHARE = 0.2
RANGE_LIE_SHARE = 0.6

Body = dict[str, Any]


@dataclass(slots=True)
class FaultyNode:
    """`silence_s`: how long it says nothing when it makes a caller wait.

    `branch` is the last one that was thrown away. `lies`: what it lies about; another node of the
    story has none. `endless`: a contract whose code ends no call in time that names no gas, in calm
    neither.
    """

    name: str
    seed: int
    upstream_port: int
    silence_s: float
    lies: tuple[Lie, ...] = ()
    endless: str | None = None
    is_faulty: bool = True
    branch: Branch | None = None
    faults: dict[str, int] = field(default_factory=dict)
    _count: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, raw: bytes, ask: Callable[[Any], Any]) -> Answer:
        """The answer to one HTTP request. `ask` passes a JSON-RPC body on. Errors: DropError."""
        request = json.loads(raw)
        request = (
            [capped(call) for call in request] if isinstance(request, list) else capped(request)
        )
        if self._never_ends(request):
            self.note("no end")
            time.sleep(self.silence_s)
            raise DropError
        if not self.is_faulty:
            return ok(ask(request))
        with self._lock:
            self._count += 1
            number = self._count
        if self._is_smooth:
            return self._smooth(number, request, ask)
        self._transport_fault(number)
        share = self._chance("transport", number)
        if share < TRANSPORT_SHARE:
            return self._broken(number, request, ask)
        view = self._view(number, ask)
        calls = request if isinstance(request, list) else [request]
        answers = [view.answer(call) for call in calls]
        untrue = self._untrue(number, calls, answers, ask)
        if isinstance(request, list):
            return ok(self._shaken(number, answers) if untrue is None else untrue)
        return ok(
            self._with_wrong_receipts(number, request, answers[0], ask)
            if untrue is None
            else untrue[0]
        )

    def _never_ends(self, request: Any) -> bool:
        calls = request if isinstance(request, list) else [request]
        unbounded = (
            call["params"][0]
            for call in calls
            if call["method"] == "eth_call" and "gas" not in call["params"][0]
        )
        return self.endless is not None and any(
            (call.get("to") or "").lower() == self.endless.lower() for call in unbounded
        )

    @property
    def _is_smooth(self) -> bool:
        """Ranges are few, and asked of whoever serves well: who lies about them does."""
        return not set(RANGE_LIES).isdisjoint(self.lies)

    def _smooth(self, number: int, request: Any, ask: Callable[[Any], Any]) -> Answer:
        """Bad in nothing but its lies."""
        calls = request if isinstance(request, list) else [request]
        answers = [dict(ask(call)) for call in calls]
        said = self._untrue(number, calls, answers, ask) or answers
        return ok(said if isinstance(request, list) else said[0])

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
        errors = [
            {"jsonrpc": "2.0", "id": call["id"], "error": {"code": -32603, "message": "internal"}}
            for call in calls
        ]
        return ok(errors if isinstance(request, list) else errors[0])

    def _view(self, number: int, ask: Callable[[Any], Any]) -> View:
        """Which chain this request sees."""
        window = number // WINDOW
        kind = self._pick("view", window, ("live", "live", "live", "lag", "old", "flip"))
        if kind == "lag":
            self.note("lag")
            return View(ask, lag=self._pick("lag", window, LAGS))
        if self.branch is not None and (
            kind == "old" or (kind == "flip" and self._chance("flip", number) < 0.5)
        ):
            self.note(kind)
            return View(ask, branch=self.branch)
        return View(ask)

    def _untrue(
        self, number: int, calls: list[Body], answers: list[Body], ask: Callable[[Any], Any]
    ) -> list[Body] | None:
        """What it says instead, if it lies to this request: what it has lied about least comes
        first.
        """
        chance = self._chance("lie", number)
        for lie in sorted(self.lies, key=lambda one: self.faults.get(one, 0)):
            if self.faults.get(lie, 0) and chance >= (
                RANGE_LIE_SHARE if lie in RANGE_LIES else LIE_SHARE
            ):
                continue
            found = tell(lie, calls, answers, lambda what: self._chance(f"lie {what}", number), ask)
            if found is not None:
                self.note(lie)
                return found
        return None

    def _shaken(self, number: int, answers: list[Body]) -> list[Body]:
        """A batch out of order, and rarely with calls left out."""
        if self._chance("batch", number) < BATCH_SHARE:
            self.note("unordered")
            answers.sort(key=lambda answer: self._chance("order", answer["id"]))
        if self._chance("left out", number) < BATCH_SHARE / 3:
            self.note("left out")
            answers = answers[:-1]
        return answers

    def _with_wrong_receipts(
        self, number: int, request: Body, answer: Body, ask: Callable[[Any], Any]
    ) -> Body:
        receipts = answer.get("result")
        if (
            request["method"] != "eth_getBlockReceipts"
            or not receipts
            or self._chance("receipts", number) >= RECEIPTS_SHARE
        ):
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
        return (
            int.from_bytes(sha256(f"{self.seed}:{self.name}:{what}:{number}".encode()).digest()[:6])
            / 2**48
        )

    def _pick(self, what: str, number: int, choices: tuple[Any, ...]) -> Any:
        return choices[int(self._chance(f"pick {what}", number) * len(choices))]

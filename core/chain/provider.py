"""One node: a POST, what it costs, whether it may be asked now, and what became of it.

Laws
- `enter` then `ask`, in pairs: the budget is paid at the door, and the door is closed to others
  while a half-open node is tried.
- A failure of transport opens the breaker; a rate limit slows the budget and opens nothing; trouble
  that the node tells of in so many words rests it for TROUBLE_S, since another call may well
  succeed; a method that it refuses rests it for longer each time.
- It is sent no more calls at once than it takes (batch_size.py).
- An answer is read piece by piece, for at most a time and at most MOST_ANSWER_BYTES, counted after
  decompression.
- Its name is host and port. Path, query and user of the URL hold keys and are never told.
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx

from core.chain.answers import AnswerTooLargeError, BatchTooLargeError, NodeFailure
from core.chain.batch_size import BatchSize
from core.chain.breaker import Breaker, BreakerState
from core.chain.budget import CallBudget
from core.chain.refusals import FailureKind
from core.chain.wire import PACKED, PostAnswer, Wire

TROUBLE_S = 1.0
# the receipts of twenty full blocks; what needs more is asked for in smaller parts
MOST_ANSWER_BYTES = 64 * 2**20
MAY_BE_LONG = ("eth_getBlockReceipts", "eth_getLogs")
ENCODINGS = ("identity", *PACKED)  # a piece of another one may unfold to any size
BUCKETS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProviderStats:
    """What one node did since the start.

    Counts only rise; `state`, `is_open` and `calls_per_s` are of now.
    """

    name: str  # host:port, never path, query or user
    requests: int  # HTTP requests
    calls: int  # JSON-RPC calls, each of a batch counted
    failures: Mapping[str, int]  # by FailureKind, and `distrust: <reason>`
    seconds: float  # spent in requests
    # requests that took at most so many seconds; cumulative, inf last
    seconds_buckets: Mapping[float, int]
    budget_waits: int
    budget_wait_s: float
    calls_per_s: float  # what the budget allows now
    state: BreakerState

    @property
    def is_open(self) -> bool:
        return self.state is BreakerState.OPEN


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether a request may pass, and with how many calls.

    `wait_s`: until the budget would let it; 0 when it does.
    """

    passed: bool
    calls: int
    is_open: bool
    wait_s: float
    is_probe: bool = False


class Provider:
    """Safe to share between threads."""

    def __init__(
        self,
        name: str,
        wire: Wire,
        budget: CallBudget,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._wire = wire
        self._clock = clock
        self._lock = threading.Lock()
        self._budget = budget
        self._breaker = Breaker()
        self._size = BatchSize()
        self._requests = self._calls = self._waits = 0
        self._seconds = self._waited_s = 0.0
        self._failures: Counter[str] = Counter()
        self._buckets: Counter[float] = Counter()

    @property
    def free_at(self) -> float:
        """From then on the breaker lets a request pass (the clock's seconds)."""
        with self._lock:
            return self._breaker.free_at

    def is_short_of(self, calls: int) -> bool:
        """Whether it takes so few calls at once that others are better asked for so many."""
        with self._lock:
            return self._size.is_short_of(calls)

    def enter(
        self, wanted: int, *, even_if_open: bool = False, even_if_resting: bool = False
    ) -> Admission:
        """Ask to pass with so many calls, or as many of them as the node takes at once; when
        passed, they are paid for and `ask` must follow.
        """
        now = self._clock()
        with self._lock:
            cost = min(wanted, self._size.calls)
            wait_s = self._budget.wait_s(now)
            is_open = not self._breaker.admits(now)
            passes = (
                not is_open
                or even_if_open
                or (even_if_resting and not self._breaker.has_failed(now))
            )
            if wait_s > 0 or not passes:
                return Admission(passed=False, calls=cost, is_open=is_open, wait_s=wait_s)
            self._budget.take(cost, now)
            self._calls += cost
            self._requests += 1
            return Admission(
                passed=True,
                calls=cost,
                is_open=is_open,
                wait_s=0.0,
                is_probe=self._breaker.entered(now),
            )

    def ask(self, entry: Admission, body: Any, read: Callable[[bytes], T], timeout_s: float) -> T:
        """POST and read the answer, within about `timeout_s`.

        Errors: NodeFailure, BatchTooLargeError, AnswerTooLargeError, and what else `read` raises.
        """
        begun = self._clock()
        try:
            answer = read(self._post(body, begun, timeout_s))
        except NodeFailure as failure:
            self._note(begun, failure)
            raise
        except BatchTooLargeError:
            with self._lock:
                self._size.refused(entry.calls, self._clock())
            raise
        else:
            self._note(begun, None)
            with self._lock:
                self._size.answered(entry.calls, self._clock())
                self._breaker.answered(
                    one["method"] for one in (body if isinstance(body, list) else [body])
                )
            return answer
        finally:
            with self._lock:
                self._breaker.left(entry.is_probe)

    def rest(self, seconds: float) -> None:
        """Prefer the others for a while."""
        with self._lock:
            self._breaker.rest(seconds, self._clock())

    def distrust(self, reason: str, seconds: float) -> None:
        """What it said can't be believed. `reason`: one of few words, it is counted by."""
        self.rest(seconds)
        with self._lock:
            self._failures[f"distrust: {reason}"] += 1

    def waited(self, seconds: float) -> None:
        """A request waited for this node's budget."""
        with self._lock:
            self._waits += 1
            self._waited_s += seconds

    def stats(self) -> ProviderStats:
        now = self._clock()
        with self._lock:
            counted, buckets = 0, {}
            for bound in (*BUCKETS_S, float("inf")):
                counted += self._buckets[bound]
                buckets[bound] = counted
            return ProviderStats(
                name=self.name,
                requests=self._requests,
                calls=self._calls,
                failures=dict(self._failures),
                seconds=self._seconds,
                seconds_buckets=buckets,
                budget_waits=self._waits,
                budget_wait_s=self._waited_s,
                calls_per_s=self._budget.per_s,
                state=self._breaker.state(now),
            )

    def _note(self, begun: float, failure: NodeFailure | None) -> None:
        now = self._clock()
        taken_s = now - begun
        with self._lock:
            self._seconds += taken_s
            self._buckets[
                next((bound for bound in BUCKETS_S if taken_s <= bound), float("inf"))
            ] += 1
            if failure is None:
                self._breaker.succeeded()
                self._budget.succeeded(now)
                return
            self._failures[failure.kind] += 1
            if failure.kind is FailureKind.RATE_LIMIT:
                self._budget.limited(failure.retry_after_s, now)
            elif failure.kind is FailureKind.REFUSED:
                self._breaker.refused(failure.method, now)
            elif failure.kind is FailureKind.TROUBLE:
                self._breaker.rest(TROUBLE_S, now)
            else:
                self._breaker.failed(now)

    def close(self) -> None:
        self._wire.close()

    def _post(self, body: Any, begun: float, timeout_s: float) -> bytes:
        """Read piece by piece: a node that drips would never run into one piece's time-out."""
        sent = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        try:
            with self._wire.post(sent.encode(), timeout_s) as answer:
                if (
                    answer.status == httpx.codes.REQUEST_ENTITY_TOO_LARGE
                    and isinstance(body, list)
                    and len(body) > 1
                ):
                    raise BatchTooLargeError
                _require_ok(answer)
                content = bytearray()
                for piece in answer.pieces:
                    content += piece
                    if self._clock() - begun > timeout_s:
                        raise NodeFailure(FailureKind.TIMEOUT, "an answer without end")
                    if len(content) > MOST_ANSWER_BYTES:
                        raise _too_large(body)
        except httpx.TimeoutException as error:
            raise NodeFailure(FailureKind.TIMEOUT, type(error).__name__) from error
        except httpx.HTTPError as error:
            raise NodeFailure(FailureKind.CONNECTION, type(error).__name__) from error
        return bytes(content)


def _too_large(body: Any) -> AnswerTooLargeError | NodeFailure:
    """Strangers decide how much a block logs; any other answer to a single call is as short as its
    method promises.
    """
    methods = [call["method"] for call in (body if isinstance(body, list) else [body])]
    if len(methods) > 1 or methods[0] in MAY_BE_LONG:
        return AnswerTooLargeError(methods, MOST_ANSWER_BYTES)
    return NodeFailure(FailureKind.GARBLED, f"an answer of more than {MOST_ANSWER_BYTES} bytes")


def names_of(urls: list[str]) -> list[str]:
    """host:port of each; the same one again gets #2, #3 (two keys of one provider)."""
    seen: Counter[str] = Counter()
    names = []
    for url in urls:
        name = _host_and_port(url)
        seen[name] += 1
        names.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return names


def _host_and_port(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme)
    except ValueError:
        return "node"
    return f"{parts.hostname or 'node'}:{port}"


def _require_ok(answer: PostAnswer) -> None:
    """Errors: NodeFailure."""
    if answer.status == httpx.codes.TOO_MANY_REQUESTS:
        raise NodeFailure(
            FailureKind.RATE_LIMIT, "HTTP 429", retry_after_s=_retry_after_s(answer.headers)
        )
    if answer.status != httpx.codes.OK:
        raise NodeFailure(FailureKind.STATUS, f"HTTP {answer.status}")
    encoding = answer.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ENCODINGS:
        raise NodeFailure(FailureKind.GARBLED, "an encoding that was not asked for")


def _retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Retry-After in seconds; as a date, counted from the answer's own Date.

    Source: RFC 9110, 10.2.3.
    """
    value = headers.get("retry-after", "").strip()
    if value.isdecimal():
        return float(value)
    # no date, one without a zone beside one with it, one out of range
    with suppress(ValueError, TypeError, OverflowError):
        return (
            parsedate_to_datetime(value) - parsedate_to_datetime(headers.get("date", ""))
        ).total_seconds()
    return None

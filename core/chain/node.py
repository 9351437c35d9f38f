"""What is known of one node, by one monotonic clock: what it did, until when it rests, how many calls
a second its plan leaves, what it cannot do, its newest block.

    calls a second  calls_per_s --- "slower" - pause - half of what was sent in the last second,
                    +10 % each second up to nine tenths of it, and after a minute beyond
"""

import threading
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final

from tenacity import RetryCallState, Retrying, wait_exponential_jitter

from core.chain.answers import NodeCall
from core.chain.blocks import BlockHeader
from core.chain.errors import NodeFailure, RpcRefusedError
from core.chain.provider import NodeProvider
from core.chain.refusals import FailureKind, is_optional

MOST_CALLS: Final = 400  # a batch: geth refuses more than 1,000, some providers more than 500
BACKOFF: Final = wait_exponential_jitter(initial=1, max=60, jitter=0.25)
MOST_PAUSE_S: Final = 30.0  # of a node's Retry-After
LEARNT_S: Final = 60.0
LEAST_PER_S: Final = 5.0  # every plan is taken to grant it, even after a 429 at less traffic
CANNOT_S: Final = 30.0
TROUBLE_S: Final = 1.0  # another call may well succeed
STANDS_STILL_S: Final = 30.0  # then a lower head is believed: the higher one may have been a lie
KEPT_HEADS: Final = 64


class ChainNode:
    """Safe to share between threads; counts only rise."""

    def __init__(
        self, name: str, provider: NodeProvider, calls_per_s: float, clock: Callable[[], float]
    ) -> None:
        self.name = name  # host:port, never path, query or user
        self.provider = provider
        self.requests = self.calls = 0  # of HTTP; of JSON-RPC, each of a batch counted
        self.seconds = 0.0  # spent in requests
        self.calls_per_s = calls_per_s  # its plan, as far as it is known
        self._counts = Counter[str]()
        self._clock, self._lock = clock, threading.Lock()
        self._failed_in_a_row = 0
        self._failed_until = self._rests_until = float("-inf")
        self._paused_until = self._eases_at = self._limited_at = float("-inf")
        self._cannot: dict[str, float] = {}  # until when
        self._most_calls, self._most_per_s, self._limit_per_s = MOST_CALLS, calls_per_s, calls_per_s
        self._sent, self._in_second = deque[tuple[float, int]](), 0  # when, and how many calls
        self._height, self._rose_at, self.head_time_s = -1, clock(), 0
        self._seen = deque[str](maxlen=KEPT_HEADS)  # hashes
        self._hashes = dict[int, str]()  # by height, of the branch that it is on

    @property
    def failures(self) -> dict[str, int]:
        """Requests that failed, by FailureKind, and `distrust: <reason>`."""
        return dict(self._counts)

    @property
    def is_open(self) -> bool:
        """It rests: others are asked before it."""
        return self._clock() < max(self._failed_until, self._rests_until)

    @property
    def has_failed(self) -> bool:
        """A moment ago, and was not asked since."""
        return self._clock() < self._failed_until

    @property
    def head_age_s(self) -> float:
        """Since its height last rose, or since the start."""
        return self._clock() - self._rose_at

    def order(self, calls: int, abilities: Collection[str]) -> tuple[float, float]:
        """Who rests least of those that can do it comes first, then who can have answered it all
        first: two times in seconds.
        """
        now = self._clock()
        with self._lock:
            cannot_until = [self._cannot.get(one, now) for one in abilities]
            rests_until = max(now, self._failed_until, self._rests_until, *cannot_until)
            part, wait_s = self._next_part(calls, now)
            return rests_until - now, wait_s + (calls - part) / self.calls_per_s

    def take(self, calls: int, most_s: float) -> tuple[int, float]:
        """How many of the calls go at once, paid for, and the seconds until they may.

        Errors: NodeFailure when these are more than `most_s`.
        """
        now = self._clock()
        with self._lock:
            part, wait_s = self._next_part(calls, now)
            if wait_s > most_s:
                raise NodeFailure(FailureKind.TIMEOUT, "over budget, see RPC_REQUESTS_PER_S")
            self._sent.append((now + wait_s, part))
            self._in_second += part
            self.requests, self.calls = self.requests + 1, self.calls + part
        return part, wait_s

    def _next_part(self, calls: int, now: float) -> tuple[int, float]:
        """In the order of those who ask: no small call goes before a large batch that waits."""
        while self._sent and self._sent[0][0] <= now - 1:
            self._in_second -= self._sent.popleft()[1]
        part = min(calls, self._most_calls, max(1, int(self.calls_per_s)))
        at = max(now, self._paused_until, self._sent[-1][0] if self._sent else now)
        over = self._in_second + part - max(1.0, self.calls_per_s)
        for sent_at, earlier in self._sent:
            if over <= 0:
                break
            over, at = over - earlier, max(at, sent_at + 1)
        return part, at - now

    def note(
        self,
        calls: Sequence[NodeCall],
        answers: Sequence[Any],
        failure: NodeFailure | None,
        sent_at: float,
    ) -> None:
        """What became of a request; `answers`: nothing when it failed as a whole."""
        now = self._clock()
        with self._lock:
            self.seconds += now - sent_at
            if answers:
                self._answered(now)
            if failure is not None and not (answers and failure.kind is FailureKind.SIZE):
                self._failed(failure, len(calls), sent_at, now)
            for call, one in zip(calls, answers, strict=False):
                if isinstance(one, RpcRefusedError) and is_optional(call.method, call.params):
                    self._cannot[call.ability] = now + CANNOT_S

    def _answered(self, now: float) -> None:
        self._failed_in_a_row, self._failed_until = 0, min(now, self._failed_until)
        is_learnt = now < self._limited_at + LEARNT_S
        most = self._limit_per_s if is_learnt else self._most_per_s
        if self.calls_per_s < most and now >= self._eases_at + 1:
            self.calls_per_s, self._eases_at = min(most, self.calls_per_s * 1.1), now

    def _failed(self, failure: NodeFailure, calls: int, sent_at: float, now: float) -> None:
        """Those that were under way together count once."""
        if failure.kind is FailureKind.SIZE:
            self._most_calls = max(1, calls // 2)
            return
        self._counts[failure.kind] += 1
        if failure.kind is FailureKind.REFUSED:
            self._cannot[failure.ability] = now + CANNOT_S
        elif failure.kind is FailureKind.TROUBLE:
            self._rests_until = max(self._rests_until, now + TROUBLE_S)
        elif failure.kind is FailureKind.RATE_LIMIT and sent_at >= self._eases_at:
            self._failed_in_a_row += 1
            sent = sum(part for at, part in self._sent if now - 1 < at <= now)
            least = min(LEAST_PER_S, self._most_per_s)
            self._limit_per_s = max(least, 0.9 * min(self.calls_per_s, max(sent, calls)))
            self.calls_per_s, self._limited_at = max(least, self._limit_per_s / 2), now
            pause_s = max(
                min(failure.retry_after_s, MOST_PAUSE_S), _backoff_s(self._failed_in_a_row)
            )
            self._paused_until = self._eases_at = now + pause_s
        elif failure.kind is not FailureKind.RATE_LIMIT and now >= self._failed_until:
            self._failed_in_a_row += 1
            self._failed_until = now + _backoff_s(self._failed_in_a_row)

    def rest(self, seconds: float, reason: str | None = None) -> None:
        """An answer does not end it. `reason`: why the node is distrusted."""
        with self._lock:
            self._rests_until = max(self._rests_until, self._clock() + seconds)
            if reason is not None:
                self._counts[f"distrust: {reason}"] += 1

    def saw(self, header: BlockHeader, *, is_old: bool) -> None:
        """It named this as its newest block, which is no rise while it is old.

        A lower one is believed where its branch is another, or once the higher one has not risen for
        STANDS_STILL_S. A block that it named before is no rise, though a lower one was believed since:
        backends of a load-balanced URL that stand still would rise for ever.
        """
        named = {header.number: header.hash, header.number - 1: header.parent_hash}
        with self._lock:
            self.head_time_s = header.timestamp
            is_other = any(self._hashes.get(at, known) != known for at, known in named.items())
            kept = {} if is_other else self._hashes
            self._hashes = dict(sorted({**kept, **named}.items())[-KEPT_HEADS:])
            is_rise = header.number > self._height
            if is_rise and not is_old and header.hash not in self._seen:
                self._rose_at = self._clock()
            if is_rise or is_other or self.head_age_s >= STANDS_STILL_S:
                self._height = header.number
            self._seen.append(header.hash)


def _backoff_s(failures: int) -> float:
    state = RetryCallState(Retrying(), None, (), {})
    state.attempt_number = failures
    return float(BACKOFF(state))

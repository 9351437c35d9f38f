"""One call over HTTP, sent again where that is safe.

Laws
- A call is sent again only when a repetition changes nothing: a GET, or a write that carries an
  Idempotency-Key. Each repetition is the same call, byte for byte: same key, same payment.
- It is sent again when no answer came, on 503, and on 409 idempotency_in_flight; no other refusal
  is repeated.
- At most `attempts` sendings. A Retry-After is waited for; one above `longest_s` is not, the
  refusal is the answer then.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx

from api.client.refusal import IDEMPOTENCY_HEADER, Unreachable, body_of


@dataclass(frozen=True, slots=True)
class Retries:
    """`jitter` gives 0 to 1: a wait is half fixed, half random, so that callers do not come back
    together. Seconds.
    """

    attempts: int = 5
    base_s: float = 0.2
    longest_s: float = 20.0
    jitter: Callable[[], float] = random.random
    sleep: Callable[[float], None] = time.sleep

    def backoff_s(self, attempt: int) -> float:
        """The wait after the given sending, the first being 1: base, twice that, four times that,
        ... up to the longest.
        """
        whole = min(self.longest_s, self.base_s * (1 << (attempt - 1)))
        return whole / 2 + self.jitter() * whole / 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """`body` None: none is sent.

    `is_answer`: a status above 399 that is no failure of this call.
    """

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] | None = None
    is_answer: int | None = None

    @property
    def idempotency_key(self) -> str | None:
        return self.headers.get(IDEMPOTENCY_HEADER)

    @property
    def may_be_repeated(self) -> bool:
        return self.method == "GET" or self.idempotency_key is not None


class Transport:
    def __init__(
        self,
        base_url: str,
        timeout_s: float,
        retries: Retries,
        over: httpx.BaseTransport | None = None,
    ) -> None:
        self.retries = retries
        self._http = httpx.Client(base_url=base_url.rstrip("/"), timeout=timeout_s, transport=over)

    def close(self) -> None:
        self._http.close()

    def send(self, request: Request) -> httpx.Response:
        """The answer, of whatever status. Errors: Unreachable."""
        for attempt in range(1, self.retries.attempts + 1):
            is_last = attempt == self.retries.attempts or not request.may_be_repeated
            try:
                answer = self._once(request)
            except httpx.TransportError as error:
                if is_last:
                    raise Unreachable(
                        request.method, request.path, repr(error), request.idempotency_key
                    ) from error
                self.retries.sleep(self.retries.backoff_s(attempt))
                continue
            wait_s = self._wait_s(request, answer, attempt)
            if is_last or wait_s is None:
                return answer
            self.retries.sleep(wait_s)
        raise AssertionError("the last sending returns or raises")

    @contextmanager
    def stream(self, request: Request) -> Iterator[httpx.Response]:
        """An answer that is read as it comes, once: what came before a fault is in the caller's
        hands. Errors: Unreachable.
        """
        try:
            with self._http.stream(
                request.method, request.path, headers=dict(request.headers)
            ) as answer:
                yield answer
        except httpx.TransportError as error:
            raise Unreachable(request.method, request.path, repr(error), None) from error

    def _once(self, request: Request) -> httpx.Response:
        return self._http.request(
            request.method,
            request.path,
            headers=dict(request.headers),
            params=dict(request.query) or None,
            json=request.body,
        )

    def _wait_s(self, request: Request, answer: httpx.Response, attempt: int) -> float | None:
        """How long to wait before the call is sent again; None: this answer is final."""
        if answer.status_code == request.is_answer or not _is_passing(answer):
            return None
        asked_s = _retry_after_s(answer)
        if asked_s > self.retries.longest_s:
            return None
        return max(asked_s, self.retries.backoff_s(attempt))


def _is_passing(answer: httpx.Response) -> bool:
    if answer.status_code == 503:
        return True
    block = body_of(answer).get("service") if answer.status_code == 409 else None
    return isinstance(block, dict) and block.get("reason") == "idempotency_in_flight"


def _retry_after_s(answer: httpx.Response) -> int:
    text = answer.headers.get("retry-after", "")
    return int(text) if text.isascii() and text.isdigit() else 0

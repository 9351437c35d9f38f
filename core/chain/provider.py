"""One node, as web3.py asks it: a provider of its kind over httpx.

    make_request        one call    --> {"id", "result"} or {"id", "error"}
    make_batch_request  many calls  --> such answers in the order asked, each error in its place;
                                        one {"error"} for all when the node refuses the batch itself;
                                        one call alone goes without a list around it

Laws
- A request has so many seconds from connecting to the end of its body: only a task of asyncio can be
  ended whatever it waits for, a header that drips too, so that all run in one loop of the process.
- At most MOST_ANSWER_BYTES are read, counted after decompression: a piece of 64 KiB unpacks to
  64 MiB at most. An encoding that was not asked for is refused unread.
- Every id comes back exactly once, else the node garbled its answer. A `result` stays the JSON that
  it came as: what each method promises is read from it strictly (results.py).
- A refusal by status 400, 403 or 413 that is a JSON-RPC error is read as that error.
- No proxy and no certificate of the environment is used; a redirect is not followed; no cookie is
  kept, since a node could make each request longer than the one before.
"""

import asyncio
import itertools
import json
import os
import threading
from collections import Counter
from collections.abc import Coroutine, Sequence
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, Final, TypeVar, cast

import httpx
import msgspec
from web3.providers.base import JSONBaseProvider
from web3.types import RPCEndpoint, RPCResponse

from core.chain.errors import AnswerTooLargeError, NodeFailure
from core.chain.refusals import FailureKind, is_too_large, is_too_much

# the receipts of twenty full blocks; what needs more is asked for in smaller parts
MOST_ANSWER_BYTES = 64 * 2**20
MAY_BE_LONG: Final = ("eth_getBlockReceipts", "eth_getLogs")
ENCODINGS: Final = ("identity", "gzip", "deflate")
# refusals of the request, whose body may say what is wrong with it: a range, a method, a batch
EXPLAINED: Final = (
    httpx.codes.BAD_REQUEST,
    httpx.codes.FORBIDDEN,
    httpx.codes.REQUEST_ENTITY_TOO_LARGE,
)
ANSWER_S: Final = 10.0
CONNECT_S: Final = 2.0


T = TypeVar("T")
_STARTS: Final = threading.Lock()


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="nodes", daemon=True).start()
    return loop


os.register_at_fork(after_in_child=_loop.cache_clear)  # which has none of its parent's threads


def finished(task: Coroutine[Any, Any, T]) -> T:
    """What a task of the process's loop comes to."""
    with _STARTS:  # a client's connections are of one loop
        loop = _loop()
    return asyncio.run_coroutine_threadsafe(task, loop).result()


class _Envelope(msgspec.Struct, gc=False):
    """One JSON-RPC answer; an empty `result` was not sent."""

    id: int | str | None = None
    result: msgspec.Raw = msgspec.Raw()
    error: dict[str, Any] | None = None


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_ENVELOPES = msgspec.json.Decoder(list[_Envelope])


def client_of(
    transport: httpx.AsyncBaseTransport | None = None, token: str | None = None
) -> httpx.AsyncClient:
    """What providers ask through; they may share one. `token`: goes along as a bearer's."""
    headers = {"Accept-Encoding": ", ".join(ENCODINGS[1:]), "Content-Type": "application/json"}
    headers |= {} if token is None else {"Authorization": f"Bearer {token}"}
    none = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx.AsyncClient(transport=transport, headers=headers, cookies=none, trust_env=False)


class NodeProvider(JSONBaseProvider):
    """Safe to share between threads. Errors of its requests: NodeFailure, AnswerTooLargeError."""

    def __init__(self, url: str, client: httpx.AsyncClient) -> None:
        super().__init__()
        self.request_counter = itertools.count(1)
        self._url = url
        self._client = client

    def make_request(
        self, method: RPCEndpoint, params: Any, within_s: float = ANSWER_S
    ) -> RPCResponse:
        answers = self.make_batch_request([(method, params)], within_s)
        return answers[0] if isinstance(answers, list) else answers

    def make_batch_request(
        self, requests: list[tuple[RPCEndpoint, Any]], within_s: float = ANSWER_S
    ) -> list[RPCResponse] | RPCResponse:
        bodies = [
            {"jsonrpc": "2.0", "id": next(self.request_counter), "method": method, "params": params}
            for method, params in requests
        ]
        is_alone = len(bodies) == 1
        methods = [method for method, _ in requests]
        content = finished(self._post(bodies[0] if is_alone else bodies, methods, within_s))
        is_one, answers = _envelopes(content)
        error = answers[0].error if len(answers) == 1 else None
        if error is not None and not is_alone and is_too_large(error):
            raise NodeFailure(FailureKind.SIZE, f"takes no {len(bodies)} calls at once")
        if error is not None and is_one:
            return [_response(answers[0])] if is_alone else _response(answers[0])
        by_id = {answer.id: answer for answer in answers}
        counts = Counter(answer.id for answer in answers)
        if is_one != is_alone or any(counts[body["id"]] != 1 for body in bodies):
            raise NodeFailure(FailureKind.GARBLED, "answers left out, doubled or of other calls")
        return [_response(by_id[body["id"]]) for body in bodies]

    async def _post(self, body: Any, methods: Sequence[str], within_s: float) -> bytes:
        sent = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        timeout, content = httpx.Timeout(within_s, connect=CONNECT_S), bytearray()
        post = self._client.stream("POST", self._url, content=sent, timeout=timeout)
        try:
            async with asyncio.timeout(within_s), post as answer:
                _require_readable(answer)
                async for piece in answer.aiter_bytes():
                    content += piece
                    if len(content) > MOST_ANSWER_BYTES:
                        # strangers decide how much a block logs; other answers are short
                        if len(methods) > 1 or methods[0] in MAY_BE_LONG:
                            raise AnswerTooLargeError(methods, MOST_ANSWER_BYTES)
                        raise NodeFailure(FailureKind.GARBLED, "an answer that is too long")
        except (TimeoutError, httpx.TimeoutException) as error:
            raise NodeFailure(FailureKind.TIMEOUT, type(error).__name__) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise NodeFailure(FailureKind.CONNECTION, type(error).__name__) from error
        if answer.status_code != httpx.codes.OK:
            _require_explained(answer.status_code, bytes(content), len(methods))
        return bytes(content)


def names_of(urls: Sequence[str]) -> list[str]:
    """host:port of each; the same one again gets #2, #3 (two keys of one provider)."""
    names = list(map(_host_and_port, urls))
    places = [names[:at].count(name) + 1 for at, name in enumerate(names)]
    return [name if n == 1 else f"{name}#{n}" for name, n in zip(names, places, strict=True)]


def _host_and_port(url: str) -> str:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        return "node"
    return f"{parts.host or 'node'}:{parts.port or (443 if parts.scheme == 'https' else 80)}"


def _decoded(decoder: Any, content: bytes) -> Any:
    try:
        return decoder.decode(content)
    except (ValueError, RecursionError) as error:
        raise NodeFailure(FailureKind.GARBLED, "not a JSON-RPC answer") from error


def _response(answer: _Envelope) -> RPCResponse:
    response = {"result": answer.result} if answer.error is None else {"error": answer.error}
    return cast("RPCResponse", {"id": answer.id, **response})


def _envelopes(content: bytes) -> tuple[bool, list[_Envelope]]:
    """With whether it is one alone, in place of a batch's. Errors: NodeFailure."""
    is_one = content.lstrip()[:1] == b"{"
    return is_one, [_decoded(_ENVELOPE, content)] if is_one else _decoded(_ENVELOPES, content)


def _require_readable(answer: httpx.Response) -> None:
    """Errors: NodeFailure."""
    after = answer.headers.get("retry-after", "").strip()
    if answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
        retry_after_s = float(after) if after.isdecimal() else 0.0
        raise NodeFailure(FailureKind.RATE_LIMIT, "HTTP 429", retry_after_s=retry_after_s)
    if answer.status_code not in (httpx.codes.OK, *EXPLAINED):
        raise NodeFailure(FailureKind.STATUS, f"HTTP {answer.status_code}")
    if answer.headers.get("content-encoding", "identity").strip().lower() not in ENCODINGS:
        raise NodeFailure(FailureKind.GARBLED, "an encoding that was not asked for")


def _require_explained(status: int, content: bytes, calls: int) -> None:
    """A refusal of the request that says in JSON-RPC what is wrong with it is read like any other.

    Errors: NodeFailure.
    """
    try:
        errors = [one.error for one in _envelopes(content)[1] if one.error is not None]
    except NodeFailure:
        errors = []
    if status == httpx.codes.REQUEST_ENTITY_TOO_LARGE and calls > 1:
        if not any(map(is_too_much, errors)):
            raise NodeFailure(FailureKind.SIZE, f"takes no {calls} calls at once")
    elif not errors:
        raise NodeFailure(FailureKind.STATUS, f"HTTP {status}")

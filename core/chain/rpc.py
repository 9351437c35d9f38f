"""JSON-RPC over HTTP to one or several nodes, in order of preference.

Laws
- Every wait is bounded. A node that failed in transport (no connection, time-out, 429, 5xx, broken JSON) rests for
  `REST_S`, and the next one is asked; only when all failed is the error raised.
- What a node *says* (a revert, an invalid argument) is an answer, not a failure: it is raised at once, from that node.
- Errors are typed and are OutsideErrors; none carries a URL, since URLs hold provider keys.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx
import msgspec

from core.chain.abi import hex_bytes
from core.domain.errors import OutsideError

Request = tuple[str, Sequence[Any]]

CONNECT_S = 2.0
ANSWER_S = 10.0
REST_S = 5.0
REVERT_CODE = 3
# The node's own trouble, not the caller's: limits, internal errors, resources not at hand.
NODE_TROUBLE_CODES = frozenset({-32603, -32005, -32002, -32001})


class RpcError(OutsideError):
    """A node could not be reached or refused."""


class RpcUnreachableError(RpcError):
    """No node gave an answer."""

    def __init__(self, method: str, failures: Sequence[str]) -> None:
        super().__init__(f"{method}: no node answered ({'; '.join(failures)})")
        self.method = method


class RpcRefusedError(RpcError):
    """A node answered with an error object."""

    def __init__(self, method: str, code: int, message: str) -> None:
        super().__init__(f"{method}: {message} (code {code})")
        self.method = method
        self.code = code
        self.node_message = message


class RpcRevertedError(RpcRefusedError):
    """eth_call or eth_estimateGas ran and the contract reverted. `revert_data` may be empty."""

    def __init__(self, method: str, code: int, message: str, revert_data: bytes) -> None:
        super().__init__(method, code, message)
        self.revert_data = revert_data


class _NodeFailure(Exception):
    """This node failed; another may not. `answer` is what it said, if it said anything."""

    def __init__(self, reason: str, answer: dict[str, Any] | None = None) -> None:
        super().__init__(reason)
        self.answer = answer


class Rpc:
    """The nodes of one chain. Safe to share between threads."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        answer_s: float = ANSWER_S,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`urls` best first; `transport` and `clock` are for tests."""
        if not urls:
            raise ValueError("at least one node is needed; set RPC_URLS")
        timeout = httpx.Timeout(answer_s, connect=CONNECT_S)
        self._http = httpx.Client(timeout=timeout, transport=transport, trust_env=False)
        self._urls = tuple(urls)
        self._rests_until = dict.fromkeys(self._urls, 0.0)
        self._clock = clock
        self._ids = itertools.count(1)

    def call(self, method: str, params: Sequence[Any] = ()) -> Any:
        """The result of one call. Errors: RpcUnreachableError, RpcRefusedError, RpcRevertedError."""
        return _result(method, self._ask(method, self._body(method, params), _object))

    def batch(self, requests: Sequence[Request]) -> list[Any]:
        """The results of several calls in one HTTP request, in order. The first refused one raises for all."""
        return [_result(method, answer) for (method, _), answer in zip(requests, self._batch(requests), strict=True)]

    def batch_settled(self, requests: Sequence[Request]) -> list[Any | RpcRefusedError]:
        """As `batch`, but a refused call yields its error in place. Errors: RpcUnreachableError."""
        return [_settled(method, answer) for (method, _), answer in zip(requests, self._batch(requests), strict=True)]

    def close(self) -> None:
        self._http.close()

    def _body(self, method: str, params: Sequence[Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": list(params)}

    def _batch(self, requests: Sequence[Request]) -> list[dict[str, Any]]:
        if not requests:
            return []
        bodies = [self._body(method, params) for method, params in requests]
        wanted = [body["id"] for body in bodies]
        answers = self._ask(requests[0][0], bodies, lambda answer: _by_id(answer, wanted))
        return [answers[identifier] for identifier in wanted]

    def _order(self) -> list[str]:
        now = self._clock()
        return sorted(self._urls, key=lambda url: self._rests_until[url] > now)

    def _ask(self, method: str, body: Any, read: Callable[[Any], Any]) -> Any:
        failures: list[_NodeFailure] = []
        for url in self._order():
            try:
                return read(self._post(url, body))
            except _NodeFailure as trouble:
                self._rests_until[url] = self._clock() + REST_S
                failures.append(trouble)
        for failure in failures:
            if failure.answer is not None:
                raise _refused(method, failure.answer)
        raise RpcUnreachableError(method, [str(failure) for failure in failures])

    def _post(self, url: str, body: Any) -> Any:
        try:
            response = self._http.post(url, json=body)
        except httpx.HTTPError as error:
            raise _NodeFailure(type(error).__name__) from error
        if response.status_code != httpx.codes.OK:
            raise _NodeFailure(f"HTTP {response.status_code}")
        try:
            return msgspec.json.decode(response.content)
        except (ValueError, msgspec.DecodeError) as error:
            raise _NodeFailure("not JSON") from error


def _object(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict) or ("result" not in answer and "error" not in answer):
        raise _NodeFailure("not a JSON-RPC answer")
    code = (answer.get("error") or {}).get("code")
    if code in NODE_TROUBLE_CODES and _revert_data(answer["error"]) is None:
        raise _NodeFailure(f"{answer['error'].get('message', 'node trouble')} (code {code})", answer["error"])
    return answer


def _by_id(answer: Any, wanted: Sequence[int]) -> dict[int, dict[str, Any]]:
    if not isinstance(answer, list):
        raise _NodeFailure("not a JSON-RPC batch answer")
    found = {item["id"]: _object(item) for item in answer if isinstance(item, dict) and isinstance(item.get("id"), int)}
    if not found.keys() >= set(wanted):
        raise _NodeFailure("a batch answer with calls left out")
    return found


def _revert_data(error: dict[str, Any]) -> bytes | None:
    """None when the error is no revert. Nodes put the data in different places; a revert may have none."""
    data = error.get("data")
    if isinstance(data, dict):
        data = data.get("data") or data.get("result")
    if error.get("code") != REVERT_CODE and "revert" not in str(error.get("message", "")).lower():
        return None
    try:
        return hex_bytes(data) if isinstance(data, str) and data.startswith("0x") else b""
    except ValueError:
        return b""


def _refused(method: str, error: dict[str, Any]) -> RpcRefusedError:
    code, message = int(error.get("code", 0)), str(error.get("message", "no message"))
    data = _revert_data(error)
    return RpcRefusedError(method, code, message) if data is None else RpcRevertedError(method, code, message, data)


def _settled(method: str, answer: dict[str, Any]) -> Any | RpcRefusedError:
    error = answer.get("error")
    return answer.get("result") if error is None else _refused(method, error)


def _result(method: str, answer: dict[str, Any]) -> Any:
    settled = _settled(method, answer)
    if isinstance(settled, RpcRefusedError):
        raise settled
    return settled

"""What a node says, told apart: an answer, a refusal, or the node's own failure. Pure: no socket, no clock.

Laws
- What a node *says* of the call (a revert, an invalid argument, a range that is too large) is an answer.
- What it says of *itself* (limits, internal errors, resources not at hand) is a failure: another node may do better.
- So is an answer that is well-formed JSON and not what its method promises (results.py).
- Errors are typed and are OutsideErrors; none carries a URL, since URLs hold provider keys.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import msgspec

from core.chain.abi import hex_bytes
from core.chain.results import Parse
from core.domain.errors import OutsideError

REVERT_CODE = 3
MOST_MESSAGE = 500  # characters of what a node says that are kept
RATE_LIMIT_CODES = frozenset({429, -32005})
# The node's own trouble, not the caller's: limits, internal errors, resources not at hand.
NODE_TROUBLE_CODES = RATE_LIMIT_CODES | {-32603, -32002, -32001}
# Providers word "slower, please" in many ways and under many codes, and use -32005 for "too many results" as well.
_TOO_FAST = re.compile(r"rate.?limit|too many requests|requests? (limit|per second)|compute units per second|throughput", re.IGNORECASE)
_TOO_MUCH = re.compile(r"results|block range|response size", re.IGNORECASE)
# How nodes word the end of a contract's code that is no revert: geth and Erigon, anvil and reth ("EVM error"), Nethermind ("VM execution").
_CODE_FAILED = re.compile(
    r"out of gas|invalid opcode|opcode .*not defined|invalid jump|stack (underflow|overflow|limit)|write protection"
    r"|return data out of bounds|gas uint64 overflow|max call depth|EVM error|VM execution error",
    re.IGNORECASE,
)
# geth ("batch too large"), reth, Nethermind ("Batch size limit exceeded") and providers ("maximum 100 calls in 1 batch").
_BATCH_TOO_LARGE = re.compile(
    r"batch.{0,40}(too (large|big|many|long)|limit|exceed|maximum)|(too many|too large|maximum|exceed|limit).{0,40}batch", re.IGNORECASE
)


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


class RpcCodeFailedError(RpcRefusedError):
    """eth_call or eth_estimateGas ran and the contract's code failed otherwise than by a revert: out of gas, an invalid opcode."""


class FailureKind(StrEnum):
    """How a node failed; the words of the metrics."""

    TIMEOUT = "timeout"
    CONNECTION = "connection"
    STATUS = "status"
    GARBLED = "garbled"
    TROUBLE = "trouble"
    RATE_LIMIT = "rate_limit"


class NodeFailure(Exception):
    """This node failed; another may not. `answer`: the error object, if it sent one. `retry_after_s`: its Retry-After.

    `partly`: the results of a batch of which only some calls failed, these as refusals in their places.
    """

    def __init__(
        self,
        kind: FailureKind,
        reason: str,
        *,
        answer: dict[str, Any] | None = None,
        retry_after_s: float | None = None,
        partly: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.answer = answer
        self.retry_after_s = retry_after_s
        self.partly = partly


class BatchTooLargeError(Exception):
    """The node takes fewer calls a batch. Neither an answer nor a failure: the same calls are asked again in smaller ones."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One call: its id in the request, its method, and how its result is read."""

    id: int
    method: str
    parse: Parse[Any]


class _Envelope(msgspec.Struct, gc=False):
    """One JSON-RPC answer; an empty `result` or `error` was not sent."""

    id: int | str | None = None
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


_ENVELOPE = msgspec.json.Decoder(_Envelope)
_ENVELOPES = msgspec.json.Decoder(list[_Envelope])


def result_of(content: bytes, asked: Asked) -> Any | RpcRefusedError:
    """The answer of one call, result or refusal. Errors: NodeFailure."""
    return _settled(_decoded(_ENVELOPE, content, "not a JSON-RPC answer"), asked)


def results_of(content: bytes, asked: Sequence[Asked]) -> list[Any | RpcRefusedError]:
    """The answers of a batch in the order asked. Errors: NodeFailure, also when one is left out or given twice; BatchTooLargeError."""
    is_one = content.lstrip()[:1] == b"{"
    fault = "not a JSON-RPC batch answer"
    envelopes = [_decoded(_ENVELOPE, content, fault)] if is_one else _decoded(_ENVELOPES, content, fault)
    if len(asked) > 1 and _says_too_large(envelopes):
        raise BatchTooLargeError
    if is_one:
        raise _whole_refused(_settled(envelopes[0], asked[0]))
    counts = Counter(envelope.id for envelope in envelopes)
    if any(counts[one.id] != 1 for one in asked):
        raise NodeFailure(FailureKind.GARBLED, "a batch answer with calls left out or doubled")
    by_id = {envelope.id: envelope for envelope in envelopes}
    found, failures = list[Any](), list[NodeFailure]()
    for one in asked:
        try:
            found.append(_settled(by_id[one.id], one))
        except NodeFailure as failure:
            failures.append(failure)
            found.append(_in_place(one.method, failure))
    if failures:
        raise _of_batch(failures, found)
    return found


def _says_too_large(envelopes: Sequence[_Envelope]) -> bool:
    """One error, alone or in a list, in place of a batch's answers."""
    error = _decoded(msgspec.json, envelopes[0].error, "not a JSON-RPC error") if len(envelopes) == 1 and envelopes[0].error else None
    return isinstance(error, dict) and _BATCH_TOO_LARGE.search(_message(error)) is not None


def _whole_refused(found: Any) -> NodeFailure:
    """A whole batch is refused with one object, for its rate above all: the limits are the node's own."""
    if not isinstance(found, RpcRefusedError):
        return NodeFailure(FailureKind.GARBLED, "not a JSON-RPC batch answer")
    error = {"code": found.code, "message": found.node_message}
    return NodeFailure(FailureKind.TROUBLE, str(found), answer=error)


def _of_batch(failures: Sequence[NodeFailure], found: Sequence[Any]) -> NodeFailure:
    """A rate limit is of the whole batch, and so is what every call of it met; anything else leaves the other answers as they are."""
    limited = next((failure for failure in failures if failure.kind is FailureKind.RATE_LIMIT), None)
    worst, is_part = limited or failures[0], limited is None and len(failures) < len(found)
    return NodeFailure(worst.kind, str(worst), answer=worst.answer, partly=found if is_part else None)


def _in_place(method: str, failure: NodeFailure) -> RpcRefusedError:
    return refused(method, failure.answer) if failure.answer is not None else RpcRefusedError(method, 0, str(failure))


def _decoded(decoder: Any, content: Any, fault: str) -> Any:
    try:
        return decoder.decode(content)
    except (ValueError, RecursionError) as error:
        raise NodeFailure(FailureKind.GARBLED, fault) from error


def _settled(envelope: _Envelope, asked: Asked) -> Any | RpcRefusedError:
    """Errors: NodeFailure."""
    error = _decoded(msgspec.json, envelope.error, "not a JSON-RPC error") if envelope.error else None
    if error is not None:
        if not isinstance(error, dict):
            raise NodeFailure(FailureKind.GARBLED, "not a JSON-RPC error")
        kind = _failure_of(error)
        if kind is not None:
            raise NodeFailure(kind, f"{_message(error, 'node trouble')} (code {_code(error)})", answer=error)
        return refused(asked.method, error)
    if not envelope.result:
        raise NodeFailure(FailureKind.GARBLED, "not a JSON-RPC answer")
    try:
        return asked.parse(envelope.result)
    except (ValueError, RecursionError) as fault:
        raise NodeFailure(FailureKind.GARBLED, f"{asked.method}: not what it promises: {str(fault)[:MOST_MESSAGE]}") from fault


def refused(method: str, error: dict[str, Any]) -> RpcRefusedError:
    code, message = _code(error), _message(error, "no message")
    data = _revert_data(error)
    if data is not None:
        return RpcRevertedError(method, code, message, data)
    kind = RpcCodeFailedError if _CODE_FAILED.search(message) else RpcRefusedError
    return kind(method, code, message)


def _code(error: dict[str, Any]) -> int:
    code = error.get("code")
    return code if type(code) is int else 0  # bool is one too


def _message(error: dict[str, Any], otherwise: str = "") -> str:
    return str(error.get("message", otherwise))[:MOST_MESSAGE]


def _failure_of(error: dict[str, Any]) -> FailureKind | None:
    """None: it speaks of the call, not of itself."""
    code, message = _code(error), _message(error)
    if _revert_data(error) is not None:
        return None
    if _TOO_FAST.search(message):
        return FailureKind.RATE_LIMIT
    if code in RATE_LIMIT_CODES:
        return None if _TOO_MUCH.search(message) else FailureKind.RATE_LIMIT
    return FailureKind.TROUBLE if code in NODE_TROUBLE_CODES else None


def _revert_data(error: dict[str, Any]) -> bytes | None:
    """None when the error is no revert. Nodes put the data in different places; a revert may have none."""
    data = error.get("data")
    if isinstance(data, dict):
        data = data.get("data") or data.get("result")
    if _code(error) != REVERT_CODE and "revert" not in _message(error).lower():
        return None
    try:
        return hex_bytes(data) if isinstance(data, str) and data.startswith("0x") else b""
    except ValueError:
        return b""

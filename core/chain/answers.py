"""What a node says, told apart: an answer, a refusal, or the node's own failure.

Pure: no socket, no clock.

Laws
- What a node *says* of the call (a revert, bytes that it has, a range that is too large) is an
  answer; any other refusal is its failure, and another node may do better (refusals.py).
- So is an answer that is well-formed JSON and not what its method promises (results.py), and a
  batch of which every call is refused though none ran.
- Errors are typed and are OutsideErrors; none carries a URL, since URLs hold provider keys.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from core.chain.refusals import (
    FailureKind,
    cleaned,
    code_of,
    failure_of,
    is_code_failed,
    is_too_large,
    message_of,
    revert_data,
)
from core.chain.results import Parse
from core.errors import OutsideError


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
    """eth_call or eth_estimateGas ran and the contract's code failed otherwise than by a revert:
    out of gas, an invalid opcode.
    """


class AnswerTooLargeError(RpcError):
    """The answer is longer than is read, and what is asked for may be so long: ask for less.

    It says nothing against the node.
    """

    def __init__(self, methods: Sequence[str], most_bytes: int) -> None:
        super().__init__(
            f"{', '.join(sorted(set(methods)))}: an answer of more than {most_bytes} bytes"
        )


class NodeFailure(Exception):
    """This node failed; another may not.

    `answer`: the error object, if it sent one. `retry_after_s`: its Retry-After.

    `method`: of the call that was refused. `partly`: the results of a batch of which only some
    calls failed, these as refusals in their places.
    """

    def __init__(
        self,
        kind: FailureKind,
        reason: str,
        *,
        answer: dict[str, Any] | None = None,
        method: str = "",
        retry_after_s: float | None = None,
        partly: Sequence[Any] | None = None,
    ) -> None:
        super().__init__(reason)
        self.kind = kind
        self.answer = answer
        self.method = method
        self.retry_after_s = retry_after_s
        self.partly = partly


class BatchTooLargeError(Exception):
    """The node takes fewer calls a batch.

    Neither an answer nor a failure: the same calls are asked again in smaller ones.
    """


@dataclass(frozen=True, slots=True)
class Asked:
    """One call: its id in the request, its method and parameters, and how its result is read."""

    id: int
    method: str
    params: Sequence[Any]
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
    """The answers of a batch in the order asked.

    Errors: NodeFailure, also when one is left out or given twice; BatchTooLargeError.
    """
    is_one = content.lstrip()[:1] == b"{"
    fault = "not a JSON-RPC batch answer"
    envelopes = (
        [_decoded(_ENVELOPE, content, fault)] if is_one else _decoded(_ENVELOPES, content, fault)
    )
    if len(asked) > 1 and _says_too_large(envelopes):
        raise BatchTooLargeError
    if is_one:
        raise _whole_refused(envelopes[0], asked[0])
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
    error = (
        _decoded(msgspec.json, envelopes[0].error, "not a JSON-RPC error")
        if len(envelopes) == 1 and envelopes[0].error
        else None
    )
    return isinstance(error, dict) and is_too_large(error)


def _whole_refused(envelope: _Envelope, first: Asked) -> NodeFailure:
    """A whole batch is refused with one object, for its rate above all: the limits are the node's
    own.
    """
    try:
        found = _settled(envelope, first)
    except NodeFailure as failure:
        return failure
    if not isinstance(found, RpcRefusedError):
        return NodeFailure(FailureKind.GARBLED, "not a JSON-RPC batch answer")
    return NodeFailure(
        FailureKind.TROUBLE,
        str(found),
        answer={"code": found.code, "message": found.node_message},
        method=first.method,
    )


def _of_batch(failures: Sequence[NodeFailure], found: Sequence[Any]) -> NodeFailure:
    """A rate limit is of the whole batch, and so is what every call of it met; anything else leaves
    the other answers as they are.
    """
    limited = next(
        (failure for failure in failures if failure.kind is FailureKind.RATE_LIMIT), None
    )
    worst, is_part = (
        limited or failures[0],
        limited is None and not all(map(_is_mere_refusal, found)),
    )
    return NodeFailure(
        worst.kind,
        str(worst),
        answer=worst.answer,
        method=worst.method,
        partly=found if is_part else None,
    )


def _is_mere_refusal(found: Any) -> bool:
    """Whether nothing was looked up or run."""
    return isinstance(found, RpcRefusedError) and not isinstance(
        found, RpcRevertedError | RpcCodeFailedError
    )


def _in_place(method: str, failure: NodeFailure) -> RpcRefusedError:
    return (
        refused(method, failure.answer)
        if failure.answer is not None
        else RpcRefusedError(method, 0, str(failure))
    )


def _decoded(decoder: Any, content: Any, fault: str) -> Any:
    try:
        return decoder.decode(content)
    except (ValueError, RecursionError) as error:
        raise NodeFailure(FailureKind.GARBLED, fault) from error


def _settled(envelope: _Envelope, asked: Asked) -> Any | RpcRefusedError:
    """Errors: NodeFailure."""
    error = (
        _decoded(msgspec.json, envelope.error, "not a JSON-RPC error") if envelope.error else None
    )
    if error is not None:
        if not isinstance(error, dict):
            raise NodeFailure(FailureKind.GARBLED, "not a JSON-RPC error")
        kind = failure_of(asked.method, asked.params, error)
        if kind is not None:
            told = f"{message_of(error, 'node trouble')} (code {code_of(error)})"
            raise NodeFailure(kind, told, answer=error, method=asked.method)
        return refused(asked.method, error)
    if not envelope.result:
        raise NodeFailure(FailureKind.GARBLED, "not a JSON-RPC answer")
    try:
        return asked.parse(envelope.result)
    except (ValueError, RecursionError) as fault:
        raise NodeFailure(
            FailureKind.GARBLED, f"{asked.method}: not what it promises: {cleaned(str(fault))}"
        ) from fault


def refused(method: str, error: dict[str, Any]) -> RpcRefusedError:
    code, message = code_of(error), message_of(error, "no message")
    data = revert_data(method, error)
    if data is not None:
        return RpcRevertedError(method, code, message, data)
    kind = RpcCodeFailedError if is_code_failed(method, message) else RpcRefusedError
    return kind(method, code, message)

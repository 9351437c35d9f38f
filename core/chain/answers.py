"""What a node says, told apart: an answer, a refusal, or the node's own failure. Pure: no socket, no clock.

Laws
- What a node *says* of the call (a revert, an invalid argument, a range that is too large) is an answer.
- What it says of *itself* (limits, internal errors, resources not at hand) is a failure: another node may do better.
- Errors are typed and are OutsideErrors; none carries a URL, since URLs hold provider keys.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from core.chain.abi import hex_bytes
from core.domain.errors import OutsideError

REVERT_CODE = 3
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
    """This node failed; another may not. `answer`: the error object, if it sent one. `retry_after_s`: its Retry-After."""

    def __init__(self, kind: FailureKind, reason: str, *, answer: dict[str, Any] | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(reason)
        self.kind = kind
        self.answer = answer
        self.retry_after_s = retry_after_s


class BatchTooLargeError(Exception):
    """The node takes fewer calls a batch. Neither an answer nor a failure: the same calls are asked again in smaller ones."""


def object_of(answer: Any) -> dict[str, Any]:
    """The answer of one call, result or refusal. Errors: NodeFailure."""
    if not isinstance(answer, dict) or ("result" not in answer and "error" not in answer):
        raise NodeFailure(FailureKind.GARBLED, "not a JSON-RPC answer")
    error = answer.get("error")
    if error is not None:
        if not isinstance(error, dict):
            raise NodeFailure(FailureKind.GARBLED, "not a JSON-RPC error")
        kind = _failure_of(error)
        if kind is not None:
            raise NodeFailure(kind, f"{error.get('message', 'node trouble')} (code {error.get('code')})", answer=error)
    return answer


def objects_of(answer: Any, wanted: Sequence[int]) -> dict[int, dict[str, Any]]:
    """The answers of a batch by id. Errors: NodeFailure, also when one of `wanted` is left out; BatchTooLargeError."""
    if len(wanted) > 1 and any(_BATCH_TOO_LARGE.search(message) for message in _messages(answer)):
        raise BatchTooLargeError
    if isinstance(answer, dict) and "error" in answer:
        object_of(answer)  # a whole batch is refused with one object, a rate limit above all
    if not isinstance(answer, list):
        raise NodeFailure(FailureKind.GARBLED, "not a JSON-RPC batch answer")
    found = {item["id"]: object_of(item) for item in answer if isinstance(item, dict) and isinstance(item.get("id"), int)}
    if not found.keys() >= set(wanted):
        raise NodeFailure(FailureKind.GARBLED, "a batch answer with calls left out")
    return found


def _messages(answer: Any) -> list[str]:
    """What stands in place of a batch's answers when it is refused: one error object, alone or in a list."""
    only = answer[0] if isinstance(answer, list) and len(answer) == 1 else answer
    error = only.get("error") if isinstance(only, dict) else None
    return [str(error.get("message", ""))] if isinstance(error, dict) else []


def settled(method: str, answer: dict[str, Any]) -> Any | RpcRefusedError:
    error = answer.get("error")
    return answer.get("result") if error is None else refused(method, error)


def refused(method: str, error: dict[str, Any]) -> RpcRefusedError:
    code, message = _code(error), str(error.get("message", "no message"))
    data = _revert_data(error)
    if data is not None:
        return RpcRevertedError(method, code, message, data)
    kind = RpcCodeFailedError if _CODE_FAILED.search(message) else RpcRefusedError
    return kind(method, code, message)


def _code(error: dict[str, Any]) -> int:
    code = error.get("code")
    return code if isinstance(code, int) else 0


def _failure_of(error: dict[str, Any]) -> FailureKind | None:
    """None: it speaks of the call, not of itself."""
    code, message = _code(error), str(error.get("message", ""))
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
    if error.get("code") != REVERT_CODE and "revert" not in str(error.get("message", "")).lower():
        return None
    try:
        return hex_bytes(data) if isinstance(data, str) and data.startswith("0x") else b""
    except ValueError:
        return b""

"""What a node's answer to a call comes to: a result as its method promises it, what the node says
of the call, or the node's own failure.

Pure: no socket, no clock.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from web3.types import RPCResponse

from core.chain.errors import (
    NodeFailure,
    RpcCodeFailedError,
    RpcError,
    RpcRefusedError,
    RpcRevertedError,
    RpcUnreachableError,
    refused,
)
from core.chain.refusals import FailureKind, ability_of, cleaned, code_of, failure_of, message_of
from core.chain.results import Parse, plain

Request = tuple[str, Sequence[Any]]


class NodeCall(NamedTuple):
    method: str
    params: Sequence[Any]
    parse: Parse[Any]  # how its result is read

    @property
    def ability(self) -> str:
        return ability_of(self.method, self.params)


def calls_of(requests: Sequence[Request], parse: Sequence[Parse[Any]] | None) -> list[NodeCall]:
    parsers = parse or [plain] * len(requests)
    return [NodeCall(*request, one) for request, one in zip(requests, parsers, strict=True)]


def answers_of(calls: Sequence[NodeCall], reply: Sequence[RPCResponse] | RPCResponse) -> list[Any]:
    """The result of each call, its refusal or its NodeFailure in its place.

    Errors: NodeFailure when the node failed all of them.
    """
    if not isinstance(reply, Sequence):  # one object for the whole batch, for its rate above all
        found = _answer_of(calls[0], reply)
        if isinstance(found, NodeFailure):
            raise found
        raise NodeFailure(FailureKind.TROUBLE, str(found), reply.get("error"))
    answers = [_answer_of(call, one) for call, one in zip(calls, reply, strict=True)]
    if len(answers) == 1 and isinstance(alone := answers[0], NodeFailure):
        # no smaller part of it can be asked for
        alone.kind = FailureKind.REFUSED if alone.kind is FailureKind.SIZE else alone.kind
    failure = failure_among(answers)
    if failure is not None and all(isinstance(one, NodeFailure) for one in answers):
        raise failure
    return answers


def failure_among(answers: Sequence[Any]) -> NodeFailure | None:
    """A limit of rate before any other."""
    failures = [one for one in answers if isinstance(one, NodeFailure)]
    return min(failures, key=lambda one: one.kind is not FailureKind.RATE_LIMIT, default=None)


def settled(calls: Sequence[NodeCall], answers: Sequence[Any]) -> list[Any]:
    """Each NodeFailure as the refusal of its call; nothing when nothing was looked up or run."""
    found = [
        one
        if not isinstance(one, NodeFailure)
        else RpcRefusedError(call.method, 0, str(one))
        if one.error is None
        else refused(call.method, one.error)
        for call, one in zip(calls, answers, strict=True)
    ]
    ran = (RpcRevertedError, RpcCodeFailedError)
    is_mere = [isinstance(one, RpcRefusedError) and not isinstance(one, ran) for one in found]
    return [] if all(is_mere) else found


def outcome(method: str, failures: Sequence[NodeFailure]) -> RpcError:
    """What a call ends with that no node answered: a refusal when one of them said something, with
    what each of them said.
    """
    words = list(dict.fromkeys(map(str, failures)))
    error = next((one.error for one in failures if one.error is not None), None)
    if error is None:
        return RpcUnreachableError(method, words)
    return refused(method, error if len(words) == 1 else {**error, "message": "; ".join(words)})


def _answer_of(call: NodeCall, reply: RPCResponse) -> Any:
    if (error := reply.get("error")) is not None:
        kind = failure_of(call.method, call.params, error)
        if kind is None:
            return refused(call.method, error)
        reason = f"{message_of(error, 'node trouble')} (code {code_of(error)})"
        return NodeFailure(kind, reason, error, ability=call.ability)
    try:
        return call.parse(reply["result"])
    except (ValueError, RecursionError) as fault:
        reason = f"{call.method}: not what it promises: {cleaned(str(fault))}"
        return NodeFailure(FailureKind.GARBLED, reason)

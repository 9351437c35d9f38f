"""JSON-RPC of one chain: the nodes of RPC_URLS, best first, and all that is known of each.

    call --> the first node that does not rest, can do it, and has calls left this second
       |-- it fails: it rests, the next one is asked
       |-- it is asked too fast: what it answered is kept, its plan is halved, the rest is asked again
       '-- it answers: each result as its method promises it, or what it says of the call

Laws
- What a node *says* of the call (a revert, an invalid argument) is an answer, raised at once. Any
  other refusal is the node's failure (refusals.py); when all refuse, the error has what each said.
- A node that rests is asked after the others; alone it is asked all the same. Rests grow with
  failures in a row, with jitter; an answer ends them.
- No batch is larger than a second's worth of the node's plan, each call of it counted (node.py).
- All answers of a batch are one node's, and so are those within `pinned`.
- A call waits for at most half of its deadline, which begins again with each part of a batch that
  is answered; no node may use up the time of those that were not asked yet.
- A lower head than one that a node named before says nothing of it: a load-balanced URL answers from
  backends a few blocks apart. What cannot be taken back is asked of `batch_of_others` too.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, Final

import httpx
import structlog
from web3.types import RPCEndpoint

from core.chain import results
from core.chain.answers import (
    NodeCall,
    Request,
    answers_of,
    calls_of,
    failure_among,
    outcome,
    settled,
)
from core.chain.blocks import BlockHeader
from core.chain.errors import NodeFailure, RpcError, RpcRefusedError, WrongChainError
from core.chain.node import ChainNode
from core.chain.provider import ANSWER_S, NodeProvider, client_of, finished, names_of
from core.chain.refusals import FailureKind
from core.chain.results import Parse

__all__ = ["Nodes", "Request"]

DEADLINE_S: Final = 30.0
CALLS_PER_S: Final = 2_000.0
REST_S: Final = 5.0  # of a node that failed while pinned, or is distrusted
WITHIN_S: Final = 5.0
MOST_THREADS: Final = 32  # that ask several nodes at once
BEHIND_S: Final = (
    60  # by its newest block's time: a node that syncs, whose height rises all the same
)
ASKED_AGAIN: Final = (FailureKind.RATE_LIMIT, FailureKind.SIZE)

log = structlog.get_logger("chain")


class Nodes:
    """Safe to share between threads.

    Errors of its calls: RpcUnreachableError, RpcRefusedError (RpcRevertedError), AnswerTooLargeError.
    """

    def __init__(
        self,
        urls: Sequence[str],
        *,
        answer_s: float = ANSWER_S,
        deadline_s: float = DEADLINE_S,
        calls_per_s: float = CALLS_PER_S,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`urls` best first; `calls_per_s`: the most that each is asked. The last three are for tests."""
        if not urls:
            raise ValueError("at least one node is needed; set RPC_URLS")
        self._client = client_of(transport)
        self._nodes = tuple(
            ChainNode(name, NodeProvider(url, self._client), calls_per_s, clock)
            for name, url in zip(names_of(urls), urls, strict=True)
        )
        self._answer_s, self._deadline_s = answer_s, deadline_s
        self._clock, self._sleep = clock, sleep
        self._thread = threading.local()
        self._threads = ThreadPoolExecutor(MOST_THREADS, "nodes")
        self._late: dict[str, Future[Any]] = {}

    def call(self, method: str, params: Sequence[Any] = (), parse: Parse[Any] | None = None) -> Any:
        """The result of one call; without `parse` any JSON, as Python has it."""
        asked = [NodeCall(method, params, parse or results.plain)]
        return _result(*self._asked(asked, self._deadline_s))

    def batch(
        self, requests: Sequence[Request], parse: Sequence[Parse[Any]] | None = None
    ) -> list[Any]:
        """The results of several calls, of one node, in order; the first refused one raises."""
        found = self._asked(calls_of(requests, parse), self._deadline_s, is_settled=False)
        return [_result(one) for one in found]

    def batch_settled(
        self,
        requests: Sequence[Request],
        parse: Sequence[Parse[Any]] | None = None,
        within_s: float | None = None,
    ) -> list[Any | RpcRefusedError]:
        """As `batch`, but a refused call yields its error in place; so does one that no node
        answered, when one node answered others. `within_s`: of each part that is asked at once.
        """
        patience_s = self._deadline_s if within_s is None else min(within_s, self._deadline_s)
        return self._asked(calls_of(requests, parse), patience_s)

    def batch_of_each(
        self,
        requests: Sequence[Request],
        within_s: float,
        among: Collection[str] | None = None,
        parse: Sequence[Parse[Any]] | None = None,
        others_s: float | None = None,
    ) -> dict[str, list[Any | RpcRefusedError]]:
        """What each node (`among` these) says, by its name, a failed call as its error in place.

        All are asked at once. One that failed a moment ago, or does not say all of it `within_s`, is
        left out. `others_s`: so long is waited for the others once one has answered; who is late is
        left out of calls of several nodes until it is through.
        """
        names = self.names if among is None else among
        asked = [one for one in self._nodes if not one.has_failed and one.name in names]
        calls = calls_of(requests, parse)
        under_way = {
            self._threads.submit(self._said, node, calls, within_s): node.name
            for node in asked
            if len(asked) == 1 or node.name not in self._late or self._late[node.name].done()
        }
        left, until = set(under_way), None
        while left:
            left_s = None if until is None else max(0.0, until - time.monotonic())
            done, left = wait(left, left_s, FIRST_COMPLETED)
            if not done:
                self._late |= {under_way[one]: one for one in left}
                break
            if until is None and any(one.result() is not None for one in done):
                until = time.monotonic() + (within_s if others_s is None else others_s)
        answers = {name: one.result() for one, name in under_way.items() if one not in left}
        return {name: found for name, found in answers.items() if found is not None}

    def _said(
        self, node: ChainNode, calls: Sequence[NodeCall], within_s: float
    ) -> list[Any] | None:
        """None: it fails."""
        try:
            return self._asked(calls, within_s, only=node)
        except RpcError:
            return None

    def batch_of_others(
        self,
        requests: Sequence[Request],
        within_s: float,
        parse: Sequence[Parse[Any]] | None = None,
    ) -> dict[str, list[Any | RpcRefusedError]]:
        """As `batch_of_each`, without the node that this thread's `pinned` block asks."""
        others = [name for name in self.names if name != self.pinned_name]
        return self.batch_of_each(requests, within_s, others, parse)

    def saw(self, name: str, header: BlockHeader) -> None:
        """A node named it as its newest. One that is far behind another gets on with the past."""
        newest_s = min(time.time(), max(node.head_time_s for node in self._nodes))
        self._named(name).saw(header, is_old=header.timestamp < newest_s - BEHIND_S)

    def head_age_s(self, name: str) -> float:
        """Seconds since this node's height last rose to one that is not old, or since the start."""
        return self._named(name).head_age_s

    def _named(self, name: str) -> ChainNode:
        return next(node for node in self._nodes if node.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the nodes, best first."""
        return tuple(node.name for node in self._nodes)

    @property
    def pinned_name(self) -> str | None:
        """The node of this thread's `pinned` block, once it answered."""
        return self._pin[0].name if self._pin else None

    @property
    def _pin(self) -> list[ChainNode] | None:
        """Of this thread's block: its node, once one answered."""
        found: list[ChainNode] | None = getattr(self._thread, "pin", None)
        return found

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Within it this thread's calls are all answered by one node, the first that answers; an
        inner block joins the outer. When that node fails, the call does, and the next block begins
        with another.
        """
        outer = self._pin
        self._thread.pin = [] if outer is None else outer
        try:
            yield
        finally:
            self._thread.pin = outer

    def distrust(self, reason: str, rest_s: float = REST_S, name: str | None = None) -> None:
        """The pinned node, or the one of this name, lags or contradicts itself: it rests for
        `rest_s`, and the block goes on with it. `reason`: one of few words, counted in `stats`.
        """
        for node in self._nodes:
            if node.name == (name or self.pinned_name):
                node.rest(rest_s, reason)

    def keep_to(self, chain_id: int) -> None:
        """Leave out each node that serves another chain; one that does not answer stays.

        Call it before other threads use the nodes. Errors: WrongChainError, RpcError.
        """
        answers = self.batch_of_each([("eth_chainId", [])], WITHIN_S, parse=[results.number])
        ids = {name: one for name, (one,) in answers.items() if isinstance(one, int)}
        got = None if chain_id in ids.values() else self.call("eth_chainId", parse=results.number)
        if got not in (None, chain_id):
            raise WrongChainError(chain_id, got)
        for node in self._nodes:
            if (other := ids.get(node.name, chain_id)) != chain_id:
                log.error("a node of another chain is left out", node=node.name, chain_id=other)
                self._nodes = tuple(one for one in self._nodes if one is not node)

    def stats(self) -> tuple[ChainNode, ...]:
        """What is known of each node, best first."""
        return self._nodes

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        finished(self._client.aclose())

    def _asked(
        self,
        calls: Sequence[NodeCall],
        patience_s: float,
        *,
        only: ChainNode | None = None,
        is_settled: bool = True,
    ) -> list[Any]:
        """The answers, all of one node, refusals in their places. Of `only` this node: within
        `patience_s` all together.
        """
        pin = None if only else self._pin
        found_by = {node: dict[int, Any]() for node in ([only] if only else pin or self._nodes)}
        failures, partly = list[NodeFailure](), list[Any]()
        until = self._clock() + patience_s
        while calls and found_by and (now := self._clock()) < until:
            left = {
                node: [at for at in range(len(calls)) if at not in found]
                for node, found in found_by.items()
            }
            node = min(
                found_by,
                key=lambda one: one.order(len(left[one]), {calls[at].ability for at in left[one]}),
            )
            try:
                waits_s = max(0.0, until - patience_s / 2 - now)
                part, wait_s = node.take(len(left[node]), waits_s)
                if wait_s:
                    self._sleep(wait_s)
                places, left_s = left[node][:part], (until - self._clock()) / len(found_by)
                answers = self._exchange(node, [calls[at] for at in places], left_s)
                found_by[node] |= {
                    at: one for at, one in zip(places, answers, strict=True) if not _is_open(one)
                }
                until = until if only else self._clock() + patience_s
                if len(found_by[node]) < len(calls):
                    continue
                answers = [found_by[node][at] for at in range(len(calls))]
                if (failure := failure_among(answers)) is None:
                    if pin is not None:
                        pin[:] = [node]
                    return answers
                partly = partly or settled(calls, answers)
            except NodeFailure as failed:
                failure = failed
            failures.append(failure)
            if not _is_open(failure):
                del found_by[node]
                if pin is not None:
                    node.rest(REST_S)
        if calls and not (partly and is_settled):
            raise outcome(calls[0].method, failures)
        return partly

    def _exchange(self, node: ChainNode, calls: Sequence[NodeCall], left_s: float) -> list[Any]:
        """Errors: NodeFailure when the node failed all of it, AnswerTooLargeError."""
        asked = [(RPCEndpoint(call.method), call.params) for call in calls]
        sent_at, answers, failure = self._clock(), list[Any](), None
        within_s = min(self._answer_s, left_s)
        try:
            answers = answers_of(calls, node.provider.make_batch_request(asked, within_s))
            failure = failure_among(answers)
        except NodeFailure as whole:
            failure = whole
            raise
        finally:
            node.note(calls, answers, failure, sent_at)
        return answers


def _is_open(answer: Any) -> bool:
    """A call that is asked again, of the same node."""
    return isinstance(answer, NodeFailure) and answer.kind in ASKED_AGAIN


def _result(found: Any) -> Any:
    if isinstance(found, RpcRefusedError):
        raise found
    return found

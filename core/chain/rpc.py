"""JSON-RPC over HTTP to one or several nodes, in order of preference.

    call --> the best node that is not open (breaker.py) and has a token (budget.py)
       |-- it fails: the next one, each at most once a call
       |-- only the budget is in the way: wait for it
       '-- all are open: the one that is free first is asked nevertheless, and is the last

Laws
- A call ends within `deadline_s` (and what a node's last piece takes): the first half may be waited
  away for budget, the second is for asking, and no node may use up the time of those that were not
  asked yet. Nothing waits without a sleep.
- What a node *says* of the call (a revert, an invalid argument) is an answer, not a failure: it is
  raised at once, from that node. Any other refusal is the node's failure (refusals.py); when all
  refuse, the error has what each of them said.
- A result is read as its method promises it while the node is still being asked, so that one that
  garbles it has failed and the next is asked within the same call. Without `parse` a result is
  plain JSON, checked all the same (results.py).
- A batch of more calls than a node takes at once goes as several requests to that one node
  (batch_size.py). A node that takes very few is asked after the others.
- A batch costs the budget one token a call: providers bill calls, not requests. A setting for it
  would be one to get wrong.
- Within `pinned` one node gives all the answers. When it fails, the caller is told; another node's
  answer is never mixed in.
- Errors are typed and are OutsideErrors; none carries a URL, since URLs hold provider keys.
"""

import itertools
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

import httpx

from core.chain.answers import (
    AnswerTooLargeError,
    Asked,
    BatchTooLargeError,
    NodeFailure,
    RpcCodeFailedError,
    RpcError,
    RpcRefusedError,
    RpcRevertedError,
    RpcUnreachableError,
    refused,
    result_of,
    results_of,
)
from core.chain.budget import CallBudget
from core.chain.provider import Admission, Provider, ProviderStats, names_of
from core.chain.results import Parse, promised
from core.chain.wire import HttpxWire, OwnWire, Wire

__all__ = [
    "AnswerTooLargeError",
    "ProviderStats",
    "Request",
    "Rpc",
    "RpcCodeFailedError",
    "RpcError",
    "RpcRefusedError",
    "RpcRevertedError",
    "RpcUnreachableError",
]

Request = tuple[str, Sequence[Any]]
T = TypeVar("T")

ANSWER_S = 10.0
DEADLINE_S = 30.0
# of a node that failed while pinned, or is distrusted: longer than a caller waits before it tries
# again
REST_S = 5.0
CALLS_PER_S = 2_000.0
LEAST_WAIT_S = 0.001


@dataclass(slots=True)
class _Pin:
    """The node of a `pinned` block; None until the first one answered."""

    node: Provider | None = None


class _Pins(threading.local):
    """Each thread's own."""

    pin: _Pin | None = None


class Rpc:
    """The nodes of one chain. Safe to share between threads."""

    def __init__(
        self,
        urls: Sequence[str],
        *,
        answer_s: float = ANSWER_S,
        deadline_s: float = DEADLINE_S,
        calls_per_s: float = CALLS_PER_S,
        burst: float | None = None,
        transport: httpx.BaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`urls` best first.

        `calls_per_s` and `burst` (default: one second's worth) are each node's; without `transport`
        nodes are asked on connections of our own (wire.py); the rest is for tests.
        """
        if not urls:
            raise ValueError("at least one node is needed; set RPC_URLS")
        burst = max(1.0, calls_per_s) if burst is None else burst
        self._http = httpx.Client(transport=transport, trust_env=False) if transport else None
        self._nodes = tuple(
            Provider(name, self._wire(url), CallBudget(calls_per_s, burst, clock()), clock)
            for name, url in zip(names_of(list(urls)), urls, strict=True)
        )
        self._answer_s = answer_s
        self._deadline_s = deadline_s
        self._clock = clock
        self._sleep = sleep
        self._ids = itertools.count(1)
        self._pins = _Pins()
        self._preferred = self._nodes[0].name

    def call(self, method: str, params: Sequence[Any] = (), parse: Parse[Any] | None = None) -> Any:
        """The result of one call.

        Errors: RpcUnreachableError, RpcRefusedError, RpcRevertedError.
        """
        body = self._body(method, params)
        asked = Asked(body["id"], method, params, parse or promised(method))
        _, found = self._ask(method, 1, lambda _: (body, lambda content: result_of(content, asked)))
        return _result(found)

    def batch(
        self, requests: Sequence[Request], parse: Sequence[Parse[Any]] | None = None
    ) -> list[Any]:
        """The results of several calls, from one node, in order.

        The first refused one raises for all.
        """
        return [_result(answer) for answer in self._batch(requests, parse, is_settled=False)]

    def batch_settled(
        self,
        requests: Sequence[Request],
        parse: Sequence[Parse[Any]] | None = None,
        within_s: float | None = None,
    ) -> list[Any | RpcRefusedError]:
        """As `batch`, but a refused call yields its error in place; so does one that no node
        answered, when one node answered others.

        Errors: RpcUnreachableError, also after `within_s` a request; RpcRefusedError when every
        node refuses the batch as a whole, or every call of it.
        """
        return self._batch(requests, parse, is_settled=True, within_s=within_s)

    def batch_of_others(
        self,
        requests: Sequence[Request],
        within_s: float,
        parse: Sequence[Parse[Any]] | None = None,
    ) -> dict[str, list[Any | RpcRefusedError]]:
        """As `batch_of_each`, without the node that this thread's `pinned` block asks."""
        return self.batch_of_each(
            requests, within_s, [name for name in self.names if name != self.pinned_name], parse
        )

    def batch_of_each(
        self,
        requests: Sequence[Request],
        within_s: float,
        among: Collection[str] | None = None,
        parse: Sequence[Parse[Any]] | None = None,
    ) -> dict[str, list[Any | RpcRefusedError]]:
        """What each node (`among` these) says, by its name, a failed call as its error in place.

        One that failed a moment ago, is over budget, or gives no answer within `within_s` is left
        out; one that only rests is asked.
        """
        asked = [node for node in self._nodes if among is None or node.name in among]
        told = {node.name: self._told_by(node, requests, parse, within_s) for node in asked}
        return {name: answers for name, answers in told.items() if len(answers) == len(requests)}

    def _told_by(
        self,
        node: Provider,
        requests: Sequence[Request],
        parse: Sequence[Parse[Any]] | None,
        within_s: float,
    ) -> list[Any | RpcRefusedError]:
        """What one node says; fewer answers than requests when it fails."""
        until, answers = self._clock() + within_s, list[Any]()
        while len(answers) < len(requests) and self._clock() < until:
            entry = node.enter(len(requests) - len(answers), even_if_resting=True)
            if not entry.passed:
                break
            part = slice(len(answers), len(answers) + entry.calls)
            bodies, asked = self._asked(requests[part], None if parse is None else parse[part])
            try:
                answers += node.ask(entry, bodies, _reader_of(asked), until - self._clock())
            except BatchTooLargeError:
                continue
            except AnswerTooLargeError:
                break
            except NodeFailure as failure:
                if failure.partly is None:
                    break
                answers += failure.partly
        return answers

    @property
    def names(self) -> tuple[str, ...]:
        """Of the nodes, best first."""
        return tuple(node.name for node in self._nodes)

    @property
    def pinned_name(self) -> str | None:
        """The node of this thread's `pinned` block, once it answered."""
        pin = self._pins.pin
        return None if pin is None or pin.node is None else pin.node.name

    @contextmanager
    def pinned(self) -> Iterator[None]:
        """Within it this thread's calls are all answered by one node, the first that answers; an
        inner block joins the outer.

        Errors, of the calls within: RpcUnreachableError when that node fails, RpcRefusedError when
        it says so; the next block begins with another.
        """
        with self._pinned_to(None):
            yield

    @contextmanager
    def _pinned_to(self, node: Provider | None) -> Iterator[None]:
        """As `pinned`, to this node. An outer block, which has it already, stays as it is."""
        outer = self._pins.pin
        self._pins.pin = outer or _Pin(node)
        try:
            yield
        finally:
            self._pins.pin = outer

    def prefer(self, name: str) -> None:
        """Ask the node of this name first from now on."""
        self._preferred = name

    def leave_out(self, name: str) -> None:
        """Ask this node no more: it serves another chain.

        Call it before the pool is shared, and not of the last one.
        """
        self._nodes = tuple(node for node in self._nodes if node.name != name)

    def distrust(self, reason: str, rest_s: float = REST_S, name: str | None = None) -> None:
        """The pinned node, or the one of this name, lags or contradicts itself: it rests for
        `rest_s`. `reason`: one of few words, counted in `stats`.

        The block goes on with it. Nothing happens outside a block, or before a node answered; a
        node that is alone is asked even while it rests.
        """
        for node in self._nodes:
            if node.name == (name or self.pinned_name):
                node.distrust(reason, rest_s)

    def stats(self) -> tuple[ProviderStats, ...]:
        """What each node did since the start, best first."""
        return tuple(node.stats() for node in self._nodes)

    def close(self) -> None:
        for node in self._nodes:
            node.close()

    def _wire(self, url: str) -> Wire:
        return OwnWire(url) if self._http is None else HttpxWire(url, self._http)

    def _body(self, method: str, params: Sequence[Any]) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": list(params)}

    def _asked(
        self, requests: Sequence[Request], parse: Sequence[Parse[Any]] | None
    ) -> tuple[list[dict[str, Any]], list[Asked]]:
        """The calls as they are sent, and how their answers are read."""
        bodies = [self._body(method, params) for method, params in requests]
        parsers = parse or [promised(method) for method, _ in requests]
        return bodies, [
            Asked(body["id"], body["method"], body["params"], one)
            for body, one in zip(bodies, parsers, strict=True)
        ]

    def _batch(
        self,
        requests: Sequence[Request],
        parse: Sequence[Parse[Any]] | None,
        *,
        is_settled: bool,
        within_s: float | None = None,
    ) -> list[Any]:
        """In as many requests as it takes, all to one node."""
        answers = list[Any]()
        with ExitStack() as one_node:
            while len(answers) < len(requests):
                left, parsers = (
                    requests[len(answers) :],
                    None if parse is None else parse[len(answers) :],
                )
                node, found = self._first_of(left, parsers, is_settled, within_s)
                answers += found
                if len(answers) < len(requests):
                    one_node.enter_context(self._pinned_to(node))
        return answers

    def _first_of(
        self,
        requests: Sequence[Request],
        parse: Sequence[Parse[Any]] | None,
        is_settled: bool,
        within_s: float | None,
    ) -> tuple[Provider, list[Any]]:
        """The results of the first calls, as many as a node takes at once, and which it was."""

        def part(calls: int) -> tuple[Any, Callable[[bytes], list[Any]]]:
            bodies, asked = self._asked(requests[:calls], None if parse is None else parse[:calls])
            return bodies, _reader_of(asked)

        try:
            return self._ask(requests[0][0], len(requests), part, within_s)
        except _PartlyAnsweredError as partly:
            if is_settled:
                return partly.node, list(partly.results)
            raise partly.otherwise from None

    def _ask(
        self,
        method: str,
        wanted: int,
        part: Callable[[int], tuple[Any, Callable[[bytes], T]]],
        within_s: float | None = None,
    ) -> tuple[Provider, T]:
        """Who answered, and what.

        `part`: the request of so many calls, and how its answer is read.
        """
        pin = self._pins.pin
        deadline_s = self._deadline_s if within_s is None else min(within_s, self._deadline_s)
        begun = self._clock()
        nodes = self._nodes if pin is None or pin.node is None else [pin.node]
        untried = sorted(
            nodes, key=lambda node: (node.is_short_of(wanted), node.name != self._preferred)
        )
        failures: list[tuple[Provider, NodeFailure]] = []
        told: list[str] = []
        while untried and self._clock() < begun + deadline_s:
            found = self._enter(untried, wanted, begun + deadline_s / 2)
            if found is None:
                told.append("over budget, see RPC_REQUESTS_PER_S")
                break
            node, entry = found
            left_s = begun + deadline_s - self._clock()
            body, read = part(entry.calls)
            try:
                answer = node.ask(entry, body, read, min(self._answer_s, left_s / len(untried)))
            except BatchTooLargeError:
                if node.is_short_of(wanted) and len(untried) > 1:
                    told.append(f"takes no {entry.calls} calls at once")
                    untried = [other for other in untried if other is not node]
            except NodeFailure as failure:
                failures.append((node, failure))
                told.append(str(failure))
                untried = [] if entry.is_open else [other for other in untried if other is not node]
                if pin is not None:
                    node.rest(REST_S)
            else:
                if pin is not None:
                    pin.node = node
                return node, answer
        raise _outcome(method, failures, told)

    def _enter(
        self, nodes: Sequence[Provider], wanted: int, until: float
    ) -> tuple[Provider, Admission] | None:
        """The node to ask, its budget paid; waits for budget, at most `until`.

        None: nobody has budget by then.
        """
        while True:
            waits: list[tuple[float, Provider]] = []
            open_nodes: list[Provider] = []
            for node in nodes:
                entry = node.enter(wanted)
                if entry.passed:
                    return node, entry
                if entry.is_open:
                    open_nodes.append(node)
                else:
                    waits.append((entry.wait_s, node))
            now = self._clock()
            wait_s, waited_for = min(waits, key=lambda wait: wait[0], default=(0.0, nodes[0]))
            if open_nodes and (not waits or now + wait_s > until):
                waited_for = min(open_nodes, key=lambda node: node.free_at)
                entry = waited_for.enter(wanted, even_if_open=True)
                if entry.passed:
                    return waited_for, entry
                wait_s = entry.wait_s
            if now + wait_s > until:
                return None
            # An open node may be free before the budget is: look again then.
            free_s = [node.free_at - now for node in open_nodes if node.free_at > now and waits]
            wait_s = max(LEAST_WAIT_S, min(wait_s, *free_s) if free_s else wait_s)
            self._sleep(wait_s)
            waited_for.waited(wait_s)


class _PartlyAnsweredError(RpcError):
    """No node answered a whole batch, and `node` answered a part of it.

    `otherwise`: the error for those who want all or nothing.
    """

    def __init__(self, node: Provider, results: Sequence[Any], otherwise: RpcError) -> None:
        super().__init__(str(otherwise))
        self.node = node
        self.results = results
        self.otherwise = otherwise


def _outcome(
    method: str, failures: Sequence[tuple[Provider, NodeFailure]], told: Sequence[str]
) -> RpcError:
    """What a call ends with that no node answered: a refusal when one of them said something, with
    what each of them said.
    """
    said = next((failure.answer for _, failure in failures if failure.answer is not None), None)
    words = list(dict.fromkeys(told))
    if said is None:
        error: RpcError = RpcUnreachableError(method, words)
    else:
        error = refused(method, said if len(words) == 1 else {**said, "message": "; ".join(words)})
    partly = next(
        ((node, failure.partly) for node, failure in failures if failure.partly is not None), None
    )
    return error if partly is None else _PartlyAnsweredError(*partly, error)


def _reader_of(asked: Sequence[Asked]) -> Callable[[bytes], list[Any]]:
    return lambda content: results_of(content, asked)


def _result(found: Any) -> Any:
    if isinstance(found, RpcRefusedError):
        raise found
    return found

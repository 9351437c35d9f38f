"""What is asked of the nodes: blocks, receipts, logs and views, in batches that grow and shrink with
what comes back.

Laws
- Every node is asked for everything, and what one answers otherwise than the others is the finding
  `nodes.differ`, which names it. The answer of most is used; of two, the first one's.
- A node that does not serve a question about past state, which another one answers, is remarked;
  its other answers still count. A node that is away leaves the part unchecked.
- Answers are read strictly (core.chain.results), so that no form of them reaches a check. What a
  single node says is not doubted here but compared: the same logs come by range and by receipt.
- All questions together are at most `most_calls`.
- Once batches have found their size, two are under way: a node and its reader each take about half
  of the time of a long record.

Errors of everything here: UncheckedError when a node is away or refuses, or too much is asked.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from api.client.verify.findings import Report, UncheckedError
from core.chain import results
from core.chain.abi import AbiDecodeError
from core.chain.blocks import BlockHeader, RawLog, SentCall, TransactionReceipt
from core.chain.errors import RpcError, RpcRefusedError
from core.chain.nodes import Nodes, Request
from core.chain.results import Parse
from core.mandate.chain.reader import VaultReader

MOST_CALLS_A_REQUEST: Final = 300
FIRST_CALLS: Final = 32
LOGS_A_REQUEST: Final = 2_000
TRANSACTIONS_A_REQUEST: Final = 5_000
UNDER_WAY: Final = 2
# blocks of one eth_getLogs; more is refused by many providers
FIRST_RANGE, WIDEST_RANGE = 200, 10_000

T = TypeVar("T")
Advance = Callable[[str, int, int], None]  # part, done, of how many


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the current chain.

    `to_vault`: its transactions to the vault, when they were asked for.
    """

    number: int
    hash: str
    parent_hash: str
    at: int
    to_vault: tuple[SentCall, ...] = ()


@dataclass(frozen=True, slots=True)
class _Pace:
    """How many places are asked for at first and at most, and what their answers may weigh."""

    first: int
    widest: int
    most: int
    calls_a_piece: int = 0
    calls_a_place: int = 0

    def calls(self, pieces: int, places: int) -> int:
        return self.calls_a_piece * pieces + self.calls_a_place * places


class Node:
    """All nodes that were named, asked as one."""

    def __init__(
        self, rpcs: Sequence[Nodes], factory: str, advance: Advance, report: Report, most_calls: int
    ) -> None:
        self.contracts = {"factory": factory}
        self._rpcs = tuple(rpcs)
        self._asked = self._rpcs[0]
        self._advance = advance
        self._report = report
        self._most_calls = most_calls
        self._said: set[tuple[str, ...]] = set()
        names = [rpc.names[0] for rpc in rpcs]
        self._nodes = [
            (name if names.count(name) == 1 else f"{name} (--rpc {place})", rpc)
            for place, (name, rpc) in enumerate(zip(names, rpcs, strict=True), start=1)
        ]

    @property
    def reader(self) -> VaultReader:
        """Of the node that `ask` asks at the moment."""
        return VaultReader(self._asked, self.contracts)

    def first(self, part: str, read: Callable[[], T]) -> T:
        """One read by `reader` of what proves itself, of the first node that has it."""
        failed = list[str]()
        for name, rpc in self._nodes:
            try:
                return self._read(part, rpc, read)
            except UncheckedError as error:
                failed.append(self._by(name, error.reason))
            except (RpcError, AbiDecodeError) as error:
                failed.append(self._by(name, error))
        raise UncheckedError(part, "; ".join(failed))

    def ask(
        self, part: str, read: Callable[[], T], compared: Callable[[T], object] | None = None
    ) -> T:
        """One read by `reader`, of each node.

        `compared`: what of an answer every node must say alike; by default all of it.
        """
        answers, refused = list[tuple[str, T]](), list[tuple[str, Exception]]()
        for name, rpc in self._nodes:
            try:
                answers.append((name, self._read(part, rpc, read)))
            except (RpcRefusedError, AbiDecodeError) as error:
                refused.append((name, error))
            except RpcError as error:
                raise UncheckedError(part, self._by(name, error)) from error
        if not answers:
            raise UncheckedError(part, self._by(*refused[0])) from refused[0][1]
        for name, _ in refused:
            self._once("refused", part, name)
        return self._agreed(part, answers, compared)

    def newest(self) -> int:
        """The height that every node has."""
        part, heights = "the newest block", list[int]()
        for name, rpc in self._nodes:
            try:
                heights.append(self._read(part, rpc, lambda: self.reader.block_number()))
            except RpcError as error:
                raise UncheckedError(part, self._by(name, error)) from error
        return min(heights)

    def _read(self, part: str, rpc: Nodes, read: Callable[[], T]) -> T:
        """By `reader`, of this node."""
        self._spend(part, 1)
        self._asked = rpc
        try:
            return read()
        finally:
            self._asked = self._rpcs[0]

    def blocks(self, numbers: Sequence[int], vault: str | None = None) -> dict[int, Block]:
        """By height; one that the node does not have is left out.

        With `vault` the transactions to it as well.
        """
        requests: list[Request] = [
            ("eth_getBlockByNumber", [hex(number), vault is not None]) for number in numbers
        ]
        parse = partial(_block, vault)

        def weigh(found: tuple[Block, int] | None) -> int:
            return 1 if found is None else 1 + (found[1] if vault else 0)

        answers = self._batched("blocks", requests, parse, weigh, TRANSACTIONS_A_REQUEST)
        found = zip(numbers, answers, strict=True)
        return {number: one[0] for number, one in found if one and one[0].number == number}

    def first_after(self, at: int, last: int) -> int:
        """The first height up to `last` whose block is of this second or later, by halving; `last`
        when there is none. A block that the node does not have counts as earlier.
        """

        def is_since(height: int) -> bool:
            block = self.blocks([height]).get(height)
            return block is not None and block.at >= at

        return bisect_left(range(last), True, key=is_since)

    def first_with_code(self, address: str, last: int) -> int:
        """The first height up to `last` at which the address has code, by halving; 0 where a node
        does not have the state of past blocks.
        """

        def has_code(height: int) -> bool:
            part = "a contract's age"
            return bool(self.ask(part, lambda: self.reader.code_at(address, height)))

        try:
            return bisect_left(range(last), True, key=has_code)
        except UncheckedError:
            return 0

    def blocks_of(self, hashes: Sequence[str]) -> dict[str, BlockHeader]:
        """Blocks by their hash, with their transactions' hashes, also such as are not in the chain
        any more; one that no node knows is left out.
        """
        requests: list[Request] = [("eth_getBlockByHash", [one, False]) for one in hashes]
        found = dict[str, BlockHeader]()
        for one in self._nodes:
            headers = self._batched(
                "lost blocks", requests, results.header, _one, TRANSACTIONS_A_REQUEST, [one]
            )
            found |= {block.hash: block for block in headers if block is not None}
        return {one: found[one] for one in hashes if one in found}

    def transaction_counts(self, account: str, heights: Sequence[int]) -> dict[int, int]:
        """How many transactions an account had sent by the end of each of these blocks."""
        requests: list[Request] = [
            ("eth_getTransactionCount", [account, hex(height)]) for height in heights
        ]
        answers = self._batched("nonces", requests, results.number, _one, TRANSACTIONS_A_REQUEST)
        return dict(zip(heights, answers, strict=True))

    def outcomes(
        self,
        wanted: Mapping[str, Collection[int]],
        known: Callable[[str, int], RawLog | None] = lambda tx_hash, log_index: None,
    ) -> dict[str, TransactionReceipt]:
        """Of these transactions, with the logs of these indices alone and without the bloom; an
        unknown one is left out.

        `known`: the log of a range by transaction and index; a receipt's log that equals it is kept
        as the same object.
        """
        requests: list[Request] = [("eth_getTransactionReceipt", [tx_hash]) for tx_hash in wanted]

        def picked(content: bytes) -> tuple[TransactionReceipt, int] | None:
            found = results.receipt(content)
            if found is None:
                return None
            indices = wanted.get(found.tx_hash, ())
            logs = [one for one in found.logs if one.log_index in indices]
            read = [known(found.tx_hash, one.log_index) for one in logs]
            kept = tuple(old if old == new else new for old, new in zip(read, logs, strict=True))
            return replace(found, logs=kept, logs_bloom=0), len(found.logs)  # 2,048 bits each

        def weigh(found: tuple[TransactionReceipt, int] | None) -> int:
            return 1 if found is None else 1 + found[1]

        answers = self._batched("receipts", requests, picked, weigh, LOGS_A_REQUEST)
        return {
            tx: found[0]
            for tx, found in zip(wanted, answers, strict=True)
            if found is not None and found[0].tx_hash == tx
        }

    def logs(
        self,
        part: str,
        wanted: Mapping[str, Any],
        first: int,
        last: int,
        width: int = FIRST_RANGE,
    ) -> Iterator[RawLog]:
        """The logs of these heights that pass the filter {address, topics}, in the order of the
        chain. `width`: of how many blocks is asked first.
        """

        def ask(heights: tuple[int, int]) -> list[tuple[str, list[RawLog]]]:
            at, end = heights
            asked = [{**wanted, "fromBlock": hex(at), "toBlock": hex(end - 1)}]
            return [
                (name, rpc.call("eth_getLogs", asked, results.logs)) for name, rpc in self._nodes
            ]

        pace = _Pace(width, WIDEST_RANGE, LOGS_A_REQUEST, calls_a_piece=len(self._rpcs))
        agreed = partial(self._agreed, part)
        return self._in_pieces(part, (first, last + 1), pace, ask, agreed, _one)

    def _batched(
        self,
        part: str,
        requests: Sequence[Request],
        parse: Parse[T],
        weigh: Callable[[T], int],
        most: int,
        nodes: Sequence[tuple[str, Nodes]] | None = None,
    ) -> Iterator[T]:
        """`nodes`: with their names; all, unless some are given."""
        asked_of = nodes or self._nodes

        def ask(piece: tuple[int, int]) -> list[tuple[str, list[T]]]:
            calls = requests[slice(*piece)]
            return [(name, rpc.batch(calls, [parse] * len(calls))) for name, rpc in asked_of]

        pace = _Pace(FIRST_CALLS, MOST_CALLS_A_REQUEST, most, calls_a_place=len(asked_of))
        agreed = partial(self._agreed_each, part)
        return self._in_pieces(part, (0, len(requests)), pace, ask, agreed, weigh)

    def _in_pieces(
        self,
        part: str,
        places: tuple[int, int],
        pace: _Pace,
        ask: Callable[[tuple[int, int]], list[tuple[str, list[T]]]],
        agreed: Callable[[list[tuple[str, list[T]]]], list[T]],
        weigh: Callable[[T], int],
    ) -> Iterator[T]:
        """What comes of all places, asked for some at a time: as many as the node lets, and as its
        answers weigh.
        """
        first, end = places
        at, asked, size, widest, is_steady = first, first, pace.first, pace.widest, False
        under_way = deque[tuple[int, Future[list[tuple[str, list[T]]]]]]()
        pool = ThreadPoolExecutor(UNDER_WAY, "ask")
        try:
            while at < end:
                while asked < end and len(under_way) < (UNDER_WAY if is_steady else 1):
                    until = min(end, asked + size)
                    self._spend(part, pace.calls(len(under_way) + 1, until - at))
                    under_way.append((until, pool.submit(ask, (asked, until))))
                    asked = until
                until, answer = under_way.popleft()
                count = until - at
                try:
                    found = agreed(answer.result())
                except RpcError as error:
                    if count == 1:
                        raise UncheckedError(part, str(error)) from error
                    while under_way:
                        under_way.pop()[1].cancel()
                    size = max(1, count // 4)
                    if pace.calls_a_place:  # where logs lie close says nothing of the rest
                        widest = size
                    asked, is_steady = at, False
                    continue
                yield from found
                at = until
                self._advance(part, at - first, end - first)
                weight, before = sum(map(weigh, found)), size
                grown = size * (4 if pace.calls_a_place else 2)
                size = max(1, min(widest, grown, count * pace.most // max(1, weight)))
                is_steady = size <= before
        finally:
            pool.shutdown(cancel_futures=True)

    def _agreed_each(self, part: str, by_node: Sequence[tuple[str, list[T]]]) -> list[T]:
        if len(by_node) == 1:
            return by_node[0][1]
        return [
            self._agreed(part, [(name, answers[place]) for name, answers in by_node])
            for place in range(len(by_node[0][1]))
        ]

    # What the nodes say, against one another

    def _agreed(
        self,
        part: str,
        answers: Sequence[tuple[str, T]],
        compared: Callable[[T], object] | None = None,
    ) -> T:
        """The answer of most; who answers otherwise is named, once for each part."""
        if len(answers) == 1:
            return answers[0][1]
        values = [answer if compared is None else compared(answer) for _, answer in answers]
        chosen = max(values, key=values.count)
        named = list(zip((name for name, _ in answers), values, strict=True))
        others = [name for name, one in named if one != chosen]
        if others:
            with_chosen = [name for name, one in named if one == chosen]
            self._once("differ", part, ", ".join(others), ", ".join(with_chosen))
        return answers[values.index(chosen)][1]

    def _once(self, what: str, part: str, *names: str) -> None:
        if (what, part, *names) in self._said:
            return
        self._said.add((what, part, *names))
        if what == "differ":
            self._report.say("nodes.differ", None, f"{part}: {names[0]} contradicts {names[1]}")
        else:
            self._report.remarks.append(f"{part}: {names[0]} does not serve it, others do")

    def _by(self, name: str, error: object) -> str:
        return str(error) if len(self._rpcs) == 1 else f"{name}: {error}"

    def _spend(self, part: str, calls: int) -> None:
        """Before so many calls are made. Those under way are given again, so at the very end of what
        is allowed one batch may count twice.
        """
        used = sum(stats.calls for rpc in self._rpcs for stats in rpc.stats())
        if used + calls > self._most_calls:
            raise UncheckedError(
                part,
                f"more than {self._most_calls} calls of the node would be needed; --max-calls "
                "allows more",
            )


def _one(_: object) -> int:
    return 1


def _block(vault: str | None, content: bytes) -> tuple[Block, int] | None:
    """With the count of all its transactions, which is what its answer weighs."""
    header = results.header(content)
    if header is None:
        return None
    sent = () if vault is None else results.calls_of_block(content)
    block = Block(
        number=header.number,
        hash=header.hash,
        parent_hash=header.parent_hash,
        at=header.timestamp,
        to_vault=tuple(one for one in sent if one.to == vault),
    )
    return block, len(sent)

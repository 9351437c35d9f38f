"""What each node's lens says of the vaults, every node apart from the others.

    the order of the vaults --> each node, in a thread of its own: its head, whom the factory names, and the first part
        --> part after part, those most at risk again each second --> a few that are not known, alone, with full gas

Laws
- One call of the lens is one backend, one state and one height. Nothing is asked at a block that
  another request named, and no answer is held against another's.
- A slow or dead node delays no other: it is waited for OTHERS_S once one has answered everything.
  What it says later counts in the tick in which it comes, and it begins anew when it is through.
- Unknown is not zero: a vault that cannot be valued among others is asked alone before it is
  unknown, a few a look, in turn.
- A head's age is what the table of nodes has (core/chain/node.py).
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import zip_longest
from queue import Empty, SimpleQueue
from typing import Any

import structlog

from core.chain import results
from core.chain.abi import function
from core.chain.blocks import BlockHeader
from core.chain.nodes import Request
from core.chain.reader import VIEW_GAS, output_of
from core.jobs.each import isolated
from core.keeper.views import WatchedVault
from core.mandate.chain import lens
from core.mandate.chain.lens import LensBlock, LensOutcome, LensReading, LensRow
from core.mandate.chain.reader import VaultReader
from core.mandate.rules.terms import ZERO_ADDRESS
from core.money import MAX_ABS_USDC_E6, UnixSeconds, UsdcE6
from keeper.plan import NodeReadings, in_turn
from keeper.state import (
    OUT_OF_RANGE,
    SOURCE_AT_COST,
    SOURCE_VAULT_WORTH,
    UNREADABLE,
    FactoryKeepers,
    ReadBlock,
    VaultReading,
    head_of,
)

VAULTS_A_CALL = lens.MOST_VAULTS
ANSWER_S = 5.0  # that a node may take for one call
OTHERS_S = 1.0
LOOK_S = 60.0  # what one node was not asked by then comes first the next time
URGENT_S = 1.0  # those most at risk are read again so often while the others are read
ALONE_S = 1.0  # of a look, in which vaults are asked alone
BUDGET_S, RETRY_S = 1.0, 0.05  # a node that is over its budget is asked again so long and so often
MOST_FAILURES = 2  # in a row: then the node is asked again at the next look
HEAD_POLL_S = 0.2

_KEEPER, _PENDING = (function("MandateVaultFactory", name) for name in ("keeper", "pendingKeeper"))

Row = LensRow[LensReading]
UNREAD: Row = LensRow(LensBlock(0, 0, "", 0), LensOutcome.UNREAD, None)

log = structlog.get_logger("keeper")


@dataclass(frozen=True, slots=True)
class _Alone:
    """When a vault was asked alone, and whether it was valued then."""

    asked_at: float
    is_valued: bool


@dataclass(slots=True)
class NodeLens:
    """One node, and what it was not asked yet."""

    reader: VaultReader
    name: str
    _alone: dict[str, _Alone] = field(default_factory=dict)
    _left_out: dict[str, int] = field(default_factory=dict)  # of the look before, in order

    def look(
        self,
        vaults: Sequence[WatchedVault],
        height: int,
        put: Callable[[NodeReadings], None],
    ) -> bool:
        """Read them in this order; False when the node does not answer. `height`: the highest that it
        named; what a backend says that lags is asked for again, once.
        """
        order = in_turn(vaults, VAULTS_A_CALL, self._left_out)
        urgent, unsure = order[:VAULTS_A_CALL], dict[str, tuple[WatchedVault, Row]]()
        begun = urgent_at = time.monotonic()
        state, rows = self._begun(urgent)
        if state is None:
            return False
        rows = rows if state.head.number >= height else None
        at = failures = 0
        while at < len(order) and failures < MOST_FAILURES:
            if time.monotonic() - begun > LOOK_S:
                break
            is_again = at > len(urgent) and time.monotonic() - urgent_at > URGENT_S
            part = urgent if is_again else order[at : at + VAULTS_A_CALL]
            rows = rows or self._ask_lens(part)
            failures = failures + 1 if rows is None else 0
            read = list(zip(part, [UNREAD] * len(part) if rows is None else rows, strict=False))
            unsure |= {vault.vault: (vault, row) for vault, row in read if not row.is_final}
            put(self._part(state, (one for one in read if one[1].is_final)))
            at += 0 if is_again else len(read)
            urgent_at, rows = time.monotonic() if is_again else urgent_at, None
        self._left_out = {one.vault: place for place, one in enumerate(order[at:])}
        if failures < MOST_FAILURES:
            for found in self._ask_alone(unsure):
                put(self._part(state, [found]))
        if not vaults:
            put(state)
        return failures < MOST_FAILURES

    # What is asked

    def _begun(
        self, vaults: Sequence[WatchedVault]
    ) -> tuple[NodeReadings | None, tuple[Row, ...] | None]:
        """What it shows, and the first vaults, in one request; None: it names no newest block, or
        the lens does not answer.
        """
        factory = self.reader.contracts["factory"]
        requests: list[Request] = [
            ("eth_getBlockByNumber", ["latest", False]),
            *(_view(factory, one.selector) for one in (_KEEPER, _PENDING)),
        ]
        parsers = [results.header, *map(output_of, (_KEEPER, _PENDING))]
        if vaults:
            requests.append(self._lens_call(vaults))
            parsers.append(lens.READINGS.answer_of(len(vaults)))
        answers = self._ask(requests, parsers)
        head = head_of(answers[0]) if answers is not None else None
        if answers is None or head is None:
            return None, None
        self.reader.rpc.saw(self.name, answers[0])
        age_s = self.reader.rpc.head_age_s(self.name)
        keepers = _keepers(factory, answers[1], answers[2])
        rows = answers[3] if vaults and isinstance(answers[3], tuple) else None
        return NodeReadings(self.name, head, age_s, keepers), rows

    def _lens_call(self, vaults: Sequence[WatchedVault]) -> Request:
        return self.reader.lens_call(lens.READINGS, [one.vault for one in vaults])

    def _ask_lens(self, vaults: Sequence[WatchedVault]) -> tuple[Row, ...] | None:
        """None: it fails. A node that is over its budget is asked again for a moment."""
        until = time.monotonic() + BUDGET_S
        while True:
            answers = self._ask([self._lens_call(vaults)], [lens.READINGS.answer_of(len(vaults))])
            if answers is not None:
                return self._rows(answers[0])
            if time.monotonic() > until:
                return None
            time.sleep(RETRY_S)

    def _rows(self, answer: Any) -> tuple[Row, ...] | None:
        if isinstance(answer, tuple):
            return answer
        why = "there is no lens" if answer is None else str(answer)[:300]
        log.warning("lens call failed on a node", node=self.name, error=why)
        return None

    def _ask_alone(
        self, unsure: Mapping[str, tuple[WatchedVault, Row]]
    ) -> Iterator[tuple[WatchedVault, Row]]:
        """As many as there is time for, who waits longest first, in turns of those that were valued
        last and of the others, so that neither holds up the other.

        Of the rest, one that was unknown last is unknown, and of what was valued none is shown.
        """
        until = time.monotonic() + ALONE_S
        self._alone = {vault: self._alone[vault] for vault in unsure if vault in self._alone}
        never = _Alone(0.0, is_valued=False)
        waiting = sorted(unsure, key=lambda vault: self._alone.get(vault, never).asked_at)
        groups = [
            [v for v in waiting if self._alone.get(v, never).is_valued is is_valued]
            for is_valued in (True, False)
        ]
        for name in (one for turn in zip_longest(*groups) for one in turn if one is not None):
            vault, row = unsure[name]
            if time.monotonic() < until:
                row = (self._ask_lens([vault]) or (row,))[0]
                is_valued = row.outcome is LensOutcome.VALUED
                self._alone[name] = _Alone(time.monotonic(), is_valued)
                yield vault, row
            elif name in self._alone and not self._alone[name].is_valued:
                yield vault, row

    def _ask(self, requests: Sequence[Request], parsers: Sequence[Any]) -> list[Any] | None:
        """None: it does not answer, or is over its budget."""
        answers = self.reader.rpc.batch_of_each(requests, ANSWER_S, [self.name], parsers)
        return answers.get(self.name)

    # What it says

    def _part(self, state: NodeReadings, rows: Iterable[tuple[WatchedVault, Row]]) -> NodeReadings:
        by_vault = {vault.vault: self._reading(vault, row, state.head) for vault, row in rows}
        return replace(state, by_vault=by_vault)

    def _reading(self, vault: WatchedVault, row: Row, head: BlockHeader) -> VaultReading:
        found = row.reading
        worth, source = _worth(found)
        return VaultReading(
            vault,
            self.name,
            None if found is None else found.status,
            worth,
            source,
            None if found is None else UsdcE6(found.fee_owed_usdc_e6),
            None if row is UNREAD else _block(row.block, head),
        )


@dataclass(slots=True)
class Lenses:
    """Every node of the pool."""

    reader: VaultReader
    _nodes: dict[str, NodeLens] = field(default_factory=dict)
    _heights: dict[str, int] = field(default_factory=dict)  # the highest that each named
    _busy: dict[str, object] = field(default_factory=dict)  # the look that each is at
    _said: "SimpleQueue[tuple[object, NodeReadings | bool]]" = field(default_factory=SimpleQueue)

    def look(self, vaults: Sequence[WatchedVault]) -> Iterator[NodeReadings]:
        """What the nodes say, as it comes in, with what comes late of an earlier look."""
        awaited = set[object]()
        for name in self.reader.rpc.names:
            node = self._nodes.setdefault(name, NodeLens(self.reader, name))
            if name not in self._busy:
                awaited.add(look := object())
                self._busy[name] = look
                work = (look, node, vaults, self._heights.get(name, -1))
                try:
                    threading.Thread(target=self._run, args=work, daemon=True).start()
                except RuntimeError:  # the machine has no thread left
                    del self._busy[name]
                    raise
        awaited, until = awaited or set(self._busy.values()), None
        while awaited:
            try:
                left_s = None if until is None else max(0.0, until - time.monotonic())
                look, part = self._said.get(timeout=left_s)
            except Empty:
                log.info("tick continued without slow nodes", nodes=list(self._busy))
                break
            if isinstance(part, NodeReadings):
                self._is_higher(part.node, part.head.number)
                yield part
            elif look in awaited:
                awaited.discard(look)
                until = until or (time.monotonic() + OTHERS_S if part else None)

    def await_block(self, until: float, ended: threading.Event) -> None:
        """Until a node names a higher block than it did before, or that time on the clock that only
        rises.
        """
        rpc = self.reader.rpc
        while time.monotonic() < until and not ended.wait(HEAD_POLL_S):
            answers = rpc.batch_of_each(
                [("eth_blockNumber", ())], ANSWER_S, None, [results.number], HEAD_POLL_S
            )
            named = ((name, at) for name, (at,) in answers.items() if isinstance(at, int))
            if [name for name, at in named if self._is_higher(name, at)]:
                return

    def _is_higher(self, name: str, height: int) -> bool:
        known = self._heights.get(name, -1)
        self._heights[name] = max(known, height)
        return height > known

    def _run(
        self, look: object, node: NodeLens, vaults: Sequence[WatchedVault], height: int
    ) -> None:
        def put(part: NodeReadings | bool) -> None:
            self._said.put((look, part))

        has_answered = isolated(partial(node.look, vaults, height, put), node=node.name)
        del self._busy[node.name]
        put(bool(has_answered))


def _view(to: str, data: str) -> Request:
    return "eth_call", [{"to": to, "data": data, "gas": hex(VIEW_GAS)}, "latest"]


def _block(seen: LensBlock, head: BlockHeader) -> ReadBlock:
    """A lens does not know its own block's hash: it is the head's where both follow the same one."""
    is_head = (seen.number, seen.parent_hash) == (head.number, head.parent_hash)
    return ReadBlock(seen.number, seen.timestamp, head.hash if is_head else None)


def _worth(found: LensReading | None) -> tuple[UsdcE6 | None, str]:
    """No vault is worth more than all amounts of USDC that this product writes: a venue's price is
    absurd.
    """
    if found is None or found.worth_usdc_e6 is None:
        return None, UNREADABLE
    if max(found.worth_usdc_e6, found.unvalued_out_usdc_e6) > MAX_ABS_USDC_E6:
        return None, OUT_OF_RANGE
    source = SOURCE_AT_COST if found.unvalued_out_usdc_e6 else SOURCE_VAULT_WORTH
    return UsdcE6(found.worth_usdc_e6), source


def _keepers(factory: str, named: Any, pending: Any) -> FactoryKeepers | None:
    """None when it gives no usable answer."""
    if not isinstance(named, str) or not isinstance(pending, tuple):
        return None
    proposed, eta = pending
    return FactoryKeepers(
        factory, named, None if proposed == ZERO_ADDRESS else proposed, UnixSeconds(eta)
    )

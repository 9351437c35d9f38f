"""What each node of the pool says of a vault, at its own newest block: no single node decides what cannot be taken back.

    each node: its newest block --> if that is recent: status and worth of some vaults --> fallen, above, unreadable

Laws
- A node whose newest block is not recent has no opinion, and neither has one that does not answer. One that tells its newest block and
  fails at a vault that is asked alone calls it unreadable.
- Recent is what this machine's clock calls so, whatever the preferred node says. Two nodes have to agree. Where one is configured, or only
  one told a newest block, old or not, in SILENT_S, its word is all there is.
- Each node reads the floor itself, unless it is that of the signed terms, or two nodes agreed on it (keeper.floors).
- A node that rests is asked all the same: it may be the honest one.
- A node that contradicts another rests while one is at hand that does not; who of two is right is left open.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

import structlog

from core.chain.rpc import Request, Rpc, RpcError, RpcUnreachableError
from core.domain.money import UsdcE6
from keeper import views
from keeper.floors import Floors
from keeper.heads import Heads
from keeper.state import VaultStatus
from keeper.views import Numbers

ASKED_S = 1.0  # that a node may take
SILENT_S = 60.0  # a node that tells no newest block for so long is as good as not configured
REST_S = 60.0
FAILED_S = 10.0  # so long a vault stays unreadable at a node that failed at it, and is not asked again at once
VAULTS_A_PART = 40
AGAIN_S, MOST_AGAIN_S = 60.0, 3_600.0

log = structlog.get_logger("keeper")


class Opinion(StrEnum):
    """FALLEN: works, and its worth is at or below the floor. UNREADABLE: may work, and its worth can't be read."""

    FALLEN = "fallen"
    ABOVE = "above"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Said:
    """How many nodes say what of a vault. `needed`: so many have to agree before anything is done that cannot be undone."""

    fallen: int
    above: int
    unreadable: int
    needed: int

    def agrees_to_mark(self, *, is_at_cost: bool) -> bool:
        """The contract takes a mark's word for the worth. A stop at cost has no way that the contract checks: there most nodes decide."""
        return self.fallen >= self.needed and self.above < (self.fallen if is_at_cost else 1)

    @property
    def agrees_to_remove(self) -> bool:
        return self.above == 0 and self.fallen + self.unreadable >= self.needed


class Witnesses:
    """`clock`: seconds that only rise."""

    def __init__(self, rpc: Rpc, heads: Heads, floors: Floors, clock: Callable[[], float] = time.monotonic) -> None:
        self._rpc = rpc
        self._heads = heads
        self._floors = floors
        self._clock = clock
        self._heard_at = dict.fromkeys(rpc.names, clock())
        self._unreadable_at: dict[tuple[str, str], float] = {}  # by node and vault

    @property
    def are_several(self) -> bool:
        return len(self._rpc.names) > 1

    def said(self, floors: Mapping[str, UsdcE6], among: Collection[str] | None = None) -> dict[str, Said]:
        """Of each vault of `floors`. `among`: names of nodes; None: all."""
        opinions: defaultdict[str, list[Opinion]] = defaultdict(list)
        for name in self._rpc.names if among is None else among:
            for vault, opinion in self._heard(name, floors).items():
                opinions[vault].append(opinion)
        needed = 2 if self._present > 1 else 1
        counts = {vault: Counter(opinions[vault]) for vault in floors}
        return {v: Said(one[Opinion.FALLEN], one[Opinion.ABOVE], one[Opinion.UNREADABLE], needed) for v, one in counts.items()}

    def _heard(self, name: str, floors: Mapping[str, UsdcE6]) -> dict[str, Opinion]:
        """What the node says now; it failed at what it called unreadable a moment ago, and may be left alone for that."""
        now, found = self._clock(), dict[str, Opinion]()
        if self._is_recent(name):
            found = dict(self._opinions(name, floors))
        for vault, opinion in found.items():
            self._unreadable_at.pop((name, vault), None)
            if opinion is Opinion.UNREADABLE:
                self._unreadable_at[name, vault] = now
        failed = {v for v in floors if v not in found and now - self._unreadable_at.get((name, v), now - FAILED_S) < FAILED_S}
        return found | dict.fromkeys(failed, Opinion.UNREADABLE)

    def ask_of(self, name: str, requests: Sequence[Request], within_s: float = ASKED_S) -> list[Any]:
        """As Rpc.batch_settled, of this node alone."""
        said = self._rpc.batch_of_each(requests, within_s, [name])
        if name not in said:
            raise RpcUnreachableError(requests[0][0], [name])
        return said[name]

    def others(self, than: str | None) -> list[str]:
        return [name for name in self._rpc.names if name != than]

    def doubt(self, name: str | None, reason: str) -> None:
        """What it says can't be so, or another says otherwise: the others are preferred for a while, if any is at hand."""
        if name is not None:
            self._heads.failed([name])
        if name is None or all(node.is_open for node in self._rpc.stats() if node.name != name):
            return
        log.warning("a node is not believed", node=name, why=reason)
        self._rpc.distrust(reason, REST_S, name)

    @property
    def _present(self) -> int:
        return sum(self._clock() - at < SILENT_S for at in self._heard_at.values())

    def _is_recent(self, name: str) -> bool:
        """By this machine's clock. A node that tells a block at all is there: an old one must not leave another's word alone."""
        head = self._heads.told([name]).get(name)
        if head is not None:
            self._heard_at[name] = self._clock()
        return head is not None and self._heads.is_recent(head)

    def _opinions(self, name: str, floors: Mapping[str, UsdcE6]) -> Iterator[tuple[str, Opinion]]:
        vaults = list(floors)
        for first in range(0, len(vaults), VAULTS_A_PART):
            part = vaults[first : first + VAULTS_A_PART]
            try:
                found = views.read(partial(self.ask_of, name), part, "latest", self._floors.kept)
            except RpcError:
                found = {v: Numbers(None, None, floors[v], views.UNREADABLE) for v in part if len(part) == 1}
            for vault, numbers in found.items():
                opinion = _opinion(numbers)
                if opinion is not None:
                    yield vault, opinion


def _opinion(numbers: Numbers) -> Opinion | None:
    if numbers.is_open:
        return Opinion.UNREADABLE
    if numbers.status is not VaultStatus.WORKING or numbers.worth_usdc_e6 is None or numbers.floor_usdc_e6 is None:
        return None
    return Opinion.FALLEN if numbers.worth_usdc_e6 <= numbers.floor_usdc_e6 else Opinion.ABOVE


@dataclass(frozen=True, slots=True)
class Heard:
    """What the nodes say of the vaults of some stops. `unmarked`: too few call them fallen for a mark. `contested`: a node calls them
    above their floor."""

    unmarked: frozenset[str] = frozenset()
    contested: frozenset[str] = frozenset()


class Agreement:
    """Which stops may go by `mark`. One that a node speaks against goes by the contract alone, and seldom: if the contract refuses it, it
    costs its gas."""

    def __init__(self, witnesses: Witnesses, clock: Callable[[], float] = time.monotonic) -> None:
        self._witnesses = witnesses
        self._clock = clock
        self._waits: dict[str, tuple[float, float]] = {}  # by vault: from when on it is tried again, and how long it waited

    def hear(self, at_cost: Mapping[str, bool], floors: Mapping[str, UsdcE6], asked: str | None) -> Heard:
        """Of the vaults of `floors`. `at_cost`: whether a vault's worth counts money at cost. `asked`: the node that calls them fallen."""
        if not floors or not self._witnesses.are_several:
            return Heard()
        said = self._witnesses.said(floors)
        contested = frozenset(vault for vault, one in said.items() if one.above > 0)
        if contested:
            self._witnesses.doubt(asked, "contradicts")
        return Heard(frozenset(v for v, one in said.items() if not one.agrees_to_mark(is_at_cost=at_cost[v])), contested)

    def may_try(self, vault: str) -> bool:
        return self._clock() >= self._waits.get(vault, (0.0, 0.0))[0]

    def tried(self, vault: str) -> None:
        """It waits AGAIN_S, and each time twice as long."""
        wait_s = min(2 * self._waits.get(vault, (0.0, AGAIN_S / 2))[1], MOST_AGAIN_S)
        self._waits[vault] = self._clock() + wait_s, wait_s

"""What each node of the pool says of a vault, at its own newest block: no single node decides what
cannot be taken back.

    each node: its newest block --> if that is recent: status and worth of some vaults --> fallen, above, not working, unreadable

Laws
- A node whose newest block is not recent has no opinion, and neither has one that does not answer.
  One that tells its newest block and fails at a vault that is asked alone calls it unreadable.
- Recent is what this machine's clock calls so, whatever the preferred node says.
- Two voices carry, and more than the other side has. Where one node is configured, or only one told
  a newest block, old or not, in SILENT_S, its word is all there is.
- Each node reads the floor itself, unless it is that of the signed terms, or two nodes agreed on it
  (keeper.floors).
- A node that rests is asked all the same: it may be the honest one.
- Nodes that are outvoted rest. Where it is word against word none does: the nodes take turns, tick
  by tick, so that no one's word rules.
- A stop that too few nodes call for goes by the contract alone, and seldom on the word of a node
  whose last ones were without success.
"""

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any

import structlog

from core.chain.errors import RpcError, RpcUnreachableError
from core.chain.nodes import Nodes, Request
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UsdcE6
from keeper import views
from keeper.floors import Floors
from keeper.heads import REST_S, Heads, disbelieve
from keeper.views import Numbers

ASKED_S = 1.0  # that a node may take
SILENT_S = 60.0  # a node that tells no newest block for so long is as good as not configured
# so long a vault stays unreadable at a node that failed at it, and is not asked again at once
FAILED_S = 10.0
VAULTS_A_PART = 40
AGAIN_S, MOST_AGAIN_S = 60.0, 3_600.0

log = structlog.get_logger("keeper")


class Opinion(StrEnum):
    """FALLEN: works, and its worth is at or below the floor.

    NOT_WORKING: it was never funded, or ended. UNREADABLE: may work, and its worth can't be read.
    """

    FALLEN = "fallen"
    ABOVE = "above"
    NOT_WORKING = "not_working"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class Said:
    """Which nodes say what of a vault.

    `against`: it is above its floor, or not at work. `needed`: so many voices carry anything that
    cannot be undone, if the other side has fewer.
    """

    fallen: frozenset[str]
    against: frozenset[str]
    unreadable: frozenset[str]
    needed: int

    @property
    def agrees_to_mark(self) -> bool:
        """The contract takes a mark's word for the worth."""
        return self._carries(self.fallen, self.against)

    @property
    def agrees_to_remove(self) -> bool:
        return self._carries(self.fallen | self.unreadable, self.against)

    @property
    def is_denied(self) -> bool:
        """Nobody has to stop it."""
        return self._carries(self.against, self.fallen)

    @property
    def outvoted(self) -> frozenset[str]:
        if self.agrees_to_mark:
            return self.against
        return self.fallen if self.is_denied else frozenset()

    @property
    def disputing(self) -> frozenset[str]:
        """The nodes, where it is word against word."""
        is_open = bool(self.fallen and self.against) and not (self.agrees_to_mark or self.is_denied)
        return self.fallen | self.against if is_open else frozenset()

    def with_against(self, node: str) -> "Said":
        return replace(self, against=self.against | {node})

    def _carries(self, voices: frozenset[str], others: frozenset[str]) -> bool:
        return len(voices) >= self.needed and len(voices) > len(others)


class Witnesses:
    """`clock`: seconds that only rise."""

    def __init__(
        self, rpc: Nodes, heads: Heads, floors: Floors, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rpc = rpc
        self._heads = heads
        self._floors = floors
        self.clock = clock
        self._heard_at = dict.fromkeys(rpc.names, clock())
        self._unreadable_at: dict[tuple[str, str], float] = {}  # by node and vault
        self._disputed_until = clock()
        self._turn = 0

    @property
    def are_several(self) -> bool:
        return len(self._rpc.names) > 1

    @property
    def needed(self) -> int:
        """So many voices carry."""
        return 2 if sum(self.clock() - at < SILENT_S for at in self._heard_at.values()) > 1 else 1

    def said(
        self, floors: Mapping[str, UsdcE6], among: Collection[str] | None = None
    ) -> dict[str, Said]:
        """Of each vault of `floors`. `among`: names of nodes; None: all."""
        nodes: defaultdict[tuple[str, Opinion], set[str]] = defaultdict(set)
        for name in self._rpc.names if among is None else among:
            for vault, opinion in self._heard(name, floors).items():
                nodes[vault, opinion].add(name)
        needed = self.needed
        return {
            vault: _said({opinion: frozenset(nodes[vault, opinion]) for opinion in Opinion}, needed)
            for vault in floors
        }

    def _heard(self, name: str, floors: Mapping[str, UsdcE6]) -> dict[str, Opinion]:
        """What the node says now; it failed at what it called unreadable a moment ago, and may be
        left alone for that.
        """
        now, found = self.clock(), dict[str, Opinion]()
        self._unreadable_at = {
            about: at for about, at in self._unreadable_at.items() if now - at < FAILED_S
        }
        if self._is_recent(name):
            found = dict(self._opinions(name, floors))
        for vault, opinion in found.items():
            self._unreadable_at.pop((name, vault), None)
            if opinion is Opinion.UNREADABLE:
                self._unreadable_at[name, vault] = now
        failed = {v for v in floors if v not in found and (name, v) in self._unreadable_at}
        return found | dict.fromkeys(failed, Opinion.UNREADABLE)

    def ask_of(
        self, name: str, requests: Sequence[Request], within_s: float = ASKED_S
    ) -> list[Any]:
        """As Nodes.batch_settled, of this node alone."""
        said = self._rpc.batch_of_each(requests, within_s, [name])
        if name not in said:
            raise RpcUnreachableError(requests[0][0], [name])
        return said[name]

    def others(self, than: str | None) -> list[str]:
        return [name for name in self._rpc.names if name != than]

    def doubt(self, name: str | None, reason: str) -> None:
        """What it says can't be so, or others say otherwise: these are preferred for a while, if
        any is at hand.
        """
        if name is not None:
            self._heads.failed([name])
        if name is None or all(node.is_open for node in self._rpc.stats() if node.name != name):
            return
        disbelieve(self._rpc, name, reason)

    def weigh(self, said: Collection[Said]) -> None:
        """Whom to believe less from now on: those that are outvoted rest; of those that dispute
        each has its turn for a while.
        """
        for name in sorted({name for one in said for name in one.outvoted}):
            self.doubt(name, "contradicts")
        disputing = sorted({name for one in said for name in one.disputing})
        if disputing:
            log.warning("nodes contradict each other", nodes=disputing)
            self._disputed_until = self.clock() + REST_S
            self._heads.failed(disputing)
        for name in disputing:
            self._rpc.distrust("contradicts", 0.0, name)  # it is counted, and does not rest

    def take_turns(self) -> None:
        """A tick begins: while nodes dispute, it goes by another node than the one before."""
        is_disputed = self.clock() < self._disputed_until
        self._turn = (self._turn + 1) % len(self._rpc.names) if is_disputed else 0
        self._rpc.prefer(self._rpc.names[self._turn])

    def _is_recent(self, name: str) -> bool:
        """By this machine's clock.

        A node that tells a block at all is there: an old one must not leave another's word alone.
        """
        head = self._heads.told([name]).get(name)
        if head is not None:
            self._heard_at[name] = self.clock()
        return head is not None and self._heads.is_recent(head)

    def _opinions(self, name: str, floors: Mapping[str, UsdcE6]) -> Iterator[tuple[str, Opinion]]:
        vaults = list(floors)
        for first in range(0, len(vaults), VAULTS_A_PART):
            part = vaults[first : first + VAULTS_A_PART]
            try:
                found = views.read(partial(self.ask_of, name), part, "latest", self._floors.kept)
            except RpcError:
                found = {
                    v: Numbers(None, None, floors[v], views.UNREADABLE)
                    for v in part
                    if len(part) == 1
                }
            for vault, numbers in found.items():
                opinion = _opinion(numbers)
                if opinion is not None:
                    yield vault, opinion


def _said(nodes: Mapping[Opinion, frozenset[str]], needed: int) -> Said:
    against = nodes[Opinion.ABOVE] | nodes[Opinion.NOT_WORKING]
    return Said(nodes[Opinion.FALLEN], against, nodes[Opinion.UNREADABLE], needed)


def _opinion(numbers: Numbers) -> Opinion | None:
    if numbers.is_open:
        return Opinion.UNREADABLE
    if numbers.status is not VaultStatus.WORKING:
        return Opinion.NOT_WORKING
    if numbers.worth_usdc_e6 is None or numbers.floor_usdc_e6 is None:
        return None
    return Opinion.FALLEN if numbers.worth_usdc_e6 <= numbers.floor_usdc_e6 else Opinion.ABOVE


@dataclass(frozen=True, slots=True)
class Heard:
    """What the nodes say of the vaults of some stops.

    `claimants`: of each vault that too few call fallen for a mark, those that do.
    `denied`: enough nodes say that it has not fallen.
    """

    claimants: Mapping[str, frozenset[str]] = field(default_factory=dict)
    denied: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Wait:
    """Holds once more stops than `reverted` did."""

    until: float
    seconds: float
    reverted: int


class Agreement:
    """Which stops may go by `mark`.

    One that too few nodes call for goes by the contract alone, and if the contract refuses it, it
    costs its gas: the node on whose word alone it went waits before its word on this vault is
    enough again, and no other node does.
    """

    def __init__(self, witnesses: Witnesses) -> None:
        self._witnesses = witnesses
        self._clock = witnesses.clock
        self._waits: dict[tuple[str, str], _Wait] = {}  # by vault and node

    def hear(self, floors: Mapping[str, UsdcE6], asked: str | None) -> Heard:
        """Of the vaults of `floors`. `asked`: the node by which a stop of them is considered."""
        if not floors or not self._witnesses.are_several:
            return Heard()
        said = self._witnesses.said(floors)
        self._witnesses.weigh(said.values())
        claimants = {
            vault: one.fallen or frozenset({asked or ""})
            for vault, one in said.items()
            if not one.agrees_to_mark
        }
        return Heard(claimants, frozenset(vault for vault, one in said.items() if one.is_denied))

    def may_try(
        self, vault: str, claimants: frozenset[str], passed_at: frozenset[str], reverted: int
    ) -> bool:
        """`passed_at`: the nodes that let the stop pass.

        `reverted`: so many stops of this vault did; one that ended otherwise was not without
        success.
        """
        waits = [self._waits.get((vault, name)) for name in claimants]
        is_free = any(
            wait is None or self._clock() >= wait.until or reverted <= wait.reverted
            for wait in waits
        )
        return bool(passed_at - claimants) or is_free

    def tried(
        self, vault: str, claimants: frozenset[str], passed_at: frozenset[str], reverted: int
    ) -> None:
        """A node on whose word alone a stop goes waits AGAIN_S if it reverts, and each time twice
        as long. It is forgotten after MOST_AGAIN_S more.
        """
        now = self._clock()
        self._waits = {
            about: wait for about, wait in self._waits.items() if now < wait.until + MOST_AGAIN_S
        }
        for name in claimants if not passed_at - claimants else ():
            was = self._waits.get((vault, name))
            wait_s = (
                AGAIN_S
                if was is None
                else min(2 * was.seconds, MOST_AGAIN_S)
                if reverted > was.reverted
                else was.seconds
            )
            self._waits[vault, name] = _Wait(now + wait_s, wait_s, reverted)

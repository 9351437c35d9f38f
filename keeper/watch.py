"""Looks at every vault at every node, again and again, and sends the stops. It waits for no database.

    a block came, or a while passed --> each node's lens, part after part, most at risk first
        --> stops that any of them calls due, sent after each part --> what pends: sent again, raised
        --> the whole look, for the tick that judges it

Laws
- It goes on with the vaults that a tick gave it last, however long Postgres takes to say more.
- A stop needs no fresh head and no row.
- A part is a sign of the tick that waits for it, and of one that Postgres keeps waiting.
"""

import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from core.jobs.each import isolated
from core.keeper.views import WatchedVault
from core.money import UnixSeconds
from keeper import plan
from keeper.plan import NodeReadings
from keeper.read import Lenses
from keeper.state import FELL, Action, IntentKind, VaultReading
from keeper.stops import Stops

END_S = 2.0

log = structlog.get_logger("keeper")


@dataclass(frozen=True, slots=True)
class LookResult:
    """`nodes`: those that answered, best first. `readings`: of each vault that any spoke of, what
    they say together. `stops`: which are due, and were not in the look before.
    """

    nodes: Sequence[NodeReadings]
    readings: Sequence[VaultReading]
    stops: Mapping[str, VaultReading]
    took_s: float


@dataclass(frozen=True, slots=True)
class _LookRequest:
    """A look that somebody waits for, at these vaults."""

    vaults: Sequence[WatchedVault]
    now: UnixSeconds
    look: "Future[LookResult]" = field(default_factory=Future)


@dataclass(slots=True, kw_only=True)
class Watch:
    """`stops` None: a dry run. `sign`: it gets on. `is_held_up`: Postgres does not answer who waits
    for it. `clock`: seconds that only rise.
    """

    lenses: Lenses
    stops: Stops | None
    max_head_age_s: int
    sign: Callable[[], None]
    is_held_up: Callable[[], bool]
    clock: Callable[[], float] = time.monotonic
    _order: plan.Order = field(init=False)
    _given: _LookRequest = field(init=False, default=_LookRequest((), UnixSeconds(0)))
    _asked: _LookRequest | None = field(init=False, default=None)
    _due: set[str] = field(init=False, default_factory=set)
    _thread: threading.Thread | None = field(init=False, default=None)
    _ended: threading.Event = field(init=False, default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._order = plan.Order(self.clock)

    def look(self, vaults: Sequence[WatchedVault], now: UnixSeconds) -> LookResult:
        """The next look that begins, at these vaults from then on. Errors: what went wrong in it."""
        asked = _LookRequest(vaults, now)
        if self._thread is None:
            self._given = asked
            return self._looked()
        self._asked = asked
        return asked.look.result()

    def start(self, every_s: float) -> None:
        """Look at each new block, and at least so often, in a thread of its own."""
        self._thread = threading.Thread(
            target=self._run, args=(every_s,), name="watch", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """After the look that it is in."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(END_S)

    def _run(self, every_s: float) -> None:
        asked: _LookRequest | None = None
        while not self._ended.is_set():
            begun = time.monotonic()
            if self._asked is not None:
                self._given = asked = self._asked
                self._asked = None
            try:
                look = self._looked()
            except Exception as error:
                log.exception("tick failed")
                if asked is not None:
                    asked.look.set_exception(error)
            else:
                if asked is not None:
                    asked.look.set_result(look)
            asked = None
            isolated(partial(self.lenses.await_block, begun + every_s, self._ended))

    def _looked(self) -> LookResult:
        begun, given = self.clock(), self._given
        order = self._order.due(given.vaults, given.now)
        nodes: dict[str, NodeReadings] = {}
        due: dict[str, VaultReading] = {}
        if self.stops is not None:
            self.stops.follow()
        for part in self.lenses.look(order):
            node = nodes.setdefault(part.node, replace(part, by_vault={}))
            node.by_vault.update(part.by_vault)
            due |= self._stopped(part, self._due | due.keys())
            if self._asked or not given.look.done() or self.is_held_up():
                self.sign()
        if self.stops is not None and due:
            self.stops.follow()
        in_order = [nodes[name] for name in self.lenses.reader.rpc.names if name in nodes]
        best = sorted(in_order, key=lambda one: one.head_age_s > self.max_head_age_s)
        readings = plan.merged(best, (vault.vault for vault in given.vaults))
        self._order.note(readings)
        new = {vault: reading for vault, reading in due.items() if vault not in self._due}
        self._due = set(due)
        return LookResult(best, readings, new, self.clock() - begun)

    def _stopped(self, part: NodeReadings, known: Collection[str]) -> dict[str, VaultReading]:
        """What is due of this part; those that were not `known` to be are logged."""
        due = [reading for reading in part.by_vault.values() if plan.is_fallen(reading)]
        for one in due:
            if one.vault not in known:
                action = one.action(IntentKind.STOP, part.head, FELL)
                log_action(action, is_sent=self.stops is not None)
        if due and self.stops is not None:
            self.stops.send(due)
        return {one.vault: one for one in due}


def log_action(action: Action, *, is_sent: bool) -> None:
    """`is_sent` false: a dry run."""
    reason = action.reason()
    log.info(
        "planned" if is_sent else "would send",
        kind=action.kind.value,
        to=action.to,
        block=action.head.number,
        **{name: reason[name] for name in ("worth_usdc", "floor_usdc", "source", "why")},
    )

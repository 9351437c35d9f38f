"""One tick: judge what every node says of every vault, plan what is due, move what is under way.

        Postgres: watched vaults, live intents --> the next look at them (keeper/watch.py), in which stops are sent
        --> marks that two nodes call due, settlements, removals --> Postgres: what was judged and planned, one fenced transaction
        --> sender: as far as each goes now

Laws
- A stop waits for nothing here. What was sent is a fact, and is written before all else.
- One vault's trouble is its own: it is told, and the others go on.
- Requests of the outbox are another loop's (keeper/requests/loop.py): a tick reads, signs and sends
  none of them.

Without a signer it is a dry run: everything is judged and written down, nothing is planned or sent.
A keeper that the factory does not name stands down: it judges, and plans nothing but its own
acceptance and the stops, which anyone may send.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from core.db.engine import Database, WriteSession
from core.db.leadership import Leadership
from core.errors import OutsideError
from core.keeper import intents as rows
from core.keeper import views as watched_rows
from core.keeper.intents import Intent, NewIntent, NewVaultMark, add_ended, forget_ended
from core.keeper.rules import LacksMark
from core.keeper.views import WatchedVault
from core.mandate.rules.lifecycle import OF_VAULT, Status, VaultStatus
from core.money import UnixSeconds
from keeper import plan
from keeper.anchoring import Anchoring
from keeper.intents import IntentSender, intent_of, live_kinds
from keeper.last_resort import LastResort
from keeper.plan import NodeReadings
from keeper.read import Lenses
from keeper.spared import spared
from keeper.state import Action, FactoryKeepers, IntentKind, KeeperState, VaultReading
from keeper.watch import StopSender, Watch, tell

Job = Callable[[KeeperState, UnixSeconds], list[Action]]
MARKS_A_DAY = 24
PRESENT_S = 60.0  # a node whose head has not risen for so long is as good as not configured
ENDED_A_TICK = 100
WORKING_AGAIN_A_TICK = 50  # vaults that are watched no more, of which the record is asked in turn

log = structlog.get_logger("keeper")


@dataclass(frozen=True, slots=True)
class TickReport:
    """What a tick saw and did; `as_status` is the leader row's own words."""

    head_number: int
    head_age_s: int
    is_stale: bool
    vaults: int
    unknown: int
    at_cost: int
    actions: int
    live_intents: int
    is_stood_down: bool
    took_ms: int

    def as_status(self, mode: str) -> dict[str, Any]:
        return {
            "state": "watching" if self.trouble is None else "degraded",
            "mode": mode,
            "head": self.head_number,
            "head_age_s": self.head_age_s,
            "vaults": self.vaults,
            "unknown": self.unknown,
            "at_cost": self.at_cost,
            "live_intents": self.live_intents,
            "tick_ms": self.took_ms,
            "error": self.trouble,
        }

    @property
    def trouble(self) -> str | None:
        """What keeps the keeper from its work, in words; None when nothing does."""
        if self.is_stood_down:
            return (
                "the factory names another keeper; this one marks nothing, and stops only what "
                "anyone may stop"
            )
        return "the head is stale" if self.is_stale else None


class NoNodeError(OutsideError):
    """No node names a usable newest block."""

    def __init__(self) -> None:
        super().__init__("no node gives a newest block with a base fee")


@dataclass(slots=True, kw_only=True)
class Tick:
    """Everything that one tick needs.

    `sender` and `stops` None = dry run; `own` is the keeper's address. `sign`: the tick gets on.

    `marks_a_day`: the most marks of one vault that are sent in 24 hours; stops are never counted.
    `removes`: a pauser's key is set.
    """

    database: Database
    lenses: InitVar[Lenses]
    chain_id: int
    max_head_age_s: int
    leadership: Leadership
    sender: IntentSender | None
    stops: InitVar[StopSender | None]
    own: str | None
    marks_a_day: int = MARKS_A_DAY
    removes: InitVar[bool] = False
    sign: InitVar[Callable[[], None]] = lambda: None
    anchoring: Anchoring | None = None
    clock: Callable[[], float] = time.monotonic
    _last_resort: LastResort | None = field(init=False)
    watch: Watch = field(init=False)
    _ends: plan.Ends = field(init=False, default_factory=plan.Ends)
    _again_after: str = field(init=False, default="")  # the ended vault that was looked up last
    _watched: list[WatchedVault] = field(init=False, default_factory=list)
    _was_told: tuple[bool, bool] = field(init=False, default=(False, False))

    def __post_init__(
        self,
        lenses: Lenses,
        stops: StopSender | None,
        removes: bool,
        sign: Callable[[], None],
    ) -> None:
        last_resort = LastResort(self.database, self.chain_id, self.clock)
        self._last_resort = last_resort if removes else None
        self.watch = Watch(
            lenses=lenses,
            stops=stops,
            max_head_age_s=self.max_head_age_s,
            sign=sign,
            is_held_up=self.leadership.is_held_up,
            clock=self.clock,
        )

    @property
    def mode(self) -> str:
        return "dry_run" if self.sender is None else "sending"

    def run(self, now: datetime) -> TickReport:
        """One tick.

        Errors: NoNodeError, RpcError, LeadershipLostError, the database's.
        """
        live, outage = self._rows(now)
        seconds = UnixSeconds(int(now.timestamp()))
        look = self.watch.look(self._watched, live_kinds(live), seconds)
        begun, nodes = self.clock(), look.nodes
        if outage is not None:
            raise outage
        if self.watch.stops is not None:
            self.watch.stops.write()
        if not nodes:
            raise NoNodeError
        state = self._state(nodes, look.readings)
        self._tell_changes(state)
        rpc = self.watch.lenses.reader.rpc
        needed = min(plan.NEEDED, sum(rpc.head_age_s(name) <= PRESENT_S for name in rpc.names))
        actions = self._within_budget(self._planned(nodes, state, needed, seconds), now)
        acted = {*look.stops, *(action.to for action in actions)}
        with self.database.read() as session:
            live = self._live(session)
        new = self._written(state, acted, actions, self._anchors(state, live), seconds, now)
        if self.sender is not None:
            live = self.sender.advance([*live, *new], now, is_stood_down=state.is_stood_down)
        self._retire(nodes, now)
        took_ms = round((look.took_s + self.clock() - begun) * 1000)
        return _report(state, len(look.stops) + len(actions), len(live), took_ms)

    def _rows(self, now: datetime) -> tuple[list[Intent], OperationalError | None]:
        """What is under way; or why Postgres does not say, where the vaults of the tick before are
        known.
        """
        try:
            with self.database.read() as session:
                self._watched = watched_rows.watched_vaults(session, self.chain_id, now)
                return self._live(session), None
        except OperationalError as error:
            if not self._watched:
                raise
            log.error("the database does not answer, stops go on", error=str(error.orig))
            return [], error

    def _live(self, session: Session) -> list[Intent]:
        return rows.live_intents(session, self.chain_id, of_requests=False)

    def _state(
        self, nodes: Sequence[NodeReadings], readings: Sequence[VaultReading]
    ) -> KeeperState:
        """What the nodes say together, at the best one's head."""
        by_vault = {reading.vault: reading for reading in readings}
        return self._state_of(nodes[0], plan.keepers(nodes, self.own), by_vault)

    def _state_of(
        self,
        node: NodeReadings,
        named: FactoryKeepers | None,
        readings: Mapping[str, VaultReading],
    ) -> KeeperState:
        return KeeperState(
            self.chain_id,
            node.state.head,
            int(node.state.head_age_s),
            tuple(readings.values()),
            self.max_head_age_s,
            named,
            self.own,
        )

    # What is decided

    def _planned(
        self,
        nodes: Sequence[NodeReadings],
        state: KeeperState,
        needed: int,
        seconds: UnixSeconds,
    ) -> list[Action]:
        """Everything that is due but stops. What reverts where it is not due needs one node's word."""
        states = [self._state_of(one, one.state.keepers, one.by_vault) for one in nodes]

        def due(job: Job, voices: int) -> list[Action]:
            return plan.confirmed([_actions(job, one, seconds) for one in states], voices)

        accepted = due(plan.acceptances, 1)
        if state.is_stood_down:
            return accepted
        removed = (
            self._last_resort.plan(state, partial(_agreed, nodes, needed))
            if self._last_resort
            else []
        )
        return [*removed, *due(plan.settlements, 1), *accepted, *due(plan.marks, needed)]

    def _anchors(self, state: KeeperState, live: Sequence[Intent]) -> list[NewIntent]:
        if self.sender is None or self.anchoring is None or state.is_stale:
            return []
        is_under_way = any(intent.kind == IntentKind.ANCHOR for intent in live)
        return self.anchoring.due(state, is_under_way=is_under_way)

    def _within_budget(self, actions: Sequence[Action], now: datetime) -> list[Action]:
        """Without the marks of vaults whose worth was sent often enough today, but for an end's: who
        moves a price must not burn the keeper's ETH.
        """
        vaults = [action.to for action in actions if action.kind is IntentKind.MARK]
        if not vaults:
            return list(actions)
        with self.database.read() as session:
            sent = rows.marks_sent(session, self.chain_id, vaults, now - timedelta(days=1))
        return [
            action
            for action in actions
            if action.kind is not IntentKind.MARK
            or action.why in (LacksMark.END, LacksMark.OVER)
            or sent.get(action.to, 0) < self.marks_a_day
        ]

    def _written(
        self,
        state: KeeperState,
        acted: Collection[str],
        actions: Sequence[Action],
        anchors: Sequence[NewIntent],
        seconds: UnixSeconds,
        now: datetime,
    ) -> list[Intent]:
        """Write the judgements, and the actions as planned intents unless this is a dry run.

        `acted`: of these vaults a judgement led to something. Answers the new intents.
        """
        readings = plan.judgements(state, seconds, acted)
        for reading in filter(_is_unknown, readings):
            log.warning(
                "worth unknown",
                vault=reading.vault,
                mandate=reading.public_id,
                source=reading.source,
            )
        for action in actions:
            tell(action, is_sent=self.sender is not None)
        planned = list(_intents(actions, self.chain_id)) if self.sender is not None else []
        planned += anchors
        if not readings and not planned:
            return []
        with self.database.write() as session:
            self.leadership.fence(session)
            rows.add_vault_marks(session, [_row(state, reading) for reading in readings], now)
            return self._added(session, planned, now)

    def _added(
        self, session: WriteSession, planned: Iterable[NewIntent], now: datetime
    ) -> list[Intent]:
        """Those that were taken."""
        added = [rows.add_intent(session, intent, self.leadership.epoch, now) for intent in planned]
        return [intent for intent in added if intent is not None]

    def _retire(self, nodes: Sequence[NodeReadings], now: datetime) -> None:
        """Vaults that ended are watched no more, once two voices say so, of which the record is one;
        and those that work after all by the record are again.
        """
        at_work = {vault.vault for vault in self._watched if vault.is_recorded_at_work}
        safe, said = self._ends.safe(nodes, at_work)
        due = list(said)[:ENDED_A_TICK]
        with self.database.read() as session:
            old = rows.some_ended(session, self.chain_id, self._again_after, WORKING_AGAIN_A_TICK)
            known = rows.ended_statuses(session, self.chain_id, due)
            recorded = watched_rows.recorded_statuses(session, self.chain_id, [*due, *old])
        self._again_after = old[-1] if len(old) == WORKING_AGAIN_A_TICK else ""
        again = [vault for vault in old if recorded.get(vault) == Status.WORKING]
        ended = [
            (vault, OF_VAULT[status])
            for vault in due
            for status, voices in said[vault].items()
            if voices + (recorded.get(vault) == OF_VAULT[status]) >= plan.NEEDED
            and known.get(vault) != OF_VAULT[status]
        ]
        if ended or again:
            with self.database.write() as session:
                self.leadership.fence(session)
                add_ended(session, self.chain_id, ended, safe, now)
                forget_ended(session, self.chain_id, again)

    def _tell_changes(self, state: KeeperState) -> None:
        """Once when it begins and once when it ends: an idle chain would fill the log."""
        is_stale, stood_down = state.is_stale, state.is_stood_down
        was_stale, was_stood_down = self._was_told
        if is_stale != was_stale:
            tell = log.warning if is_stale else log.info
            what = "stale head, only stops are sent" if is_stale else "head is fresh again"
            tell(
                what,
                head=state.head.number,
                head_age_s=state.head_age_s,
                max_head_age_s=state.max_head_age_s,
            )
        if stood_down != was_stood_down:
            tell = log.error if stood_down else log.info
            what = (
                "the factory names another keeper, standing down"
                if stood_down
                else "the factory names this keeper"
            )
            tell(what, keeper=state.own, factory_keeper=state.keepers and state.keepers.named)
        self._was_told = (is_stale, stood_down)


def _actions(job: Job, state: KeeperState, now: UnixSeconds) -> list[Action]:
    """What the job plans. When it stumbles over a vault, that one is left out."""
    planned = spared(partial(job, state, now), job=job.__name__)
    if planned is not None:
        return planned
    each = (
        spared(partial(job, replace(state, vaults=(reading,)), now), vault=reading.vault)
        for reading in state.vaults
    )
    return [action for actions in each for action in actions or ()]


def _intents(actions: Iterable[Action], chain_id: int) -> Iterator[NewIntent]:
    """The actions as intents; one that cannot be written as call data is left out."""
    written = (
        spared(partial(intent_of, action, chain_id), vault=action.to, kind=action.kind.value)
        for action in actions
    )
    return (intent for intent in written if intent is not None)


def _is_unknown(reading: VaultReading) -> bool:
    """A vault that may be working and can't be judged."""
    return reading.status in (None, VaultStatus.WORKING) and reading.above_floor_usdc_e6() is None


def _row(state: KeeperState, reading: VaultReading) -> NewVaultMark:
    assert reading.floor_usdc_e6 is not None  # rows_to_write
    block = reading.block or state.head
    return NewVaultMark(
        chain_id=state.chain_id,
        vault=reading.vault,
        block_number=block.number,
        block_hash=block.hash,
        worth_usdc_e6=reading.worth_usdc_e6,
        floor_usdc_e6=reading.floor_usdc_e6,
        source=reading.source,
    )


def _agreed(nodes: Sequence[NodeReadings], needed: int, vault: str) -> bool:
    """That its worth is unknown: so many nodes say so, and none knows it."""
    said = [reading for one in nodes if (reading := one.by_vault.get(vault)) is not None]
    return len(said) >= needed and all(reading.worth_usdc_e6 is None for reading in said)


def _report(state: KeeperState, actions: int, live: int, took_ms: int) -> TickReport:
    return TickReport(
        head_number=state.head.number,
        head_age_s=state.head_age_s,
        is_stale=state.is_stale,
        vaults=len(state.vaults),
        unknown=sum(map(_is_unknown, state.vaults)),
        at_cost=sum(
            reading.is_at_cost and reading.status is VaultStatus.WORKING for reading in state.vaults
        ),
        actions=actions,
        live_intents=live,
        is_stood_down=state.is_stood_down,
        took_ms=took_ms,
    )

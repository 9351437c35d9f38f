"""One tick: judge what every node says of every vault, plan what is due, move what is under way.

        Postgres: watched vaults, live intents --> the next look at them (keeper/watch.py), in which stops are sent
        --> marks that two nodes call due, settlements, removals --> Postgres: what was judged and planned, one fenced transaction
        --> sender: as far as each goes now

Laws
- A stop waits for nothing here. What was sent is a fact, and is written before all else.
- Requests of the outbox are another loop's (keeper/requests/loop.py): a tick reads, signs and sends
  none of them.

Without a signer it is a dry run: everything is judged and written down, nothing is planned or sent.
A keeper that the factory does not name is stood down: it judges, and plans nothing but its own
acceptance and the stops, which anyone may send.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy.exc import OperationalError

from core.chain.blocks import BlockHeader
from core.chain.errors import RpcUnreachableError
from core.keeper import intents as rows
from core.keeper import views as watched_rows
from core.keeper.intents import Intent, NewIntent, NewVaultMark, add_ended
from core.keeper.rules import LacksMark
from core.keeper.views import WatchedVault
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UnixSeconds
from keeper import plan
from keeper.anchoring import Anchoring
from keeper.intents import Desk, intent_of, live_kinds
from keeper.last_resort import LastResort
from keeper.plan import NodeReadings
from keeper.read import Lenses
from keeper.send import Sender
from keeper.state import Action, FactoryKeepers, IntentKind, KeeperState, Role, VaultReading
from keeper.stops import Stops
from keeper.watch import Watch, log_action

Job = Callable[[KeeperState, UnixSeconds], list[Action]]
MARKS_A_DAY = 24
PRESENT_S = 60.0  # a node whose head has not risen for so long is as good as not configured
ENDED_A_TICK = 100

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


@dataclass(slots=True, kw_only=True)
class Tick:
    """Everything that one tick needs. A `desk` without signers is a dry run.

    `marks_a_day`: the most marks of one vault that are sent in 24 hours; stops are never counted.
    `sign`: the tick gets on. `is_held_up`: Postgres does not answer. `now`: aware UTC; `clock`, and
    `stops_clock` of the stops: seconds that only rise.
    """

    desk: Desk
    lenses: InitVar[Lenses]
    max_head_age_s: int
    now: InitVar[Callable[[], datetime]]
    marks_a_day: int = MARKS_A_DAY
    sign: InitVar[Callable[[], None]] = lambda: None
    is_held_up: InitVar[Callable[[], bool]] = lambda: False
    clock: Callable[[], float] = time.monotonic
    stops_clock: InitVar[Callable[[], float]] = time.monotonic
    stops: Stops | None = field(init=False, default=None)
    sender: Sender | None = field(init=False, default=None)
    watch: Watch = field(init=False)
    _anchoring: Anchoring = field(init=False)
    _last_resort: LastResort = field(init=False)
    _watched: list[WatchedVault] = field(init=False, default_factory=list)
    _was_logged: tuple[bool, bool] = field(init=False, default=(False, False))

    def __post_init__(
        self,
        lenses: Lenses,
        now: Callable[[], datetime],
        sign: Callable[[], None],
        is_held_up: Callable[[], bool],
        stops_clock: Callable[[], float],
    ) -> None:
        if self.desk.signers:
            self.stops = Stops(self.desk, now=now, clock=stops_clock)
            self.sender = Sender(self.desk, stops=self.stops)
        self._anchoring = Anchoring(self.desk.database, lenses.reader)
        self._last_resort = LastResort(self.desk.database, self.desk.chain_id, self.clock)
        self.watch = Watch(
            lenses=lenses,
            stops=self.stops,
            max_head_age_s=self.max_head_age_s,
            sign=sign,
            is_held_up=is_held_up,
            clock=self.clock,
        )

    @property
    def mode(self) -> str:
        return "dry_run" if self.sender is None else "sending"

    @property
    def own(self) -> str | None:
        """The keeper's address; None in a dry run."""
        signer = self.desk.signers.get(Role.KEEPER)
        return None if signer is None else signer.address

    def run(self, now: datetime) -> TickReport:
        """One tick.

        Errors: RpcError, LeadershipLostError, the database's.
        """
        outage = self._list_vaults(now)
        seconds = UnixSeconds(int(now.timestamp()))
        look = self.watch.look(self._watched, seconds)
        begun, nodes = self.clock(), look.nodes
        if outage is not None:
            raise outage
        if self.stops is not None:
            self.stops.write()
        if not nodes:
            raise RpcUnreachableError("eth_getBlockByNumber", ["no head with a base fee"])
        with self.desk.database.read() as session:
            live = rows.live_intents(session, self.desk.chain_id, of_requests=False)
        named = plan.keepers(nodes, self.own)
        state = self._state(nodes[0], live_kinds(live), named, look.readings)
        self._log_changes(state)
        actions = self._within_budget(self._planned(nodes, state, seconds), now)
        acted = {*look.stops, *(action.to for action in actions)}
        new = self._written(state, acted, actions, self._anchors(state, live), seconds, now)
        if self.sender is not None:
            live = self.sender.advance([*live, *new], now)
        self._retire(nodes, state.head, now)
        is_working = [one for one in state.vaults if one.status is VaultStatus.WORKING]
        return TickReport(
            head_number=state.head.number,
            head_age_s=state.head_age_s,
            is_stale=state.is_stale,
            vaults=len(state.vaults),
            unknown=sum(map(_is_unknown, state.vaults)),
            at_cost=sum(one.is_at_cost for one in is_working),
            actions=len(look.stops) + len(actions),
            live_intents=len(live),
            is_stood_down=state.is_stood_down,
            took_ms=round((look.took_s + self.clock() - begun) * 1000),
        )

    def _list_vaults(self, now: datetime) -> OperationalError | None:
        """Why Postgres does not list them, where those of the tick before are known."""
        try:
            with self.desk.database.read() as session:
                self._watched = watched_rows.watched_vaults(session, self.desk.chain_id, now)
        except OperationalError as error:
            if not self._watched:
                raise
            log.error("database does not answer; stops continue", error=str(error.orig))
            return error
        return None

    def _state(
        self,
        node: NodeReadings,
        live: Mapping[str, frozenset[str]],
        named: FactoryKeepers | None,
        readings: Collection[VaultReading],
    ) -> KeeperState:
        """These readings at this node's head."""
        return KeeperState(
            self.desk.chain_id,
            node.head,
            int(node.head_age_s),
            tuple(readings),
            self.max_head_age_s,
            live,
            named,
            self.own,
        )

    # What is decided

    def _planned(
        self, nodes: Sequence[NodeReadings], state: KeeperState, seconds: UnixSeconds
    ) -> list[Action]:
        """Everything that is due but stops. What reverts where it is not due needs one node's word,
        any other two where two are present.
        """
        states = [self._state(one, state.live, one.keepers, one.by_vault.values()) for one in nodes]
        rpc = self.watch.lenses.reader.rpc
        needed = min(plan.NEEDED, sum(rpc.head_age_s(name) <= PRESENT_S for name in rpc.names))

        def due(job: Job, voices: int) -> list[Action]:
            return plan.confirmed([job(one, seconds) for one in states], voices)

        accepted = due(plan.acceptances, 1)
        if state.is_stood_down:
            return accepted
        removed = list[Action]()
        if Role.PAUSER in self.desk.signers:
            spoke = Counter(vault for one in nodes for vault in one.by_vault)
            removed = self._last_resort.plan(state, lambda vault: spoke[vault] >= needed)
        return [*removed, *due(plan.settlements, 1), *accepted, *due(plan.marks, needed)]

    def _anchors(self, state: KeeperState, live: Sequence[Intent]) -> list[NewIntent]:
        is_under_way = any(intent.kind == IntentKind.ANCHOR for intent in live)
        if self.sender is None or state.is_stale or is_under_way:
            return []
        return self._anchoring.due(state)

    def _within_budget(self, actions: Sequence[Action], now: datetime) -> list[Action]:
        """Without the marks of vaults whose worth was sent often enough today, but for an end's: who
        moves a price must not burn the keeper's ETH.
        """
        ends = (LacksMark.END, LacksMark.OVER)
        of_day = [one for one in actions if one.kind is IntentKind.MARK and one.why not in ends]
        if not of_day:
            return list(actions)
        vaults, day_ago = [action.to for action in of_day], now - timedelta(days=1)
        with self.desk.database.read() as session:
            sent = rows.marks_sent(session, self.desk.chain_id, vaults, day_ago)
        over = {vault for vault in vaults if sent.get(vault, 0) >= self.marks_a_day}
        return [
            action
            for action in actions
            if action.to not in over or action.kind is not IntentKind.MARK or action.why in ends
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
                mandate=reading.watched.public_id,
                source=reading.source,
            )
        for action in actions:
            log_action(action, is_sent=self.sender is not None)
        planned = [intent_of(one, state.chain_id) for one in actions] if self.sender else []
        planned += anchors
        if not readings and not planned:
            return []
        with self.desk.database.write() as session:
            self.desk.fence(session)
            rows.add_vault_marks(session, [_row(state, reading) for reading in readings], now)
            added = [rows.add_intent(session, one, self.desk.epoch(), now) for one in planned]
        return [intent for intent in added if intent is not None]

    def _retire(self, nodes: Sequence[NodeReadings], head: BlockHeader, now: datetime) -> None:
        """Vaults that ended are watched no more, once the record has had that for a while, their last
        mark is written, and the nodes say the same.
        """
        ended = [
            (vault.vault, vault.recorded_end)
            for vault in self._watched
            if vault.recorded_end is not None
            and vault.lacks_mark is None
            and plan.agreed_status(nodes, vault.vault) == vault.recorded_end
        ]
        if ended:
            with self.desk.database.write() as session:
                self.desk.fence(session)
                chain_id = self.desk.chain_id
                add_ended(session, chain_id, ended[:ENDED_A_TICK], head.number, now)

    def _log_changes(self, state: KeeperState) -> None:
        """Once when it begins and once when it ends: an idle chain would fill the log."""
        was_stale, was_stood_down = self._was_logged
        if state.is_stale != was_stale:
            write = log.warning if state.is_stale else log.info
            write(
                "head is stale; only stops are sent" if state.is_stale else "head is recent again",
                head=state.head.number,
                head_age_s=state.head_age_s,
                max_head_age_s=state.max_head_age_s,
            )
        if state.is_stood_down != was_stood_down:
            write = log.error if state.is_stood_down else log.info
            write(
                "the factory names another keeper, standing down"
                if state.is_stood_down
                else "the factory names this keeper",
                keeper=state.own,
                factory_keeper=state.keepers and state.keepers.named,
            )
        self._was_logged = (state.is_stale, state.is_stood_down)


def _is_unknown(reading: VaultReading) -> bool:
    """A vault that may be working and can't be judged."""
    return reading.status in (None, VaultStatus.WORKING) and reading.above_floor_usdc_e6() is None


def _row(state: KeeperState, reading: VaultReading) -> NewVaultMark:
    assert reading.floor_usdc_e6 is not None  # judgements
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

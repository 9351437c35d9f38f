"""One tick: observe every vault at one block, plan, write down what is decided, move what is under
way.

        Postgres: watched vaults, live intents --> chain: a batch of them, nearest to their floors
        first, all at one hash
        --> stops: planned intents, signed and sent --> the next batch ... --> those in trouble, for a few seconds
        --> what the other nodes say of a few of them
        --> Postgres: marks and the other planned intents, one fenced transaction --> sender: as far as each goes now

Laws
- Stops go first: what else a tick has to do comes after the last batch's stops. Each batch that was
  answered is a sign of the tick.
- One vault's trouble is its own: it is told, and the others go on.
- Requests of the outbox are another loop's (keeper/requests/loop.py): a tick reads, signs and sends
  none of them.

Without a signer it is a dry run: everything is judged and written down, nothing is planned or sent.
A keeper that the factory does not name stands down: it judges, and plans nothing but its own
acceptance and the stops that anyone may send.
"""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Protocol

import structlog
from sqlalchemy.orm import Session

from core.chain.errors import RpcError
from core.db.engine import Database, WriteSession
from core.db.leadership import Leadership
from core.keeper import intents as rows
from core.keeper import views as watched_rows
from core.keeper.intents import Intent, NewIntent, NewVaultMark, add_ended, forget_ended
from core.keeper.rules import IntentState, LacksMark
from core.keeper.views import WatchedVault
from core.mandate.rules.lifecycle import VaultStatus
from core.money import UnixSeconds, usdc_text_or_none
from keeper.anchoring import Anchoring
from keeper.audit import VaultAudit
from keeper.ended import Ended
from keeper.heads import NoHeadError
from keeper.intents import intent_of, live_kinds
from keeper.jobs import keeper_change, mark, settle, stop_line
from keeper.last_resort import LastResort
from keeper.observe import VAULTS_A_BATCH, Observer
from keeper.order import Order
from keeper.spared import spared
from keeper.state import STOPS, Action, Head, IntentKind, KeeperState, VaultReading

Job = Callable[[KeeperState, UnixSeconds], list[Action]]
JOBS: tuple[Job, ...] = (settle.plan, keeper_change.plan, mark.plan)  # after the stops
JOBS_STOOD_DOWN: tuple[Job, ...] = (keeper_change.plan,)
MARKS_A_DAY = 24
TROUBLE_S = 5.0  # of a tick, for vaults that a node cannot be asked about together with the others

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


class TickSender(Protocol):
    """What a tick asks of a Sender; both answer the intents that are not finished."""

    def advance(
        self, live: Sequence[Intent], now: datetime, *, is_stood_down: bool
    ) -> list[Intent]: ...

    def rush(
        self, live: Sequence[Intent], now: datetime, *, is_stood_down: bool
    ) -> list[Intent]: ...


class Tick:
    """Everything that one tick needs.

    `sender` None = dry run; `own` is the keeper's address. `sign`: the tick gets on.

    `marks_a_day`: the most marks of one vault that are sent in 24 hours; stops are never counted.
    `removes`: a pauser's key is set.
    """

    def __init__(
        self,
        *,
        database: Database,
        observer: Observer,
        leadership: Leadership,
        sender: TickSender | None,
        own: str | None,
        marks_a_day: int = MARKS_A_DAY,
        removes: bool = False,
        anchoring: Anchoring | None = None,
        sign: Callable[[], None] = lambda: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._observer = observer
        self._leadership = leadership
        self._chain_id = observer.chain_id
        self._sender = sender
        self._own = own
        self._marks_a_day = marks_a_day
        self._last_resort = (
            LastResort(database, observer.chain_id, observer.witnesses, clock) if removes else None
        )
        self._anchoring = anchoring
        self._ended = Ended(database, observer)
        self._order = Order(clock)
        self._audit = VaultAudit(observer)
        self._sign = sign
        self._clock = clock
        self._was_told: tuple[bool, bool] = (False, False)

    @property
    def mode(self) -> str:
        return "dry_run" if self._sender is None else "sending"

    def run(self, now: datetime) -> TickReport:
        """One tick.

        Errors: RpcError and NoHeadError when the chain can't be read, LeadershipLostError, the
        database's.
        """
        started, seconds = self._clock(), UnixSeconds(int(now.timestamp()))
        with self._database.read() as session:
            watched = watched_rows.watched_vaults(session, self._chain_id, now)
            live = self._live(session)
        self._observer.witnesses.take_turns()
        head = self._observer.head(seconds)
        keepers = self._observer.keepers(head, self._own)
        state = KeeperState(
            self._chain_id, head, (), self._observer.max_head_age_s, keepers, self._own
        )
        self._tell_changes(state, seconds)
        live = self._rushed(state, live, now)
        stops: list[Action] = []
        readings: dict[str, VaultReading] = {}
        for part in self._parts(watched, live, head):
            readings |= {reading.vault: reading for reading in part}
            stops += (found := self._stops(replace(state, vaults=part), seconds))
            live = self._stopped(state, found, live, now)
            self._sign()
        state = replace(state, vaults=tuple(readings.values()))
        self._order.note(state.vaults)
        at_work = {vault.vault for vault in watched if vault.is_recorded_at_work}
        self._audit.hear(state, at_work)
        self._sign()
        live, removals = self._removed(state, live, seconds, now)
        others = self._others(state, seconds, now)
        anchors = self._anchors(state, live, seconds)
        live = [*live, *self._written(state, [*stops, *removals], others, anchors, seconds, now)]
        if self._sender is not None:
            live = self._sender.advance(live, now, is_stood_down=state.is_stood_down)
        self._retire(state, at_work, now)
        return _report(
            state,
            seconds,
            [*stops, *removals, *others],
            live,
            round((self._clock() - started) * 1000),
        )

    def _parts(
        self, watched: Sequence[WatchedVault], live: Sequence[Intent], head: Head
    ) -> Iterator[tuple[VaultReading, ...]]:
        """Readings of sound vaults, batch by batch, and of those in trouble, as far as there is
        time for them.
        """
        trouble, kinds = self._observer.trouble, live_kinds(live)
        trouble.forget_others({vault.vault for vault in watched})
        due = self._order.due(watched, head.at)
        sound = [vault for vault in due if vault.vault not in trouble]
        for first in range(0, len(sound), VAULTS_A_BATCH):
            part = sound[first : first + VAULTS_A_BATCH]
            yield self._observer.readings(part, kinds, head)
        late = [vault for vault in due if vault.vault in trouble]
        if late:
            yield self._observer.readings(late, kinds, head, TROUBLE_S)

    # What is decided

    def _stops(self, state: KeeperState, seconds: UnixSeconds) -> list[Action]:
        """One that stands down plans what anyone may stop."""
        if state.is_stood_down:
            state = replace(
                state,
                vaults=tuple(
                    reading for reading in state.vaults if reading.is_for_anyone(state.head)
                ),
            )
        return _actions(stop_line.plan, state, seconds)

    def _stopped(
        self, state: KeeperState, actions: Sequence[Action], live: list[Intent], now: datetime
    ) -> list[Intent]:
        """Plan the stops of a slice and send them at once."""
        planned = self._planned(actions, now)
        return self._rushed(state, [*live, *planned], now) if planned else live

    def _planned(self, actions: Sequence[Action], now: datetime) -> list[Intent]:
        """Write them down at once; none in a dry run."""
        self._tell(actions)
        if self._sender is None or not actions:
            return []
        with self._database.write() as session:
            self._leadership.fence(session)
            return self._added(session, _intents(actions, self._chain_id), now)

    def _removed(
        self, state: KeeperState, live: Sequence[Intent], seconds: UnixSeconds, now: datetime
    ) -> tuple[list[Intent], list[Action]]:
        """With the removals of agents that are due, each part of them written down before the next
        one is asked about.
        """
        parts = (
            self._last_resort.plan(state, seconds)
            if self._last_resort is not None and not state.is_stood_down
            else ()
        )
        after, actions = list(live), list[Action]()
        for part in parts:
            after += self._planned(part, now)
            actions += part
            self._sign()
        return after, actions

    def _rushed(self, state: KeeperState, live: list[Intent], now: datetime) -> list[Intent]:
        """Planned stops are sent before anything else is done.

        A node that fails now is met again by what follows, which goes on from what was committed
        until then.
        """
        if self._sender is None or not any(
            intent.kind in STOPS and intent.state is IntentState.PLANNED for intent in live
        ):
            return live
        try:
            return self._sender.rush(live, now, is_stood_down=state.is_stood_down)
        except (RpcError, NoHeadError) as error:
            log.warning("stops wait", error=str(error))
            with self._database.read() as session:
                return self._live(session)

    def _live(self, session: Session) -> list[Intent]:
        return rows.live_intents(session, self._chain_id, of_requests=False)

    def _others(self, state: KeeperState, seconds: UnixSeconds, now: datetime) -> list[Action]:
        """Everything that is due but what saves a vault."""
        jobs = JOBS_STOOD_DOWN if state.is_stood_down else JOBS
        actions = [action for job in jobs for action in _actions(job, state, seconds)]
        return self._within_budget(actions, now)

    def _anchors(
        self, state: KeeperState, live: Sequence[Intent], seconds: UnixSeconds
    ) -> list[NewIntent]:
        if self._sender is None or self._anchoring is None or state.is_stale(seconds):
            return []
        is_under_way = any(intent.kind == IntentKind.ANCHOR for intent in live)
        return self._anchoring.due(state, is_under_way=is_under_way)

    def _within_budget(self, actions: Sequence[Action], now: datetime) -> list[Action]:
        """Without the marks of vaults whose worth was sent often enough today, but for an end's: who
        moves a price must not burn the keeper's ETH.
        """
        vaults = [action.to for action in actions if action.kind is IntentKind.MARK]
        if not vaults:
            return list(actions)
        with self._database.read() as session:
            sent = rows.marks_sent(session, self._chain_id, vaults, now - timedelta(days=1))
        return [
            action
            for action in actions
            if action.kind is not IntentKind.MARK
            or action.why in (LacksMark.END, LacksMark.OVER)
            or sent.get(action.to, 0) < self._marks_a_day
        ]

    def _written(
        self,
        state: KeeperState,
        stops: Sequence[Action],
        actions: Sequence[Action],
        anchors: Sequence[NewIntent],
        seconds: UnixSeconds,
        now: datetime,
    ) -> list[Intent]:
        """Write the judgements, and the actions as planned intents unless this is a dry run.

        Answers the new intents.
        """
        readings = mark.rows_to_write(state, seconds, {action.to for action in (*stops, *actions)})
        for reading in filter(_is_unknown, readings):
            log.warning(
                "worth unknown",
                vault=reading.vault,
                mandate=reading.public_id,
                source=reading.source,
            )
        self._tell(actions)
        planned = list(_intents(actions, self._chain_id)) if self._sender is not None else []
        planned += anchors
        if not readings and not planned:
            return []
        with self._database.write() as session:
            self._leadership.fence(session)
            rows.add_vault_marks(session, [_row(state, reading) for reading in readings], now)
            return self._added(session, planned, now)

    def _added(
        self, session: WriteSession, planned: Iterable[NewIntent], now: datetime
    ) -> list[Intent]:
        """Those that were taken."""
        added = [
            rows.add_intent(session, intent, self._leadership.epoch, now) for intent in planned
        ]
        return [intent for intent in added if intent is not None]

    def _tell(self, actions: Sequence[Action]) -> None:
        for action in actions:
            log.info("planned" if self._sender is not None else "would send", **_told(action))

    def _retire(self, state: KeeperState, at_work: Collection[str], now: datetime) -> None:
        """Vaults that ended are watched no more, and those that work after all are again.
        `at_work`: by the record.

        What fails is tried again at the next tick.
        """
        try:
            block_number, ended = self._ended.at_safe(state, at_work)
            again = self._ended.at_work(state)
        except RpcError as error:
            log.warning("cannot read which vaults have ended; retrying next tick", error=str(error))
            return
        if ended or again:
            with self._database.write() as session:
                self._leadership.fence(session)
                add_ended(session, self._chain_id, ended, block_number, now)
                forget_ended(session, self._chain_id, again)

    def _tell_changes(self, state: KeeperState, now: UnixSeconds) -> None:
        """Once when it begins and once when it ends: an idle chain would fill the log."""
        is_stale, stood_down = state.is_stale(now), state.is_stood_down
        was_stale, was_stood_down = self._was_told
        if is_stale != was_stale:
            tell = log.warning if is_stale else log.info
            what = "stale head, nothing is judged" if is_stale else "head is fresh again"
            tell(
                what,
                head=state.head.number,
                head_age_s=state.head.age_s(now),
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
    planned = spared(partial(job, state, now), job=job.__module__)
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
    return NewVaultMark(
        chain_id=state.chain_id,
        vault=reading.vault,
        block_number=state.head.number,
        block_hash=state.head.hash,
        worth_usdc_e6=reading.worth_usdc_e6,
        floor_usdc_e6=reading.floor_usdc_e6,
        source=reading.source,
    )


def _told(action: Action) -> dict[str, Any]:
    return {
        "kind": action.kind.value,
        "to": action.to,
        "worth_usdc": usdc_text_or_none(action.worth_usdc_e6),
        "floor_usdc": usdc_text_or_none(action.floor_usdc_e6),
        "block": action.head.number,
        "source": action.source,
        "why": action.why,
    }


def _report(
    state: KeeperState,
    now: UnixSeconds,
    actions: Sequence[Action],
    live: Sequence[Intent],
    took_ms: int,
) -> TickReport:
    return TickReport(
        head_number=state.head.number,
        head_age_s=state.head.age_s(now),
        is_stale=state.is_stale(now),
        vaults=len(state.vaults),
        unknown=sum(map(_is_unknown, state.vaults)),
        at_cost=sum(
            reading.is_at_cost and reading.status is VaultStatus.WORKING for reading in state.vaults
        ),
        actions=len(actions),
        live_intents=len(live),
        is_stood_down=state.is_stood_down,
        took_ms=took_ms,
    )

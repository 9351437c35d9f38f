"""One tick: observe every vault at one block, plan, write down what is decided, move what is under way.

        Postgres: watched vaults, live intents --> chain: their numbers at one hash --> jobs: actions
        --> Postgres: marks and planned intents, one fenced transaction --> sender: as far as each goes now

Without a signer it is a dry run: everything is judged and written down, nothing is planned or sent. A keeper that the
factory does not name stands down: it judges, and plans nothing but its own acceptance.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from core.db.engine import Database
from core.db.leadership import Leadership
from core.db.repositories import keeper as rows
from core.db.repositories.keeper import Intent, NewVaultMark
from core.domain.money import UnixSeconds, usdc_text_or_none
from keeper.intents import State, intent_of, live_kinds
from keeper.jobs import keeper_change, mark, settle, stop_line
from keeper.observe import Observer
from keeper.outbox_kinds import OutboxPlanner
from keeper.state import Action, KeeperState, VaultReading, VaultStatus

Advance = Callable[[Sequence[Intent], datetime], list[Intent]]  # Sender.advance
Job = Callable[[KeeperState, UnixSeconds], list[Action]]
JOBS: tuple[Job, ...] = (stop_line.plan, settle.plan, keeper_change.plan, mark.plan)
JOBS_STOOD_DOWN: tuple[Job, ...] = (keeper_change.plan,)

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
            return "the factory names another keeper; this one judges and sends nothing"
        return "the head is stale" if self.is_stale else None


class Tick:
    """Everything that one tick needs. `advance` None = dry run; `own` is the keeper's address."""

    def __init__(
        self,
        *,
        database: Database,
        observer: Observer,
        leadership: Leadership,
        chain_id: int,
        advance: Advance | None,
        own: str | None,
        outbox: OutboxPlanner | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._database = database
        self._observer = observer
        self._leadership = leadership
        self._chain_id = chain_id
        self._advance = advance
        self._own = own
        self._outbox = outbox or OutboxPlanner()
        self._clock = clock
        self._was_told: tuple[bool, bool] = (False, False)

    @property
    def mode(self) -> str:
        return "dry_run" if self._advance is None else "sending"

    def run(self, now: datetime) -> TickReport:
        """One tick. Errors: RpcError and NoHeadError when the chain can't be read, LeadershipLostError, the database's."""
        started = self._clock()
        state, live = self._observed(now)
        seconds = UnixSeconds(int(now.timestamp()))
        self._tell_changes(state, seconds)
        actions = [action for job in (JOBS_STOOD_DOWN if state.is_stood_down else JOBS) for action in job(state, seconds)]
        live = [*live, *self._written(state, actions, seconds, now)]
        if self._advance is not None:
            live = self._advance(live, now)
        return _report(state, seconds, actions, live, round((self._clock() - started) * 1000))

    def _observed(self, now: datetime) -> tuple[KeeperState, list[Intent]]:
        with self._database.read() as session:
            watched = rows.watched_vaults(session, self._chain_id, now)
            live = rows.live_intents(session, self._chain_id)
        return self._observer.state(watched, live_kinds(live), self._own), live

    def _written(self, state: KeeperState, actions: Sequence[Action], seconds: UnixSeconds, now: datetime) -> list[Intent]:
        """Write the marks, and the actions as planned intents unless this is a dry run. Answers the new intents."""
        readings = mark.rows_to_write(state, seconds)
        for reading in filter(_is_unknown, readings):
            log.warning("worth unknown", vault=reading.vault, mandate=reading.public_id, source=reading.source)
        if self._advance is None:
            for action in actions:
                log.info("would send", **_told(action))
            actions = []
        with self._database.read() as session:
            requested = [] if self._advance is None else self._outbox.intents(session, self._chain_id, state.head, now)
        if not readings and not actions and not requested:
            return []
        planned = [*((intent_of(action, self._chain_id), State.PLANNED) for action in actions), *requested]
        with self._database.write() as session:
            self._leadership.fence(session)
            rows.add_vault_marks(session, [_row(state, reading) for reading in readings], now)
            added = [rows.add_intent(session, intent, self._leadership.epoch, now, to) for intent, to in planned]
        for action in actions:
            log.info("planned", **_told(action))
        return [intent for intent in added if intent is not None and intent.state == State.PLANNED]

    def _tell_changes(self, state: KeeperState, now: UnixSeconds) -> None:
        """Once when it begins and once when it ends: an idle chain would fill the log."""
        is_stale, stood_down = state.is_stale(now), state.is_stood_down
        was_stale, was_stood_down = self._was_told
        if is_stale != was_stale:
            tell = log.warning if is_stale else log.info
            what = "stale head, nothing is judged" if is_stale else "head is fresh again"
            tell(what, head=state.head.number, head_age_s=state.head.age_s(now), max_head_age_s=state.max_head_age_s)
        if stood_down != was_stood_down:
            tell = log.error if stood_down else log.info
            what = "the factory names another keeper, standing down" if stood_down else "the factory names this keeper"
            tell(what, keeper=state.own, factory_keeper=state.keepers and state.keepers.named)
        self._was_told = (is_stale, stood_down)


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


def _report(state: KeeperState, now: UnixSeconds, actions: Sequence[Action], live: Sequence[Intent], took_ms: int) -> TickReport:
    return TickReport(
        head_number=state.head.number,
        head_age_s=state.head.age_s(now),
        is_stale=state.is_stale(now),
        vaults=len(state.vaults),
        unknown=sum(map(_is_unknown, state.vaults)),
        at_cost=sum(reading.is_at_cost and reading.status is VaultStatus.WORKING for reading in state.vaults),
        actions=len(actions),
        live_intents=len(live),
        is_stood_down=state.is_stood_down,
        took_ms=took_ms,
    )
